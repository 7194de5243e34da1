"""Masking: puts one line in the place of tool results, in a caller's own dict or in a parsed message (HIST-5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from germane.dialects.registry import dialect_of
from germane.types.message import Image, Message, Opaque, Part, ToolResult

__all__ = ["masked"]


def masked(raw: Mapping[str, Any] | Message, lines: Mapping[int, str], prefer: str) -> Mapping[str, Any] | Message:
    """Returns a copy of the message in which the tool results with these numbers hold only their line; see `Dialect.mask`.

    A dict stays in its own dialect, `prefer` where that can't be told. In a `Message` of role `tool`, images and opaque parts
    that follow a masked result belong to it and go."""
    if not isinstance(raw, Message):
        return dialect_of(raw, prefer).mask(raw, lines)
    parts, number, within, changed = list[Part](), 0, False, False
    for part in raw.parts:
        if isinstance(part, ToolResult):
            within = number in lines
            if within:
                part, changed = replace(part, text=lines[number]), True
            number += 1
        elif within and raw.role == "tool" and isinstance(part, Image | Opaque):
            continue
        else:
            within = False
        parts.append(part)
    return replace(raw, parts=tuple(parts)) if changed else raw
