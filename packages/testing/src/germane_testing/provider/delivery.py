"""Delivery: an answer on its way to the client, as events, encoded, cut into writes, and stopped where a test says so."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Any, TypeAlias

from aiohttp import web

from germane_testing.provider.received import Received
from germane_testing.provider.replies import Delivery, Failure

__all__ = ["Event", "Outgoing", "disturbed", "json_bytes", "pieces_of"]

Event: TypeAlias = tuple[str, Any]
"""The name of a server-sent event ("" for none), and its data: a JSON value, or a text that is sent as it is."""


def json_bytes(value: object) -> bytes:
    """Returns the JSON of a value in UTF-8, so that characters can be cut in the middle."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def pieces_of(text: str, characters: int) -> Iterator[str]:
    """Yields `text` in pieces of so many characters; an empty text is one piece."""
    yield from (text[start : start + characters] for start in range(0, len(text) or 1, max(characters, 1)))


def disturbed(
    events: Iterable[Event], delivery: Delivery, unknown: Event, error: Callable[[Failure], Event]
) -> Iterator[Event]:
    """Yields the events with what the delivery puts between them: an event of an unknown kind in front of each, and an error
    that ends them."""
    for number, event in enumerate(events):
        if delivery.error is not None and number == delivery.error_after:
            yield error(delivery.error)
            return
        if delivery.unknown_events:
            yield unknown
        yield event


@dataclass(slots=True)
class Outgoing:
    """What is sent for one request; `sleep` is the provider's. `response` is the answer once its head was
    written."""

    request: web.BaseRequest
    received: Received
    delivery: Delivery
    sleep: Callable[[float], Awaitable[object]]
    keep_alive: bool = True
    response: web.StreamResponse | None = None

    async def whole(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> bool:
        """Sends a body with its length. Returns whether all of it was sent."""
        encoded = b"".join(self._compressed([body]))
        return await self._send(status, [*headers, ("Content-Length", str(len(encoded)))], [encoded])

    async def stream(self, headers: Iterable[tuple[str, str]], events: Iterable[Event]) -> bool:
        """Sends server-sent events in chunks. Returns whether all of them were sent."""
        written = self._compressed(self._lines(event) for event in events)
        fixed = [("Content-Type", "text/event-stream; charset=utf-8"), ("Cache-Control", "no-cache")]
        return await self._send(200, [*fixed, *headers], written, chunked=True)

    async def hang(self) -> None:
        """Never returns: a client that goes away cancels the request, and so does a provider that closes."""
        await asyncio.get_running_loop().create_future()

    async def _send(
        self, status: int, headers: Iterable[tuple[str, str]], written: Iterable[bytes], *, chunked: bool = False
    ) -> bool:
        if self.delivery.wait:
            await self.sleep(self.delivery.wait)
        response = self.response = web.StreamResponse(status=status)
        for name, value in headers:
            response.headers.add(name, value)
        if self._encoding:
            response.headers["Content-Encoding"] = self._encoding
        if not self.keep_alive:
            response.force_close()
        if chunked:
            response.enable_chunked_encoding()
        await response.prepare(self.request)
        self.received.status = status
        left = self.delivery.after if self.delivery.ends != "whole" else -1
        for number, piece in enumerate(self._cut(written)):
            if number and self.delivery.pause:
                await self.sleep(self.delivery.pause)
            part = piece if left < 0 else piece[:left]
            if part:
                await response.write(part)
                self.received.sent += part
            left = left if left < 0 else left - len(part)
            if left == 0:
                await self._stop()
                return False
        await response.write_eof()
        return True

    async def _stop(self) -> None:
        if self.delivery.ends == "stall":
            await self.hang()
        self.drop()

    def drop(self) -> None:
        """Closes the connection once what was written has left."""
        if self.request.transport is not None:
            self.request.transport.close()

    @property
    def _encoding(self) -> str:
        accepted = ",".join(self.received.header_values("accept-encoding"))
        return self.delivery.encoding if self.delivery.encoding in accepted else ""

    def _compressed(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        if not self._encoding:
            yield from pieces
            return
        compressor = zlib.compressobj(wbits=31 if self._encoding == "gzip" else 15)
        for piece in pieces:
            yield compressor.compress(piece) + compressor.flush(zlib.Z_SYNC_FLUSH)
        yield compressor.flush()

    def _cut(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The same bytes in writes of the sizes that the delivery names."""
        if not self.delivery.writes:
            yield from pieces
            return
        whole, start = b"".join(pieces), 0
        for size in cycle(max(size, 1) for size in self.delivery.writes):
            if start >= len(whole):
                return
            yield whole[start : start + size]
            start += size

    def _lines(self, event: Event) -> bytes:
        name, data = event
        lines = [b": a comment"] if self.delivery.comments else []
        lines += [f"event: {name}".encode()] if name else []
        lines += [b"data: " + (data.encode() if isinstance(data, str) else json_bytes(data)), b"", b""]
        return (b"\r\n" if self.delivery.crlf else b"\n").join(lines)
