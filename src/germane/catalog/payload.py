"""What a part costs that germane carries without reading it: its JSON, with base64 payloads priced by what they hold.

No provider counts the letters of a payload, and none says what a document costs before reading it; the rates here are upper
assumptions: documents 1 token for 16 bytes (a text page of 4 to 6 kB of PDF at 300 tokens, a scanned one of 50 kB at 3,000),
sound and video 1 for 100 bytes (32 tokens a second at 3 kB a second). At least 256, at most 400,000 (the largest documents
that providers take).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["split_payloads", "written"]

_PAYLOAD = re.compile(r"(?:data:[\w.+-]++/[\w.+-]++(?:;(?!base64,)[\w=.+-]++)*+;base64,)?[A-Za-z0-9+/_=\s-]{1024,}+")
_TIMED = ("audio", "video")
_LEAST, _MOST = 256, 400_000


def split_payloads(raw: Mapping[str, Any]) -> tuple[str, int]:
    """The JSON of `raw` with payloads left out, and the tokens of those payloads."""
    sizes: list[int] = []
    text = written(_without(raw, sizes, 0))
    if not sizes:
        return text, 0
    rate = 100 if any(word in text for word in _TIMED) else 16
    return text, sum(min(_MOST, max(_LEAST, size // rate)) for size in sizes)


def written(value: Any) -> str:
    """`value` as JSON; what can't be (cycles, bottomless nests, odd keys) as its words in a row. Never raises."""
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
    """Keys and values, each thing once, without recursion."""
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
