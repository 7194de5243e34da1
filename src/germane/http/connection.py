"""Connection: uvicorn's HTTP/1.1 protocol with time limits, and without request bodies.

uvicorn limits neither the time in which the head of a request must arrive nor the time in which a client must read the answer.
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

__all__ = ["protocol_factory"]

_MAX_BODY_BYTES = 4096
"""Largest request body that is accepted. No route reads it."""
_LOGGER = logging.getLogger("germane.http")
_LOGGER.setLevel(logging.ERROR)  # malformed requests are counted; a log line for each would let clients fill the log

_Phase = Literal["head", "answer", "idle"]
"""What the connection waits for: a request's head, the answer to be written and read, or the next request."""


def protocol_factory(connections: Connections) -> Callable[..., asyncio.Protocol]:
    """Returns uvicorn's factory of protocols; every connection registers itself with `connections`."""

    def connect(config: Config, server_state: ServerState, app_state: dict[str, Any], **kwargs: Any) -> asyncio.Protocol:
        return _Connection(connections, config=config, server_state=server_state, app_state=app_state, **kwargs)

    return connect


class _StrictParser(h11.Connection):
    """Also refuses a transfer encoding and bodies above `_MAX_BODY_BYTES`. h11 itself refuses contradicting lengths."""

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            headers = dict(event.headers)
            if b"transfer-encoding" in headers or int(headers.get(b"content-length", b"0")) > _MAX_BODY_BYTES:
                raise h11.RemoteProtocolError("no request here has a body", error_status_hint=400)
        return event


class _Connection(H11Protocol):
    def __init__(self, connections: Connections, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.logger = _LOGGER
        self.conn = _StrictParser(h11.SERVER, self.config.h11_max_incomplete_event_size or 16 * 1024)
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
            self._enter("answer")
            self._connections.answering(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            return
        if self._answering:  # a pipelined request was already there
            self._enter("answer")
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

    def _enter(self, phase: _Phase) -> None:
        """Starts `phase` and its timer."""
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
        limits = self._connections.limits
        seconds = {
            "head": limits.head_seconds,
            "answer": limits.answer_seconds,
            "idle": limits.idle_seconds,
        }[phase]
        self._timer = self.loop.call_later(seconds, self._timed_out)

    def _timed_out(self) -> None:
        if self._phase != "idle":
            self._connections.count_refusal("http_slow")
        self._connections.closed(self)
        self.transport.abort()
