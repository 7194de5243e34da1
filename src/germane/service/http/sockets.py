"""Sockets: the WebSocket connections of the HTTP server, counted and limited as its others are.

uvicorn's protocol, with what it leaves open: a peer that doesn't read, or stops within a message, is dropped; a flood of pings
or of empty fragments takes no memory; nothing that a peer sends is logged. Compression isn't offered, so that no message is
larger than what was sent of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.server import ServerProtocol

from germane.service.http.connections import WIRE, Connections, HttpWire

_LOGGER = logging.getLogger("germane.http")
_PING_SECONDS = 20.0
"""Between two pings of a connection. Their answers aren't waited for: a client may be busy for minutes. The system notices a
peer that is gone, since it doesn't acknowledge the ping."""
_LEAST_PROGRESS = 16 * 1024
"""Bytes that a peer must send of a message in `ConnectionLimits.answer_seconds`, or read in `relayed_seconds`, as long as it
doesn't end the message, or read all."""
_PONG = bytes([0x80 | Opcode.PONG])
_BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Sockets:
    """Which requests for a WebSocket reach the application: those whose target `takes` accepts. All others are answered as
    requests without an upgrade. A message has at most `max_bytes`; a larger one closes its connection with 1009."""

    def __init__(self, *, takes: Callable[[bytes], bool], max_bytes: int) -> None:
        self.takes, self._max_bytes = takes, max_bytes

    def protocol(self, connections: Connections, wire: HttpWire) -> Callable[..., asyncio.Protocol]:
        """Returns uvicorn's factory for the connection of one request."""
        return partial(_Socket, connections, wire, self._max_bytes)


class _Socket(WebSocketsSansIOProtocol):
    def __init__(self, connections: Connections, wire: HttpWire, max_bytes: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.logger = _LOGGER
        self.default_headers = []  # those of the application's answer are another server's
        self.conn = ServerProtocol(max_size=max_bytes, logger=_LOGGER)
        self.ping_interval, self.ping_timeout = _PING_SECONDS, None
        self._connections, self._wire = connections, wire
        self._message = bytearray()
        self._pong = b""
        self._came = self._unread = 0
        self._reading: asyncio.TimerHandle | None = None
        self._writing: asyncio.TimerHandle | None = None
        self._ending: asyncio.TimerHandle | None = None

    # The connection.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._connections.opened(self, "" if self.client is None else self.client[0])
        self._connections.answering(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.closed(self)
        for timer in (self._reading, self._writing, self._ending):
            _cancel(timer)
        self.queue.put_nowait({"type": "websocket.disconnect", "code": int(CloseCode.ABNORMAL_CLOSURE)})
        super().connection_lost(exc)

    def shutdown(self) -> None:
        try:
            super().shutdown()
        except InvalidState:  # the peer closes it at the same time
            self.transport.close()

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """The application has ended; a peer that reads no more isn't waited for without end."""
        super().on_task_complete(task)
        if self in self.connections:
            self._ending = self.loop.call_later(self._connections.limits.answer_seconds, self.transport.abort)

    def drop(self) -> None:
        """Closes the connection at once; called by `Connections`."""
        self.transport.abort()

    # What comes.

    def data_received(self, data: bytes) -> None:
        self.conn.receive_data(data)
        self.handle_events()  # a message that came whole counts, whatever follows it
        if self.conn.parser_exc is not None:
            if self.conn.close_sent is None:  # before the handshake
                self._drop_for("http_request")
            elif not self.transport.is_closing():
                self.handle_parser_exception()
        elif not self.handshake_initiated:
            self._connections.count_refusal("http_request")
            self.transport.write(_BAD_REQUEST)
            self.transport.close()
        else:
            self._watch_reading(len(data))

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if self.response.status_code == 101:
            self.scope["headers"] = [(name.lower(), value) for name, value in self._wire.headers]
            self.scope["extensions"] = {**(self.scope["extensions"] or {}), WIRE: self._wire}  # type: ignore[dict-item]

    def handle_text(self, event: Frame) -> None:
        self._begin("text", event)

    def handle_bytes(self, event: Frame) -> None:
        self._begin("bytes", event)

    def handle_cont(self, event: Frame) -> None:
        self._message += event.data
        if event.fin:
            self.send_receive_event_to_app()

    def _begin(self, kind: Any, event: Frame) -> None:
        self.curr_msg_data_type = kind
        self._message = bytearray(event.data)
        if event.fin:
            self.send_receive_event_to_app()

    def send_receive_event_to_app(self) -> None:
        message, self._message = self._message, bytearray()
        if self.close_sent or self.transport.is_closing():
            return
        if self.curr_msg_data_type == "bytes":
            self.queue.put_nowait({"type": "websocket.receive", "bytes": bytes(message)})
        else:
            try:
                self.queue.put_nowait({"type": "websocket.receive", "text": message.decode()})
            except UnicodeDecodeError:
                if self.conn.close_sent is None and self.handshake_complete:
                    self.conn.fail(CloseCode.INVALID_DATA, "invalid UTF-8")
                    self.handle_parser_exception()
                else:
                    self._drop_for("http_request")
                return
        if not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    def handle_ping(self) -> None:
        if self.writable.is_set():
            super().handle_ping()
            return
        for answer in self.conn.data_to_send():  # those of all pings that came with this one
            if answer[:1] == _PONG:
                self._pong = answer  # the latest may stand for all
            else:
                self.transport.write(answer)

    def _watch_reading(self, size: int) -> None:
        """Bounds the time that a message may take, once it has begun."""
        self._came += size
        if not self._is_partial:
            _cancel(self._reading)
            self._reading = None
        elif self._reading is None:
            self._came = size
            self._reading = self.loop.call_later(self._connections.limits.answer_seconds, self._check_reading)

    @property
    def _is_partial(self) -> bool:
        return self.conn.current_size is not None or bool(self.conn.reader.buffer)

    def _check_reading(self) -> None:
        self._reading = None
        if not self.read_paused and self._came < _LEAST_PROGRESS:
            self._drop_for("http_slow")
        else:
            self._came = 0
            self._reading = self.loop.call_later(self._connections.limits.answer_seconds, self._check_reading)

    # What goes.

    async def send(self, message: Any) -> None:
        if self.close_sent and self.handshake_complete:  # since the peer broke the protocol, for instance
            raise ClientDisconnected
        if message["type"] == "websocket.accept":  # uvicorn writes names in lower case, and takes away a date that is there
            headers = message.get("headers", ())
            for name, value in headers:
                self.response.headers[name.decode("latin-1")] = value.decode("latin-1")
            message = {**message, "headers": [one for one in headers if one[0].lower() == b"date"]}
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True  # refused, which uvicorn would log as an error

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.transport.get_write_buffer_size()
        self._writing = self.loop.call_later(self._connections.limits.relayed_seconds, self._check_writing)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._writing)
        if self._pong and not self.transport.is_closing():
            self.transport.write(self._pong)
        self._pong = b""

    def _check_writing(self) -> None:
        unread = self.transport.get_write_buffer_size()
        if unread > self._unread - _LEAST_PROGRESS:
            self._drop_for("http_slow")
            return
        self._unread = unread
        self._writing = self.loop.call_later(self._connections.limits.relayed_seconds, self._check_writing)

    def _drop_for(self, reason: str) -> None:
        self._connections.count_refusal(reason)
        self._connections.closed(self)
        self.transport.abort()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
