"""Answer copy: what is kept of a provider's answer while it is relayed, and the model's messages in it.

The answer itself goes to the caller byte for byte. Of the copy the content encoding is undone: gzip and deflate, and br and
zstd where the packages `brotli` (from 1.2 on) and `zstandard` are installed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from io import BytesIO
from types import MappingProxyType
from typing import Any

from germane.dialects.replies import read_reply, reply_id

_MAX_BYTES = 16 * 2**20
"""Bytes of an answer, as it was sent and as it is decoded; of a longer one nothing is read."""
_MAX_CODINGS = 4
_EVENTS = "text/event-stream"
_EITHER_HEADER = zlib.MAX_WBITS | 32
"""For zlib: gzip's header or its own."""


class CopyRoom:
    """How many bytes the copies of all answers that are open at once may still hold together: `left`. For one event loop."""

    def __init__(self, size: int) -> None:
        self.left = size


class AnswerCopy:
    """A bounded copy of the bytes of a successful answer. `headers` are the answer's, by names in lower case; they may be set
    later. `broken` says that there were too many bytes, or no `room` for them; whoever relays the answer sets it where reading
    it failed."""

    def __init__(
        self,
        headers: Mapping[str, str] = MappingProxyType({}),
        *,
        limit: int = _MAX_BYTES,
        room: CopyRoom | None = None,
    ) -> None:
        self._limit, self.headers, self._room = limit, headers, room
        self._chunks, self.size, self._taken = list[bytes](), 0, 0
        self.broken = False

    def keep(self, chunk: bytes) -> None:
        """Adds what came of the answer."""
        self.size += len(chunk)
        if self.size > self._limit or (self._room is not None and len(chunk) > self._room.left):
            self.broken = True
            self._chunks.clear()
            self.release()
        elif not self.broken:
            self._chunks.append(chunk)
            if self._room is not None:
                self._room.left -= len(chunk)
                self._taken += len(chunk)

    def release(self) -> None:
        """Gives the room back: the answer has ended. Idempotent."""
        if self._room is not None:
            self._room.left += self._taken
            self._taken = 0

    def messages(self, api: str) -> list[dict[str, Any]]:
        """Returns the model's messages in the shape of the dialect `api`, ready for `record`; of a stream that ended early, the
        words that came. Empty where there is nothing to record, where the answer is broken, and where its encoding can't be
        undone. Never raises. It takes time in proportion to the answer, which an event loop may not have."""
        return self.read(api)[0]

    def read(self, api: str) -> tuple[list[dict[str, Any]], str | None]:
        """Returns the model's messages, as `messages` does, and the id that the provider gave to the answer; None where it has
        none."""
        coding = self.headers.get("content-encoding", "")
        body = None if self.broken else decoded(b"".join(self._chunks), coding, self._limit)
        if body is None:
            return [], None
        text, events = body.decode("utf-8", "replace"), self.headers.get("content-type", "").lower().startswith(_EVENTS)
        return read_reply(api, text, events=events), reply_id(api, text, events=events)


def decoded(body: bytes, coding: str, limit: int) -> bytes | None:
    """Returns the body with its content encoding undone, of a body that ends early what came whole. None for an encoding that
    isn't known or installed, a body that isn't in it, and one of more than `limit` bytes: no more than these are decoded."""
    codings = [name for one in coding.lower().split(",") if (name := one.strip()) not in ("", "identity")]
    if len(codings) > _MAX_CODINGS:
        return None
    for name in reversed(codings):
        decode = _DECODERS.get(name)
        try:
            body = body if decode is None else decode(body, limit + 1)
        except Exception:  # a package that isn't installed, or an error of its own
            return None
        if decode is None or len(body) > limit:
            return None
    return body if len(body) <= limit else None


def _inflated(body: bytes, limit: int) -> bytes:
    return zlib.decompressobj(_EITHER_HEADER).decompress(body, limit)


def _deflated(body: bytes, limit: int) -> bytes:
    """Some senders leave out the header that belongs to deflate."""
    try:
        return _inflated(body, limit)
    except zlib.error:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, limit)


def _from_brotli(body: bytes, limit: int) -> bytes:
    import brotli

    decompressor = brotli.Decompressor()
    found = decompressor.process(body, output_buffer_limit=limit)
    while len(found) < limit and not decompressor.can_accept_more_data() and not decompressor.is_finished():
        found += decompressor.process(b"", output_buffer_limit=limit)
    return bytes(found)


def _from_zstd(body: bytes, limit: int) -> bytes:
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=_MAX_BYTES).stream_reader(BytesIO(body)).read(limit)


_DECODERS: Mapping[str, Callable[[bytes, int], bytes]] = MappingProxyType(
    {"gzip": _inflated, "x-gzip": _inflated, "deflate": _deflated, "br": _from_brotli, "zstd": _from_zstd}
)
"""By the coding's name: what decodes a body, and returns so many bytes at most or a little more."""
