"""HTTP connections: the open connections of one HTTP server, limited in number, for each address, and in time.

A connection beyond a limit is accepted, and the connection that has waited longest for a request is dropped in its place:
silent connections can't keep a new client out.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, cast

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from germane.types.traffic import Traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Largest numbers of connections, and the seconds that each phase of a connection may take."""

    max_connections: int = 2048
    max_per_address: int = 1024
    head_seconds: float = 5.0
    """For the head of a request to arrive: since the connection was opened, or since the request's first byte."""
    idle_seconds: float = 15.0
    """That a connection is kept open for a next request."""
    answer_seconds: float = 30.0
    """For an answer to be made and read by the client."""
    relayed_seconds: float = 600.0
    """For each part of another server's answer to be read by the client, as long as the providers' own libraries wait."""


class _Droppable(Protocol):
    def drop(self) -> None:
        """Closes the connection at once and discards what isn't sent yet."""


class Connections:
    """Registers connections, enforces `limits` and counts refusals by reason. Belongs to one event loop; only `traffic` may be
    read from any thread."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._address: dict[_Droppable, str] = {}
        self._waiting: dict[_Droppable, None] = {}  # in the order in which they began to wait
        self._per_address: Counter[str] = Counter()
        self._refused = {"http_full": 0, "http_slow": 0, "http_request": 0}  # no key is ever added: threads read `traffic`

    def opened(self, connection: _Droppable, address: str) -> None:
        """Registers a new connection, which waits for its first request. Drops another connection if a limit is exceeded."""
        self._address[connection] = address
        self._per_address[address] += 1
        if self._per_address[address] > self.limits.max_per_address:
            self._drop_oldest(lambda other: self._address[other] == address)
        elif len(self._address) > self.limits.max_connections:
            self._drop_oldest(lambda other: True)
        self.waiting(connection)

    def waiting(self, connection: _Droppable) -> None:
        """Marks that the connection waits for a request from now on."""
        if connection in self._address:
            self._waiting.pop(connection, None)
            self._waiting[connection] = None

    def answering(self, connection: _Droppable) -> None:
        """Marks that a request of this connection is being answered."""
        self._waiting.pop(connection, None)

    def closed(self, connection: _Droppable) -> None:
        """Removes the connection. Idempotent."""
        self._waiting.pop(connection, None)
        address = self._address.pop(connection, None)
        if address is not None:
            self._per_address[address] -= 1
            if not self._per_address[address]:
                del self._per_address[address]

    def count_refusal(self, reason: str) -> None:
        """Counts one refused connection or request; `reason` is one of `traffic.REASONS` that begin with `http_`."""
        self._refused[reason] += 1

    def drop_all(self) -> None:
        """Drops every connection: the server stops."""
        for connection in list(self._address):
            self.closed(connection)
            connection.drop()

    @property
    def traffic(self) -> Traffic:
        return Traffic(used={"http": len(self._address)}, refused=dict(self._refused))

    def _drop_oldest(self, matches: Callable[[_Droppable], bool]) -> None:
        """Drops the matching connection that has waited longest; if none waits, the oldest that is being answered."""
        oldest = next(filter(matches, (*self._waiting, *self._address)))
        self.count_refusal("http_full")
        self.closed(oldest)
        oldest.drop()


# uvicorn's HTTP/1.1 protocol with time limits, and without bodies where no route takes one. uvicorn limits neither the time in
# which the head of a request must arrive nor the time in which a client must read the answer.


_MAX_BODY_BYTES = 4096
"""Largest request body that is accepted where none is expected; it isn't read."""
_RESET = struct.pack("ii", 1, 0)
"""The option of a socket by which closing it resets the connection."""
_LOGGER = logging.getLogger("germane.http")
_LOGGER.setLevel(logging.ERROR)  # malformed requests are counted; a log line for each would let clients fill the log

_HANDSHAKE = frozenset({b"host", b"connection", b"upgrade", b"content-length", b"transfer-encoding"})
"""Headers of a handshake that its parser checks, beside those of WebSocket itself."""

_Phase = Literal["head", "work", "answer", "idle"]
"""What the connection waits for: a request's head, the application, the client to read the answer, or the next request."""

TakesBody = Callable[[bytes], bool]
"""Whether the application reads the bodies of requests for a target (`/v1/…?…`) itself, and bounds their size and its time."""

WIRE = "germane.wire"
"""The key of a request's `HttpWire` in the extensions of ASGI's scope."""


class HttpWire:
    """What the connection knows of a request beyond ASGI's scope, and does for an answer that is another server's."""

    def __init__(self, connection: _Connection, request: h11.Request) -> None:
        self._connection, self._request = connection, request

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> HttpWire:
        """Returns the wire of a request that this server received."""
        return cast("HttpWire", scope["extensions"][WIRE])

    @property
    def method(self) -> bytes:
        """The method as it came: its case counts."""
        return self._request.method

    @property
    def target(self) -> bytes:
        """The request's target as it came, with its query."""
        return self._request.target

    @property
    def headers(self) -> Sequence[tuple[bytes, bytes]]:
        """The headers in their order, with the client's spelling of their names."""
        return self._request.headers.raw_items()

    def relaying(self, reason: bytes) -> None:
        """Says before the head of the answer that it is another server's: nothing is added to its headers, it keeps its
        `reason` phrase, and the client has `relayed_seconds` to read each part of it."""
        self._connection.relay(reason)

    def cut(self) -> None:
        """Ends the connection in the middle of an answer, so that the client sees that it isn't whole. Parts that were sent
        before are delivered, but not over HTTP/1.0, where the end of the connection would be the end of the answer."""
        self._connection.cut(lossy=self._request.http_version < b"1.1")


class TakesSockets(Protocol):
    """Which requests become WebSockets (`sockets.py`)."""

    def takes(self, target: bytes) -> bool:
        """Whether a request for this target may."""

    def protocol(self, connections: Connections, wire: HttpWire) -> Callable[..., asyncio.Protocol]:
        """Returns uvicorn's factory for the connection of one request."""


def protocol_factory(
    connections: Connections, takes_body: TakesBody, sockets: TakesSockets | None = None
) -> Callable[..., asyncio.Protocol]:
    """Returns uvicorn's factory of protocols; every connection registers itself with `connections`. Without `sockets` no
    connection becomes a WebSocket."""

    def connect(config: Config, server_state: ServerState, app_state: dict[str, Any], **kwargs: Any) -> asyncio.Protocol:
        made = {"config": config, "server_state": server_state, "app_state": app_state, **kwargs}
        return _Connection(connections, takes_body, sockets, **made)

    return connect


class _StrictParser(h11.Connection):
    """Also refuses a body that nobody reads, and one whose length is said twice. h11 itself refuses contradicting lengths."""

    def __init__(self, takes_body: TakesBody, max_head_bytes: int) -> None:
        super().__init__(h11.SERVER, max_head_bytes)
        self._takes_body = takes_body
        self.body_taken = False
        """Whether the application reads the body of the latest request."""
        self.request: h11.Request | None = None
        """The latest request. The next one isn't read before this one is answered."""
        self.reason: bytes | None = None
        """The reason phrase of the next answer, in the place of the status's own."""
        self._held = b""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.request = event
            self.body_taken = self._takes_body(event.target)
            self._check(event, dict(event.headers))
        return event

    def send(self, event: Any) -> Any:
        """Returns what is to be written. The head of an answer of known length goes out with its first part: the client is
        woken once. That of another server's answer goes out at once, with its own reason."""
        relayed = False
        if type(event) is h11.Response:
            reason, self.reason = self.reason, None
            relayed = reason is not None
            if reason not in (None, event.reason):
                headers = event.headers.raw_items()
                event = h11.Response(status_code=event.status_code, headers=headers, reason=reason)
        output = super().send(event)
        held, self._held = self._held, b""
        if isinstance(event, h11.Response) and not relayed and any(name == b"content-length" for name, _ in event.headers):
            self._held, output = output or b"", b""
        return held + output if held and output is not None else output

    def _check(self, request: h11.Request, headers: dict[bytes, bytes]) -> None:
        chunked, length = b"transfer-encoding" in headers, headers.get(b"content-length")
        if chunked and length is not None:
            raise h11.RemoteProtocolError("the length of the body is said twice", error_status_hint=400)
        if chunked and request.http_version < b"1.1":
            raise h11.RemoteProtocolError("HTTP/1.0 has no chunks", error_status_hint=400)
        if not self.body_taken and (chunked or int(length or b"0") > _MAX_BODY_BYTES):
            raise h11.RemoteProtocolError("no request here has a body", error_status_hint=400)


class _Connection(H11Protocol):
    def __init__(self, connections: Connections, takes_body: TakesBody, sockets: TakesSockets | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.logger = _LOGGER
        self._sockets, self._upgraded = sockets, False
        self.conn: _StrictParser = _StrictParser(takes_body, self.config.h11_max_incomplete_event_size or 16 * 1024)
        self.app = self._paced
        self._connections = connections
        self._phase: _Phase = "head"
        self._relayed = False
        """Whether the present answer is another server's."""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._enter("head")
        self._connections.opened(self, "" if self.client is None else self.client[0])

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.closed(self)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._phase == "idle":
            self._enter("head")
        try:
            super().data_received(data)
        except h11.ProtocolError:  # h11's state doesn't even allow a 400 any more
            self._connections.count_refusal("http_request")
            self.transport.abort()
            return
        if self._phase == "head" and self._answering:
            self._begin()

    def on_response_complete(self) -> None:
        self._relayed = False
        super().on_response_complete()
        if self.transport.is_closing() or self._upgraded:
            return
        if self._answering:  # a pipelined request was already there
            self._begin()
        else:
            self._enter("head" if self.conn.trailing_data[0] else "idle")
            self._connections.waiting(self)

    def _should_upgrade_to_ws(self) -> bool:
        if self._sockets is None or self.scope["method"] != "GET" or self.scope["http_version"] != "1.1":
            return False
        return self._sockets.takes(self.scope["raw_path"])

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hands the connection over. The WebSocket's parser reads the handshake alone, of bounded length."""
        assert self._sockets is not None
        if self.conn.trailing_data[0]:  # nobody has accepted frames yet
            self.send_400_response("Invalid HTTP request received.")
            return
        self._upgraded = True
        if self._timer is not None:
            self._timer.cancel()
        self._connections.closed(self)
        self.headers = [
            (name, value) for name, value in self.headers if name in _HANDSHAKE or name.startswith(b"sec-websocket-")
        ]
        self.ws_protocol_class = self._sockets.protocol(self._connections, HttpWire(self, event))  # type: ignore[assignment]
        super().handle_websocket_upgrade(event)

    def send_400_response(self, msg: str) -> None:
        self._connections.count_refusal("http_request")
        super().send_400_response(msg)

    def drop(self) -> None:
        """Closes the connection at once; called by `Connections`."""
        self.transport.abort()

    def relay(self, reason: bytes) -> None:
        """Called by `HttpWire.relaying`."""
        self._relayed = True
        self.cycle.default_headers = []
        self.conn.reason = reason

    def cut(self, *, lossy: bool) -> None:
        """Called by `HttpWire.cut`."""
        if lossy:
            connected = self.transport.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)  # else the system says that the answer is over
            self.transport.abort()
        else:
            self._enter("answer")
            self.transport.close()

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _begin(self) -> None:
        """A request's head has come. An application that reads its body bounds its own time too."""
        self._enter("work" if self.conn.body_taken else "answer")
        self._connections.answering(self)

    async def _paced(self, scope: Any, receive: Any, send: Any) -> None:
        """Runs the application, and gives the client `answer_seconds` to take each part of the answer."""

        assert self.conn.request is not None
        scope["extensions"] = {WIRE: HttpWire(self, self.conn.request)}

        async def paced_send(message: Any) -> None:
            self._enter("answer")
            await send(message)
            if self._phase == "answer" and self._answering and self.conn.body_taken:
                self._enter("work")

        await self.config.loaded_app(scope, receive, paced_send)

    def _enter(self, phase: _Phase) -> None:
        """Starts `phase` and its timer."""
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        limits = self._connections.limits
        answer = limits.relayed_seconds if self._relayed else limits.answer_seconds
        seconds = {"head": limits.head_seconds, "answer": answer, "idle": limits.idle_seconds}.get(phase)
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self._timed_out)

    def _timed_out(self) -> None:
        if self._phase != "idle":
            self._connections.count_refusal("http_slow")
        self._connections.closed(self)
        self.transport.abort()
