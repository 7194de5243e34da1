"""Proxy: the ASGI application for the paths under `/proxy/`, through which model calls go to their provider and get memory.

Every request is relayed as it came. Of those to the three paths that call a model, the body gets what is known, in its own bytes
(`memory.py`), and the turn is recorded when it was answered (`recorder.py`). A request that isn't one, that says
`X-Germane-Skip: true`, or whose upstream has `inject = false`, isn't read at all.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, nullcontext
from http import HTTPStatus

from starlette.types import Receive, Scope, Send

from germane.dialects.answer_copies import AnswerCopy
from germane.grpc.server.admission import Ports
from germane.service.http.problems import HttpRefused
from germane.service.http.requests import Disconnected, HttpRequest
from germane.service.proxy.callers import Caller, admitted, skipped
from germane.service.proxy.memory import Prepared, ProxyMemory
from germane.service.proxy.recorder import Recorder
from germane.service.proxy.refusals import refusal
from germane.service.proxy.relay import Relay, Relayed
from germane.service.proxy.requests import ProxyRequest
from germane.service.proxy.routes import ProxyRoute, proxy_route

_PART_SECONDS = 60.0
"""Within which some part of a request's body must come."""
_JSON = "application/json"


class Proxy:
    """Runs on the loop of `ports`. `max_bytes` is the largest body that gets memory; a larger one is relayed as it comes. `closed`
    says why the service relays nothing, empty where it does."""

    def __init__(
        self, ports: Ports, relay: Relay, memory: ProxyMemory, recorder: Recorder, *, max_bytes: int, closed: str = ""
    ) -> None:
        self._ports, self._relay, self._memory, self._recorder = ports, relay, memory, recorder
        self._max_bytes, self._closed = max_bytes, closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = ProxyRequest(scope, receive)
            if self._closed:
                raise HttpRefused(HTTPStatus.FORBIDDEN, self._closed)
            route = proxy_route(request.target, self._relay.upstreams)
            caller = await admitted(request, route.upstream, self._ports)
            await self._relayed(request, route, caller, send)
        except HttpRefused as refused:
            http = HttpRequest(scope, receive)
            await refusal(http, refused).send(http, send)
        except Disconnected:
            return

    async def _relayed(self, request: ProxyRequest, route: ProxyRoute, caller: Caller, send: Send) -> None:
        gets_memory = _calls_model(request, route) and not skipped(request, route.upstream)
        body = await request.body(self._max_bytes if gets_memory else 0, _PART_SECONDS)
        if not gets_memory or not isinstance(body, bytes):
            await self._as_it_comes(request, route, send, body)
            return
        prepared = await self._memory.prepare(request, route, caller, body)
        copy, relayed = AnswerCopy(), Relayed(ended="caller")
        try:
            relayed = await self._relay.send(
                request, route, send, body=prepared.body, betas=prepared.betas, added=prepared.told, on_part=copy.add
            )
        finally:
            self._keep(prepared, relayed, copy)

    def _keep(self, prepared: Prepared, relayed: Relayed, copy: AnswerCopy) -> None:
        """Has the turn recorded that was answered, also where the caller went away in the middle."""
        if prepared.turn is not None and HTTPStatus.OK <= relayed.status < HTTPStatus.MULTIPLE_CHOICES:
            self._recorder.offer(prepared.turn.answered(copy.of(relayed.headers)))

    async def _as_it_comes(
        self, request: ProxyRequest, route: ProxyRoute, send: Send, body: bytes | AsyncGenerator[bytes, None]
    ) -> None:
        async with nullcontext() if isinstance(body, bytes) else aclosing(body):
            await self._relay.send(request, route, send, body=body)
