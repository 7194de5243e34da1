"""Answer copy: what the recorder gets of a relayed answer: its bytes up to a bound, and without the encoding of its content.

The relay hands over each part after it was sent on, so a copy never delays an answer. Of a longer answer nothing is kept.
"""

from __future__ import annotations

import gzip
import io
import zlib

from germane.service.proxy.headers import Headers

_GZIP, _DEFLATE = (b"gzip", b"x-gzip"), b"deflate"
_PIECE = 64 * 1024


class AnswerCopy:
    """A copy of one answer's body, of at most `limit` bytes, as it came and decoded. Pass it to `Relay.send` as `on_part`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def __call__(self, part: bytes) -> None:
        """Keeps one more part."""
        self._size += len(part)
        if self._size <= self._limit:
            self._parts.append(part)
        else:
            self._parts.clear()

    def decoded(self, headers: Headers) -> bytes | None:
        """Returns the body without the encodings that the answer's `headers` name: gzip and deflate. Of an answer that broke
        off, as much as came. Returns None for a body above the limit, before or after decoding, and for one that can't be
        decoded."""
        if self._size > self._limit:
            return None
        body = b"".join(self._parts)
        for encoding in reversed(_encodings(headers)):
            found = _gunzipped(body, self._limit) if encoding in _GZIP else None
            found = _inflated(body, self._limit) if encoding == _DEFLATE else found
            if found is None:
                return None
            body = found
        return body


def _encodings(headers: Headers) -> list[bytes]:
    """The encodings in the order in which they were applied."""
    named = [one.strip().lower() for name, value in headers if name.lower() == b"content-encoding" for one in value.split(b",")]
    return [one for one in named if one not in (b"", b"identity")]


def _gunzipped(body: bytes, limit: int) -> bytes | None:
    found = bytearray()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(body)) as members:
            while part := members.read1(_PIECE):
                found += part
                if len(found) > limit:
                    return None
    except EOFError:  # it broke off
        pass
    except (OSError, zlib.error):
        return None
    return bytes(found)


def _inflated(body: bytes, limit: int) -> bytes | None:
    for window in (zlib.MAX_WBITS, -zlib.MAX_WBITS):  # some servers leave out the header
        try:
            found = zlib.decompressobj(window).decompress(body, limit + 1)
        except zlib.error:
            continue
        return found if len(found) <= limit else None
    return None
