"""Connection: one HTTP connection, as uvicorn speaks it, but that it doesn't wait for ever and takes no bodies.

uvicorn has no limit of its own for the time that a request's head may take, nor for an answer that nobody reads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Literal

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from germane.http.connections import Connections

__all__ = ["connecting"]

_BODY = 4096
"""Bytes that the body of a request may have; nobody reads it."""
_QUIET = logging.getLogger("germane.http")
_QUIET.setLevel(logging.ERROR)  # what others send isn't worth a line each: it is counted

_Waits = Literal["head", "answer", "idle"]


def connecting(connections: Connections) -> Callable[..., asyncio.Protocol]:
    """What makes the protocol of each connection, all of which `connections` knows."""

    def connect(config: Config, server_state: ServerState, app_state: dict[str, Any], **given: Any) -> asyncio.Protocol:
        return _Connection(connections, config=config, server_state=server_state, app_state=app_state, **given)

    return connect


class _Strict(h11.Connection):
    """Refuses what uvicorn would take: a length that is said twice, differently or not, and bodies."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            said = dict(event.headers)
            if b"transfer-encoding" in said or int(said.get(b"content-length", b"0")) > _BODY:
                raise h11.RemoteProtocolError("no request here has a body", error_status_hint=400)
        return event


class _Connection(H11Protocol):
    def __init__(self, connections: Connections, **given: Any) -> None:
        super().__init__(**given)
        self.logger = _QUIET
        self.conn = _Strict(h11.SERVER, self.config.h11_max_incomplete_event_size or 16 * 1024)
        self._table = connections
        self._waits: _Waits = "head"
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait("head")
        self._table.opened(self, "" if self.client is None else self.client[0])

    def connection_lost(self, exc: Exception | None) -> None:
        self._table.closed(self)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._waits == "idle":
            self._wait("head")
        try:
            super().data_received(data)
        except h11.ProtocolError:  # not even the refusal can be said any more
            self._table.note("http_request")
            self.transport.abort()
            return
        if self._waits == "head" and self._answering:
            self._wait("answer")
            self._table.answering(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._answering:  # the next request was there already
            self._wait("answer")
        else:
            self._wait("head" if self.conn.trailing_data[0] else "idle")
            self._table.silent(self)

    def send_400_response(self, msg: str) -> None:
        self._table.note("http_request")
        super().send_400_response(msg)

    def drop(self) -> None:
        """See `Connections`."""
        self.transport.abort()

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self, what: _Waits) -> None:
        self._waits = what
        if self._timer is not None:
            self._timer.cancel()
        room = self._table.room
        seconds = room.head if what == "head" else room.answer if what == "answer" else room.idle
        self._timer = self.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        if self._waits != "idle":
            self._table.note("http_slow")
        self._table.closed(self)
        self.transport.abort()
