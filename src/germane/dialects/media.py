"""Media: documents and recordings in a neutral form for any provider, and the size of pictures."""

from __future__ import annotations

import binascii
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from germane.types.message import Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """At most one of `data` (base64) and `url` is set; `text` is the content itself where it is known. With none of them the
    provider stores the file, and another provider gets only `note`."""

    media_type: str
    data: str = ""
    url: str = ""
    text: str = ""
    name: str = ""

    @property
    def note(self) -> str:
        """A text that stands in for the attachment: its kind, its name and, if known, its content."""
        kind = (
            "audio" if self.media_type.startswith("audio/") else "video" if self.media_type.startswith("video/") else "document"
        )
        shown = self.name or self.url
        if self.text:
            return f"[{kind}{f': {shown}' if shown else ''}]\n{self.text}"
        return f"[{kind}: {shown}]" if shown else f"[{kind}]"


def attachment(part: Opaque) -> Attachment | None:
    """Returns the part as an attachment; None where it is something else (a thought, a server-side tool, an unknown part)."""
    raw = part.raw
    match raw.get("type"):
        case "input_audio":
            audio = _object(raw, "input_audio")
            return Attachment(media_type=f"audio/{_text(audio, 'format') or 'wav'}", data=_text(audio, "data"))
        case "file":
            file = _object(raw, "file")
            media, data = data_url(_text(file, "file_data")) or ("application/pdf", "")
            return Attachment(media_type=media, data=data, name=_text(file, "filename"))
        case "input_file":
            media, data = data_url(_text(raw, "file_data")) or ("application/pdf", "")
            return Attachment(media_type=media, data=data, url=_text(raw, "file_url"), name=_text(raw, "filename"))
        case "document":
            return _document(part)
        case "audio_url" | "document_url" | "video_url" as kind:
            return _at_url(raw, kind)
        case "search_result" | "resource":
            return Attachment(media_type="text/plain", text=part.text)
        case None:
            return _blob(part)
    return None


def _at_url(raw: Mapping[str, Any], kind: str) -> Attachment:
    """A part of a gateway's: a URL, or an object with one."""
    url = _text(raw, kind) or _text(_object(raw, kind), "url")
    usual = {"audio_url": "audio/mpeg", "video_url": "video/mp4"}.get(kind, "application/pdf")
    if (inline := data_url(url)) is not None:
        return Attachment(media_type=inline[0], data=inline[1])
    return Attachment(media_type=mimetypes.guess_type(url.partition("?")[0])[0] or usual, url=url)


def _document(part: Opaque) -> Attachment:
    raw = part.raw
    source = _object(raw, "source")
    media = _text(source, "media_type") or "application/pdf"
    name = _text(raw, "title")
    match source.get("type"):
        case "base64":
            return Attachment(media_type=media, data=_text(source, "data"), name=name)
        case "url":
            return Attachment(media_type=media, url=_text(source, "url"), name=name)
        case "text":
            return Attachment(media_type="text/plain", text=_text(source, "data"), name=name)
        case "content":
            return Attachment(media_type="text/plain", text=part.text)
    return Attachment(media_type=media, name=name)


def _blob(part: Opaque) -> Attachment | None:
    raw = part.raw
    if inline := _object(raw, "inlineData", "inline_data"):
        media = _text(inline, "mimeType", "mime_type")
        return Attachment(media_type=media, data=_text(inline, "data"), text=part.text)
    if file := _object(raw, "fileData", "file_data"):
        return Attachment(media_type=_text(file, "mimeType", "mime_type"), url=_text(file, "fileUri", "file_uri"))
    if part.kind == "openai:audio" and part.text:
        return Attachment(media_type="audio/wav", text=part.text)
    return None


def _object(raw: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    return next((raw[key] for key in keys if isinstance(raw.get(key), Mapping)), {})


def _text(raw: Mapping[str, Any], *keys: str) -> str:
    return next((raw[key] for key in keys if isinstance(raw.get(key), str)), "")


# Width and height of a picture, read from its header: PNG's IHDR, GIF's logical screen descriptor, WebP's VP8, VP8L or
# VP8X chunk, and JPEG's first start-of-frame segment, which is looked for in the first 384 KB. Nothing else is decoded.


_HEAD_BYTES = 64
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
    head = _bytes(data, _HEAD_BYTES)
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
