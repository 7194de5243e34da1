"""Image size: width and height of a picture, read from its header (PNG, GIF, WebP, JPEG).

It reads PNG's IHDR, GIF's logical screen descriptor, WebP's VP8, VP8L or VP8X chunk, and JPEG's first start-of-frame segment,
which is looked for in the first 384 KB. Nothing else is decoded.
"""

from __future__ import annotations

import binascii

__all__ = ["data_url", "image_size"]

_HEAD = 64
_JPEG_HEADS = (8_192, 512_000)
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def data_url(url: str) -> tuple[str, str] | None:
    """Returns media type and base64 data of `data:<media type>;base64,…`; None for any other URL."""
    if not url.startswith("data:"):
        return None
    head, comma, data = url.partition(",")
    media, *options = head[5:].split(";")
    return (media.strip().lower() or "text/plain", data) if comma and "base64" in options else None


def image_size(data: str | bytes) -> tuple[int, int] | None:
    """Returns (width, height) in pixels; None where the header is of none of the four formats. `data` is base64 text or
    bytes."""
    head = _bytes(data, _HEAD)
    size = _png(head) or _gif(head) or _webp(head)
    if size is None and head[:2] == b"\xff\xd8":
        for length in _JPEG_HEADS:
            if (size := _jpeg(_bytes(data, length))) or len(data) <= length:
                break
    return size if size and size[0] > 0 and size[1] > 0 else None


def _bytes(data: str | bytes, length: int) -> bytes:
    if isinstance(data, bytes):
        return data[:length]
    head = "".join(data[:length].split()).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    try:
        return binascii.a2b_base64(head[: len(head) // 4 * 4])
    except ValueError:
        return b""


def _png(head: bytes) -> tuple[int, int] | None:
    if head[:8] != b"\x89PNG\r\n\x1a\n" or len(head) < 24:
        return None
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def _gif(head: bytes) -> tuple[int, int] | None:
    if head[:6] not in (b"GIF87a", b"GIF89a") or len(head) < 10:
        return None
    return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")


def _webp(head: bytes) -> tuple[int, int] | None:
    if head[:4] != b"RIFF" or head[8:12] != b"WEBP" or len(head) < 30:
        return None
    match head[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 ":
            return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    return None


def _jpeg(head: bytes) -> tuple[int, int] | None:
    offset = 2
    while offset + 9 <= len(head):
        if head[offset] != 0xFF:
            return None
        marker = head[offset + 1]
        if marker == 0xFF:
            offset += 1
        elif marker in _FRAMES:
            return int.from_bytes(head[offset + 7 : offset + 9], "big"), int.from_bytes(head[offset + 5 : offset + 7], "big")
        elif marker == 0x01 or 0xD0 <= marker <= 0xD8:
            offset += 2
        else:
            offset += 2 + int.from_bytes(head[offset + 2 : offset + 4], "big")
    return None
