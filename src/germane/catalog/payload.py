"""Payload: the cost of a part that germane passes on unread, its JSON plus a price for each base64 payload.

No provider counts the letters of a payload, and none says beforehand what a document costs. The rates are upper assumptions:
1 token for 16 bytes of a document (a text page is 4 to 6 kB of PDF at 300 tokens, a scanned page 50 kB at 3,000), 1 token for
100 bytes of sound or video (32 tokens a second at 3 kB a second). A payload costs at least 256 and at most 400,000 tokens (the
largest documents that providers accept).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["WrittenObject", "split_payloads", "written"]

_PAYLOAD = re.compile(r"(?:data:[\w.+-]++/[\w.+-]++(?:;(?!base64,)[\w=.+-]++)*+;base64,)?[A-Za-z0-9+/_=\s-]{1024,}+")
_TIMED = ("audio", "video")
_MIN_TOKENS, _MAX_TOKENS = 256, 400_000


def split_payloads(raw: Mapping[str, Any]) -> tuple[str, int]:
    """Returns the JSON of `raw` without its payloads, and the price of these payloads in tokens."""
    sizes: list[int] = []
    text = written(_without(raw, sizes, 0))
    if not sizes:
        return text, 0
    rate = 100 if any(word in text for word in _TIMED) else 16
    return text, sum(min(_MAX_TOKENS, max(_MIN_TOKENS, size // rate)) for size in sizes)


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


def _without(value: Any, sizes: list[int], depth: int) -> Any:
    if isinstance(value, str):
        if len(value) >= 1024 and " " not in value[:1024] and _PAYLOAD.fullmatch(value):
            sizes.append(len(value) * 3 // 4)
            return value[: value.index(",")] if value.startswith("data:") else ""
        return value
    if isinstance(value, bytes | bytearray):
        sizes.append(len(value))
        return ""
    if depth > 50:
        return _flat(value)
    if isinstance(value, Mapping):
        return {str(key): _without(item, sizes, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without(item, sizes, depth + 1) for item in value]
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
