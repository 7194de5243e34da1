"""Payload: the cost of a part that germane passes on unread: its JSON, plus a price for each base64 payload and for a file that
is only named.

No provider counts the letters of a payload, and none says beforehand what a document costs. A PDF costs a price a page by
the model's figures, and 1 token for 32 bytes for its text; where its pages can't be told, one is assumed for 25 kB. Other
documents are taken at 1 token for 16 bytes, sound and video at 1 token for 100 bytes (32 tokens a second at 3 kB a second). A
payload costs at least 256 and at most 400,000 tokens (the largest documents that providers accept). A file behind a URI or an
id has the price that the model's figures say.
"""

from __future__ import annotations

import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from germane.catalog.figures import figures

__all__ = ["WrittenObject", "split_payloads", "written"]

_PAYLOAD = re.compile(r"(?:data:[\w.+-]++/[\w.+-]++(?:;(?!base64,)[\w=.+-]++)*+;base64,)?[A-Za-z0-9+/_=\s-]{1024,}+")
_TIMED = ("audio", "video")
_PDF = "JVBERi0"
"""The beginning of every PDF in base64."""
_LINKS = ("fileUri", "file_uri", "file_id", "file_url", "audio_url", "document_url", "video_url")
_PAGE = re.compile(rb"/Type\s*/Page\b")
_COUNT = re.compile(rb"/Count\s+(\d{1,5})\b")
_LOOKED_AT = 1 << 20
"""Characters at each end of a PDF in which its pages are counted; a multiple of four."""
_URL_SAFE = str.maketrans("-_", "+/", " \t\r\n")
_MIN_TOKENS, _MAX_TOKENS = 256, 400_000


def split_payloads(raw: Mapping[str, Any], media: str = "") -> tuple[str, int]:
    """Returns the JSON of `raw` without its payloads, and the price of these payloads, or of the file that it names, in tokens.
    `media` are the model's figures."""
    payloads: list[_Payload] = []
    text = written(_without(raw, payloads, 0))
    known = figures(media)
    if not payloads:
        return text, known.get(kind, 0) if (kind := _named_file(raw, text)) else 0
    rate = 100 if any(word in text for word in _TIMED) else 16
    pdf = "application/pdf" in text
    page = known.get("page", 0)
    prices = (_pdf(each, page) if pdf or each.is_pdf else each.size // rate for each in payloads)
    return text, sum(min(_MAX_TOKENS, max(_MIN_TOKENS, tokens)) for tokens in prices)


class _Payload(NamedTuple):
    """The bytes that a payload encodes, and its beginning and its end as they are given."""

    size: int
    data: str | bytes

    @property
    def is_pdf(self) -> bool:
        start = self.data[:8]
        return start.startswith(_PDF) if isinstance(start, str) else start.startswith(b"%PDF-")


def _pdf(payload: _Payload, page: int) -> int:
    return page * _pages(payload) + payload.size // 32


def _pages(payload: _Payload) -> int:
    """The pages of a PDF as its own tree of pages counts them, at least one; newer files may hide the tree."""
    held = payload.data
    ends = (held,) if len(held) <= 2 * _LOOKED_AT else (held[:_LOOKED_AT], held[-_LOOKED_AT:])
    told = 0
    for each in ends:
        if isinstance(each, str):
            try:
                each = binascii.a2b_base64(each.translate(_URL_SAFE) + "=" * (-len(each) % 4))
            except ValueError:
                continue
        told = max(told, len(_PAGE.findall(each)), *(int(count) for count in _COUNT.findall(each)))
    return told or max(1, payload.size // 25_000)


def _named_file(raw: Mapping[str, Any], text: str) -> str:
    """Returns the kind of the file that the part names by a URI or an id; '' where it names none."""
    if raw.get("type") == "container_upload":
        return ""
    inner = [each for each in raw.values() if isinstance(each, Mapping)]
    source = raw.get("source")
    linked = isinstance(source, Mapping) and source.get("type") in ("url", "file")
    if not linked and not any(holder.get(key) for holder in (raw, *inner) for key in _LINKS):
        return ""
    return next((kind for kind in _TIMED if kind in text), "video" if "youtu" in text else "pdf")


class WrittenObject(dict[str, Any]):
    """A dict with its JSON, for what is large: it is written once, however often it is counted. Isn't to be changed."""

    __slots__ = ("json",)

    def __init__(self, value: Mapping[str, Any]) -> None:
        super().__init__(value)
        self.json = written(value)


def written(value: Any) -> str:
    """Returns `value` as JSON. A value that isn't serialisable (cycles, deep nesting, odd keys) gives its keys and values in a
    row. Never raises."""
    if isinstance(value, WrittenObject):
        return value.json
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return _flat(value)


def _without(value: Any, payloads: list[_Payload], depth: int) -> Any:
    if isinstance(value, str):
        if value.startswith(_PDF) or (len(value) >= 1024 and " " not in value[:1024] and _PAYLOAD.fullmatch(value)):
            start = value.index(",") + 1 if value.startswith("data:") else 0
            payloads.append(_Payload(len(value) * 3 // 4, value[start:] if start else value))
            return value[: start - 1] if start else ""
        return value
    if isinstance(value, bytes | bytearray):
        payloads.append(_Payload(len(value), bytes(value)))
        return ""
    if depth > 50:
        return _flat(value)
    if isinstance(value, Mapping):
        return {str(key): _without(item, payloads, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without(item, payloads, depth + 1) for item in value]
    return value


def _flat(value: Any) -> str:
    """Returns all keys and values, each container once, without recursion."""
    words: list[str] = []
    seen: set[int] = set()
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, Mapping | list | tuple):
            if id(item) not in seen:
                seen.add(id(item))
                rest.extend(item)
                rest.extend(item.values() if isinstance(item, Mapping) else ())
        else:
            words.append(str(item))
    return ", ".join(words)
