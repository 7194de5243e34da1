"""Frames: the messages between two workers on a Unix socket: a call's number, a kind, and bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from struct import Struct

__all__ = ["CANCEL", "Frames"]

_HEAD = Struct("!IQB")
"""Bytes of the payload, number of the call, kind of the frame."""
CANCEL = 255
"""The kind of a frame that gives a call up. Other kinds are the asker's methods and the answerer's gRPC status codes."""


class Frames(asyncio.Protocol):
    """One connection. `on_frame(frames, number, kind, payload)` is called for each whole frame, `on_lost` once at the end. Both
    ends are workers of the same service and trust each other."""

    def __init__(self, on_frame: Callable[[Frames, int, int, bytes], None], on_lost: Callable[[Frames], None]) -> None:
        self._on_frame, self._on_lost = on_frame, on_lost
        self._transport: asyncio.WriteTransport | None = None
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        start = 0
        while len(self._buffer) >= start + _HEAD.size:
            length, number, kind = _HEAD.unpack_from(self._buffer, start)
            end = start + _HEAD.size + length
            if len(self._buffer) < end:
                break
            payload = bytes(self._buffer[start + _HEAD.size : end])
            start = end
            self._on_frame(self, number, kind, payload)
        del self._buffer[:start]

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._on_lost(self)

    def send(self, number: int, kind: int, payload: bytes = b"") -> None:
        """Sends one frame; does nothing on a connection that has ended."""
        if self._transport is not None:
            self._transport.write(_HEAD.pack(len(payload), number, kind) + payload)

    def close(self) -> None:
        """Ends the connection. Idempotent."""
        if self._transport is not None:
            self._transport.abort()
