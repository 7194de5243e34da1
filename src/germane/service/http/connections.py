"""HTTP connections: the open connections of one HTTP server, limited in number, for each address, and in time.

A connection beyond a limit is accepted, and the connection that has waited longest for a request is dropped in its place:
silent connections can't keep a new client out.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

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
_LOGGER = logging.getLogger("germane.http")
_LOGGER.setLevel(logging.ERROR)  # malformed requests are counted; a log line for each would let clients fill the log

_Phase = Literal["head", "work", "answer", "idle"]
"""What the connection waits for: a request's head, the application, the client to read the answer, or the next request."""

TakesBody = Callable[[bytes], bool]
"""Whether the application reads the bodies of requests for a target (`/v1/…?…`) itself, and bounds their size and its time."""


def protocol_factory(connections: Connections, takes_body: TakesBody) -> Callable[..., asyncio.Protocol]:
    """Returns uvicorn's factory of protocols; every connection registers itself with `connections`."""

    def connect(config: Config, server_state: ServerState, app_state: dict[str, Any], **kwargs: Any) -> asyncio.Protocol:
        return _Connection(connections, takes_body, config=config, server_state=server_state, app_state=app_state, **kwargs)

    return connect


class _StrictParser(h11.Connection):
    """Also refuses a body that nobody reads, and one whose length is said twice. h11 itself refuses contradicting lengths."""

    def __init__(self, takes_body: TakesBody, max_head_bytes: int) -> None:
        super().__init__(h11.SERVER, max_head_bytes)
        self._takes_body = takes_body
        self.body_taken = False
        """Whether the application reads the body of the latest request."""
        self._held = b""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.body_taken = self._takes_body(event.target)
            self._check(dict(event.headers))
        return event

    def send(self, event: Any) -> Any:
        """Returns what is to be written. The head of an answer of known length goes out with its first part: the client is
        woken once."""
        output = super().send(event)
        held, self._held = self._held, b""
        if isinstance(event, h11.Response) and any(name == b"content-length" for name, _ in event.headers):
            self._held, output = output or b"", b""
        return held + output if held and output is not None else output

    def _check(self, headers: dict[bytes, bytes]) -> None:
        chunked, length = b"transfer-encoding" in headers, headers.get(b"content-length")
        if chunked and length is not None:
            raise h11.RemoteProtocolError("the length of the body is said twice", error_status_hint=400)
        if not self.body_taken and (chunked or int(length or b"0") > _MAX_BODY_BYTES):
            raise h11.RemoteProtocolError("no request here has a body", error_status_hint=400)


class _Connection(H11Protocol):
    def __init__(self, connections: Connections, takes_body: TakesBody, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.logger = _LOGGER
        self.conn: _StrictParser = _StrictParser(takes_body, self.config.h11_max_incomplete_event_size or 16 * 1024)
        self.app = self._paced
        self._connections = connections
        self._phase: _Phase = "head"
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
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._answering:  # a pipelined request was already there
            self._begin()
        else:
            self._enter("head" if self.conn.trailing_data[0] else "idle")
            self._connections.waiting(self)

    def send_400_response(self, msg: str) -> None:
        self._connections.count_refusal("http_request")
        super().send_400_response(msg)

    def drop(self) -> None:
        """Closes the connection at once; called by `Connections`."""
        self.transport.abort()

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _begin(self) -> None:
        """A request's head has come. An application that reads its body bounds its own time too."""
        self._enter("work" if self.conn.body_taken else "answer")
        self._connections.answering(self)

    async def _paced(self, scope: Any, receive: Any, send: Any) -> None:
        """Runs the application, and gives the client `answer_seconds` to take each part of the answer."""

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
        seconds = {"head": limits.head_seconds, "answer": limits.answer_seconds, "idle": limits.idle_seconds}.get(phase)
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self._timed_out)

    def _timed_out(self) -> None:
        if self._phase != "idle":
            self._connections.count_refusal("http_slow")
        self._connections.closed(self)
        self.transport.abort()
