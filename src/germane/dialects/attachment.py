"""Attachment: a document or recording in a neutral form, so that one provider's can be sent to another."""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from germane.dialects.image_size import data_url
from germane.types.message import Opaque

__all__ = ["Attachment", "attachment"]


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
