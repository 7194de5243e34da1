"""Proxy socket: a WebSocket of the Responses API between a caller and an upstream, whose messages pass as they came.

Only a `response.create` is touched: it is given to `touch`, and what that returns goes on in its place. It waits for that no
longer than `touch_seconds`, and only later messages of its lane (`stream_id`) wait with it; a message of no known lane keeps
its place among all. A warm-up (`generate: false`) is touched as any create: memory then stands in the state that the provider
prepares, beside the words that it belongs to, and the create that continues it brings only what is new. Where a caller sends
the same turn again in full, it gets the texts that stand there already. Words that steer a response aren't touched.

Pings are each side's own. Codes and reasons of closing pass both ways; where one side breaks off, the other breaks off too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from starlette.types import Message, Receive, Send

from germane.api.workers.threads import abandon
from germane.service.http.problems import HttpRefused
from germane.service.proxy.refusals import refusal
from germane.service.proxy.relay import FAULTS, Relay
from germane.service.proxy.requests import ProxyRequest
from germane.service.proxy.routes import ProxyRoute
from germane.service.proxy.socket_responses import CREATE, STEER, SocketResponse, SocketResponses, lane_of, read_event
from germane.service.proxy.upstream_socket import Closed, HandshakeRefused, UpstreamSocket
from germane.types.traffic import Ended

T = TypeVar("T")

_LOG = logging.getLogger("germane.proxy")
_TOUCH_SECONDS = 1.0
_BEAT_SECONDS = 20.0
_MAX_WAITING = 64
"""Messages of a caller that may wait for their turn; with more, or with more characters than `_MAX_HELD`, no more are read."""
_MAX_HELD = 16 * 1024**2
_AT_ONCE = 16
"""Messages of an upstream that are passed before other connections have their turn."""
_CLOSE_SECONDS = 2.0
"""That an upstream has to answer a close."""
_CUT = 1006
"""The code with which a server's library tells a connection that broke off."""
_NO_CODE = 1005

_Lane: TypeAlias = "str | type[_All] | None"


class _All:
    """In the place of a lane: all of them."""


@dataclass(frozen=True, slots=True)
class Touched(Generic[T]):
    """What goes to the provider in the place of a create, and what is to be known again when its response has ended."""

    text: str
    call: T | None = None


Touch: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Touched[T]]]
"""Given the text of a create and its fields, returns what is sent in its place."""
Answered: TypeAlias = Callable[[SocketResponse[T]], object]
"""Given each response that has ended. It must return at once."""


def denying(send: Send) -> Send:
    """Returns the `send` with which an answer of HTTP refuses the handshake of a WebSocket."""

    async def sent(message: Message) -> None:
        await send({**message, "type": f"websocket.{message['type']}"})

    return sent


class ProxySockets:
    """The WebSockets of the proxy, over the connections of `relay`. `touch_seconds` bounds how long a message may be touched;
    it goes as it came where that takes longer or fails. An upstream that is silent for `beat_seconds` is pinged; one that gives
    no sign in three times as long counts as gone."""

    def __init__(self, relay: Relay, *, touch_seconds: float = _TOUCH_SECONDS, beat_seconds: float = _BEAT_SECONDS) -> None:
        self._relay, self._touch_seconds, self._beat_seconds = relay, touch_seconds, beat_seconds
        self._warned = False

    async def serve(
        self,
        request: ProxyRequest,
        route: ProxyRoute,
        receive: Receive,
        send: Send,
        *,
        touch: Touch[T] | None = None,
        answered: Answered[T] | None = None,
    ) -> Ended:
        """Opens the upstream's WebSocket with the caller's headers and passes messages until one side has closed. The caller is
        admitted by then. Without `touch` and `answered` no message is read. Returns how it ended: whole, where a side closed it
        or the upstream refused it in words. Raises nothing but cancellation."""
        await receive()
        try:
            upstream = await UpstreamSocket.connect(self._relay, request, route, beat_seconds=self._beat_seconds)
        except HandshakeRefused as refused:
            denied = denying(send)
            with suppress(OSError):
                await denied({"type": "http.response.start", "status": refused.status, "headers": refused.headers})
                await denied({"type": "http.response.body", "body": refused.body})
            return "whole"
        except HttpRefused as refused:
            with suppress(OSError):
                await refusal(request.http, refused).send(request.http, denying(send))
            return "unreachable"
        responses = None if touch is None and answered is None else SocketResponses[T](self._safely(answered))
        passing = _Passing(receive, send, upstream, self._bounded(touch), responses)
        try:
            with suppress(OSError):
                accepted = {"subprotocol": upstream.subprotocol, "headers": upstream.headers}
                await send({"type": "websocket.accept", **accepted})
                return await passing.run()
            return "caller"
        finally:
            if responses is not None:
                responses.end()
            await upstream.aclose()

    def _safely(self, answered: Answered[T] | None) -> Answered[T]:
        def told(response: SocketResponse[T]) -> None:
            try:
                if answered is not None:
                    answered(response)
            except Exception as error:
                self._warn("couldn't take a response of a WebSocket for recording", error)

        return told

    def _bounded(self, touch: Touch[T] | None) -> Touch[T] | None:
        """The function with its bound in time. It never raises."""
        if touch is None:
            return None

        async def bounded(text: str, event: Mapping[str, Any]) -> Touched[T]:
            touching = asyncio.ensure_future(touch(text, event))
            try:
                await asyncio.wait({touching}, timeout=self._touch_seconds)
                if touching.done():
                    return touching.result()
                self._warn("took too long for a message of a WebSocket", TimeoutError())
            except Exception as error:
                self._warn("couldn't assemble for a message of a WebSocket", error)
            finally:
                abandon(touching)
            return Touched(text)

        return bounded

    def _warn(self, what: str, error: Exception) -> None:
        """Says the first fault in the log, without anything of a message."""
        level = logging.DEBUG if self._warned else logging.WARNING
        self._warned = True
        _LOG.log(level, "the proxy %s, which went on without it (said once): %s", what, type(error).__name__)


class _Passing(Generic[T]):
    """The messages of one connection."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        upstream: UpstreamSocket,
        touch: Touch[T] | None,
        responses: SocketResponses[T] | None,
    ) -> None:
        self._receive, self._send, self._upstream = receive, send, upstream
        self._touch, self._responses = touch, responses
        self._last: dict[_Lane, asyncio.Task[None]] = {}
        self._waiting: set[asyncio.Task[None]] = set()
        self._held = 0

    async def run(self) -> Ended:
        """Passes messages until one side has closed, and closes the other. Returns which side broke off, if one did."""
        caller, upstream = asyncio.create_task(self._from_caller()), asyncio.create_task(self._from_upstream())
        try:
            await asyncio.wait({caller, upstream}, return_when=asyncio.FIRST_COMPLETED)
            if upstream.done():
                closed = upstream.result()
                await self._close_caller(closed)
                return "upstream" if closed.cut else "whole"
            closed = caller.result()
            await self._close_upstream(closed, upstream)
            return "caller" if closed.cut else "whole"
        finally:
            tasks = {caller, upstream, *self._waiting}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _from_upstream(self) -> Closed:
        reached, passed = True, 0
        while (message := await self._upstream.receive()) is not None:
            passed += 1
            if passed % _AT_ONCE == 0:
                await asyncio.sleep(0)
            try:
                if reached:
                    kind = "text" if isinstance(message, str) else "bytes"
                    await self._send({"type": "websocket.send", kind: message})
            except OSError:  # the caller closes: what still comes is read, not sent
                reached = False
            if self._responses is not None and isinstance(message, str):
                self._responses.told(message)
        return self._upstream.closed or Closed(cut=True)

    async def _from_caller(self) -> Closed:
        while (message := await self._receive())["type"] != "websocket.disconnect":
            text = message.get("text")
            await self._pass(message["bytes"] if text is None else text)
        code = message.get("code", _CUT)
        return Closed(None if code == _NO_CODE else code, message.get("reason") or "", cut=code == _CUT)

    async def _close_caller(self, closed: Closed) -> None:
        if not closed.cut:  # else the server ends the connection without a word
            await self._send({"type": "websocket.close", "code": closed.code, "reason": closed.reason})

    async def _close_upstream(self, closed: Closed, upstream: asyncio.Task[Closed]) -> None:
        """What the caller sent before it closed still goes."""
        if closed.cut:
            return
        if self._waiting:
            await asyncio.wait({asyncio.ensure_future(asyncio.wait(self._waiting)), upstream}, return_when="FIRST_COMPLETED")
        await self._upstream.close(closed)
        await asyncio.wait({upstream}, timeout=_CLOSE_SECONDS)

    # What the caller sends keeps its order.

    async def _pass(self, message: str | bytes) -> None:
        """Sends one message, or has it sent in its turn."""
        event: Mapping[str, Any] = {}
        if self._responses is not None and isinstance(message, str):
            event = read_event(message)
        lane, touching = self._lane(event), None
        if self._touch is not None and isinstance(message, str) and event.get("type") == CREATE:
            touching = asyncio.ensure_future(self._touch(message, event))
        before = self._before(lane)
        if touching is None and not before:
            await self._deliver(message, event, None)
            return
        task = asyncio.create_task(self._in_turn(before, message, event, touching))
        self._held += len(message)
        self._waiting.add(task)
        self._last = {_All: task} if lane is _All else self._last | {lane: task}
        task.add_done_callback(lambda task: self._sent(task, lane, len(message)))
        while len(self._waiting) >= _MAX_WAITING or (self._waiting and self._held > _MAX_HELD):
            await asyncio.wait(self._waiting, return_when=asyncio.FIRST_COMPLETED)

    def _lane(self, event: Mapping[str, Any]) -> _Lane:
        try:
            if event.get("type") == CREATE:
                return lane_of(event)
            if event.get("type") == STEER and self._responses is not None:
                return self._responses.lane_of_response(event.get("previous_response_id"))
        except KeyError:
            pass
        return _All

    def _before(self, lane: _Lane) -> Iterable[asyncio.Task[None]]:
        """What must be sent before a message of this lane."""
        lanes = list(self._last) if lane is _All else [lane, _All]
        return {self._last[one] for one in lanes if one in self._last and not self._last[one].done()}

    def _sent(self, task: asyncio.Task[None], lane: _Lane, size: int) -> None:
        self._waiting.discard(task)
        self._held -= size
        if self._last.get(lane) is task:
            del self._last[lane]

    async def _in_turn(
        self,
        before: Iterable[asyncio.Task[None]],
        message: str | bytes,
        event: Mapping[str, Any],
        touching: asyncio.Future[Touched[T]] | None,
    ) -> None:
        try:
            if before:
                await asyncio.wait(before)
            touched = None if touching is None else await touching
            await self._deliver(message, event, touched)
        finally:
            if touching is not None:
                touching.cancel()

    async def _deliver(self, message: str | bytes, event: Mapping[str, Any], touched: Touched[T] | None) -> None:
        if self._responses is not None:
            self._follow(self._responses, message, event, touched)
        with suppress(*FAULTS):  # what the upstream says last tells how it ended
            await self._upstream.send(message if touched is None else touched.text)

    def _follow(
        self, responses: SocketResponses[T], message: str | bytes, event: Mapping[str, Any], touched: Touched[T] | None
    ) -> None:
        kind = event.get("type")
        if kind == CREATE and isinstance(message, str):
            responses.create(message, event, None if touched is None else touched.call)
        elif kind == STEER and isinstance(message, str):
            responses.steer(message, event)
        else:
            responses.stray()
