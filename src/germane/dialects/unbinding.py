"""Unbinding: takes the thinking out of a message that its provider would refuse because something before it has changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from germane.dialects.envelope import mapping
from germane.dialects.opaque import prefix_bound
from germane.types.message import Message, Opaque

__all__ = ["unbound"]

_BOUND = ("thinking", "redacted_thinking")


def unbound(raw: Mapping[str, Any] | Message) -> Mapping[str, Any] | Message | None:
    """Returns the message without Anthropic's thinking, whole blocks, all others unchanged; `raw` itself where it has none, and
    None where nothing else is in it. See `prefix_bound` for when the provider refuses thinking."""
    if isinstance(raw, Message):
        parts = tuple(part for part in raw.parts if not (isinstance(part, Opaque) and prefix_bound(part)))
        return raw if len(parts) == len(raw.parts) else replace(raw, parts=parts) if parts else None
    content = raw.get("content")
    if not isinstance(content, list | tuple) or raw.get("role") != "assistant":
        return raw
    kept = [block for block in content if (mapping(block) or {}).get("type") not in _BOUND]
    return raw if len(kept) == len(content) else {**raw, "content": kept} if kept else None
