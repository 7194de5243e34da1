"""Proxy: the ASGI application for the paths under `/proxy/`, through which model calls go to their provider and get memory.

Every request is relayed as it came. Of those to the three paths that call a model, the body gets what is known, in its own
bytes (`memory.py`), and the turn is recorded when it was answered (`recorder.py`). A request to another path, one that says
`X-Germane-Skip: true`, and one to an upstream with `inject = false` isn't read.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from starlette.types import Receive, Scope, Send

from germane.api.germane import Germane
from germane.clock import Clock
from germane.dialects.answer_copy import AnswerCopy, CopyRoom
from germane.dialects.model_calls import is_model_call
from germane.grpc.server.admission import Ports
from germane.grpc.server.assembly_servicer import Assemblies
from germane.grpc.server.call import RpcObserver
from germane.service.http.api import closed_for
from germane.service.http.problems import HttpRefused
from germane.service.http.requests import Disconnected, HttpRequest, RunningRequests
from germane.service.proxy.callers import Caller, admitted, skipped
from germane.service.proxy.memory import Prepared, ProxyMemory
from germane.service.proxy.recorder import Recorder, Turn
from germane.service.proxy.refusals import refusal
from germane.service.proxy.relay import Relay, Relayed
from germane.service.proxy.requests import ProxyRequest
from germane.service.proxy.routes import ProxyRoute, proxy_route
from germane.service.proxy.sessions import Sessions
from germane.service.proxy.socket import ProxySockets, Touched, denying
from germane.service.proxy.socket_responses import SocketResponse
from germane.service.proxy.spool import spool_of
from germane.settings.serving import ServiceSettings
from germane.types.traffic import ENDED, NO_UPSTREAM, Ended, ProxyTraffic

_PART_SECONDS = 60.0
"""Within which some part of a request's body must come."""
_JSON, _EVENTS = "application/json", {"content-type": "text/event-stream"}
_MAX_COPIED = 128 * 2**20
"""Bytes of all open answers that are kept. An answer beyond is relayed as all are, and its turn recorded without it."""
_RECORDING_SHARE = 0.5
"""The share of the grace period at the end that recordings get."""


class Proxy:
    """Runs on the loop of `ports`. `max_bytes` is the largest body that gets memory; a larger one is relayed as it comes.
    `closed` says why nothing is relayed, empty where it is."""

    def __init__(
        self, ports: Ports, relay: Relay, memory: ProxyMemory, recorder: Recorder, *, max_bytes: int, closed: str = ""
    ) -> None:
        self._ports, self._relay, self._memory, self.recorder = ports, relay, memory, recorder
        self._max_bytes, self._closed, self._sockets = max_bytes, closed, ProxySockets(relay)
        self._room = CopyRoom(_MAX_COPIED)
        self.running, self._answers = RunningRequests(), _Answers(relay.upstreams)

    @property
    def traffic(self) -> ProxyTraffic:
        """The counts for metrics. Thread-safe."""
        turns, answers = self.recorder.counts, self._answers
        return ProxyTraffic(
            open=dict(answers.open),
            ended=dict(answers.ended),
            waiting=turns.waiting,
            recorded=turns.recorded,
            unrecorded=turns.dropped,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_socket = scope["type"] == "websocket"
        with self.running.one(), self._answers.one() as answer:
            try:
                request = ProxyRequest(scope, receive)
                if self._closed:
                    raise HttpRefused(HTTPStatus.FORBIDDEN, self._closed)
                route = proxy_route(request.target, self._relay.upstreams)
                answer.comes_from(route.upstream.name)
                caller = await admitted(request, route.upstream, self._ports)
                if is_socket:
                    answer.ended = await self._connected(request, route, caller, receive, send)
                else:
                    answer.ended = await self._relayed(request, route, caller, send)
            except HttpRefused as refused:
                answer.ended = "refused"
                http = HttpRequest(scope, receive)
                await refusal(http, refused).send(http, denying(send) if is_socket else send)
            except Disconnected:
                answer.ended = "caller"

    async def _relayed(self, request: ProxyRequest, route: ProxyRoute, caller: Caller, send: Send) -> Ended:
        reads = _may_call_model(request, route) and not skipped(request, route.upstream)
        body = await request.body(self._max_bytes if reads else 0, _PART_SECONDS)
        if not isinstance(body, bytes):
            return await self._as_it_comes(request, route, send, body)
        prepared = await self._memory.prepare(request, route, caller, body) if reads else Prepared(body=body)
        copy, relayed = AnswerCopy(room=self._room), Relayed(ended="caller")
        try:
            relayed = await self._relay.send(
                request,
                route,
                send,
                body=prepared.body,
                headers=prepared.headers,
                added=prepared.told,
                on_part=None if prepared.turn is None else copy.keep,
            )
        finally:
            self._keep(prepared, relayed, copy)
            copy.release()
        return relayed.ended

    def _keep(self, prepared: Prepared, relayed: Relayed, copy: AnswerCopy) -> None:
        """Has the turn recorded that was answered, also where the caller went away in the middle."""
        if prepared.turn is not None and HTTPStatus.OK <= relayed.status < HTTPStatus.MULTIPLE_CHOICES:
            copy.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in relayed.headers}
            self._offer(prepared.turn, copy)

    def _offer(self, turn: Turn, copy: AnswerCopy) -> None:
        size = turn.size + (0 if copy.broken else copy.size)
        self.recorder.offer(replace(turn, answer=copy, answered_at=self._ports.clock.now(), size=size))

    async def _connected(self, request: ProxyRequest, route: ProxyRoute, caller: Caller, receive: Receive, send: Send) -> Ended:
        """Passes the messages of a WebSocket. A create is a call of the Responses API."""

        async def touch(text: str, event: Mapping[str, Any]) -> Touched[Turn]:
            prepared = await self._memory.prepare(request, route, caller, text.encode())
            return Touched(prepared.body.decode(), prepared.turn)

        def answered(response: SocketResponse[Turn]) -> None:
            if response.call is None:
                return
            copy = AnswerCopy(_EVENTS)
            copy.keep(response.reply)
            if response.generates:
                self._offer(replace(response.call, messages=response.messages), copy)
            else:  # the words of a warm-up come again with the response that continues it
                self._offer(replace(response.call, messages=(), held=True), copy)

        if is_model_call(route.target.decode("latin-1")) and not skipped(request, route.upstream):
            return await self._sockets.serve(request, route, receive, send, touch=touch, answered=answered)
        return await self._sockets.serve(request, route, receive, send)

    async def _as_it_comes(
        self, request: ProxyRequest, route: ProxyRoute, send: Send, body: AsyncGenerator[bytes, None]
    ) -> Ended:
        async with aclosing(body):
            return (await self._relay.send(request, route, send, body=body)).ended


class _Answers:
    """The answers that are relayed now, by upstream, and how those before ended. Only the port's loop changes them; no key is
    ever added, since other threads read them."""

    def __init__(self, upstreams: Iterable[str]) -> None:
        names = (*upstreams, NO_UPSTREAM)
        self.open = dict.fromkeys(names, 0)
        self.ended: dict[tuple[str, Ended], int] = {(name, how): 0 for name in names for how in ENDED}

    @contextmanager
    def one(self) -> Iterator[_OneAnswer]:
        """Counts the answer of the block: as stopped, unless the block says how it ended."""
        answer = _OneAnswer(self)
        try:
            yield answer
        finally:
            self.open[answer.upstream] -= 1
            self.ended[answer.upstream, answer.ended] += 1


class _OneAnswer:
    """One answer while it is relayed."""

    def __init__(self, answers: _Answers) -> None:
        self._open, self.upstream, self.ended = answers.open, NO_UPSTREAM, "stopped"
        self._open[self.upstream] += 1

    upstream: str
    ended: Ended

    def comes_from(self, upstream: str) -> None:
        self._open[self.upstream] -= 1
        self._open[upstream] += 1
        self.upstream = upstream


def _may_call_model(request: ProxyRequest, route: ProxyRoute) -> bool:
    """Whether the request's body must be read to know what it is."""
    headers = request.http.headers
    return (
        request.method == "POST"
        and is_model_call(route.target.decode("latin-1"))
        and headers.get("content-type", "").partition(";")[0].strip().lower() == _JSON
        and headers.get("content-encoding", "identity").strip().lower() == "identity"
    )


@asynccontextmanager
async def proxying(
    service: ServiceSettings, germane: Germane, ports: Ports, assemblies: Assemblies, observer: RpcObserver | None
) -> AsyncIterator[Proxy | None]:
    """Opens the proxy to the upstreams of the settings, on the engine's loop; None where there are none. At the end, what waits
    to be recorded gets its share of the grace period; the rest stays on disk. Raises `InvalidInput` for an upstream that can't
    be used."""
    if not service.upstreams:
        yield None
        return
    clock = Clock()
    sessions = Sessions(germane, clock)
    recorder = Recorder(germane, sessions, spool_of(service.db), clock)
    relay = Relay(service.upstreams, environ=os.environ)
    memory = ProxyMemory(germane, ports, assemblies, sessions, seconds=service.deadline_ms / 1000, observer=observer)

    async def opened() -> None:
        relay.open()

    await ports.bridge.on_port(opened)
    recorder.open()
    try:
        yield Proxy(ports, relay, memory, recorder, max_bytes=service.max_message_bytes, closed=closed_for(service))
    finally:
        await recorder.close(_RECORDING_SHARE * service.shutdown_seconds)
        await ports.bridge.on_port(relay.close)
