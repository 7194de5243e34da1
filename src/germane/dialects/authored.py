"""Authored: what a caller's message or dict holds beside germane's own text (INJECT-5).

germane's text stands in a system text, or in front of a user's words: there nothing is left of it. With `quotes` it is also
left out of the midst of anybody's words, of tool results and of a call's arguments, where a marker stands for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from germane.dialects.envelope import mapping
from germane.text.injected import authors_words, system_words, without_injected, without_injected_json
from germane.types.message import Message, Opaque, Part, Text, ToolCall, ToolResult

__all__ = ["Cut", "authored", "authored_dict", "cut_dict", "cut_message"]

Cut = Callable[[str, bool, bool], str]
"""Returns what stays of a text, "" to take it out of its message. The second argument says whether it is the system's, the
third whether it is the last text of its message."""


def authored(message: Message, *, quotes: bool = False) -> Message | None:
    """Returns the message without germane's text, the same object where it holds none; None where nothing is left."""
    cut = cut_message(message, _cut) if message.role in ("system", "user") else message
    return cut if cut is None or not quotes else _unquoted(cut)


def authored_dict(raw: Mapping[str, Any], role: str, *, quotes: bool = False) -> Mapping[str, Any]:
    """Returns the dict of a message with this role likewise, as JSON where it has `quotes`. Texts are empty where nothing is
    left."""
    if role in ("system", "user"):
        cut = cut_dict(raw, _cut, system=role == "system")
        raw = {key: [] if key == "parts" else "" if key == "content" else raw[key] for key in raw} if cut is None else cut
    return without_injected_json(raw) if quotes else raw


def cut_message(message: Message, cut: Cut) -> Message | None:
    """Returns the message with its text parts cut; the same object where nothing is cut, None where nothing is left."""
    kept: list[Part] = []
    last = len(message.parts) - 1
    for index, part in enumerate(message.parts):
        if not isinstance(part, Text) or (text := cut(part.text, message.role == "system", index == last)) == part.text:
            kept.append(part)
        elif text:
            kept.append(Text(text))
    if len(kept) == len(message.parts) and all(one is other for one, other in zip(kept, message.parts, strict=True)):
        return message
    return replace(message, parts=tuple(kept)) if kept else None


def cut_dict(fields: Mapping[str, Any], cut: Cut, *, system: bool) -> Mapping[str, Any] | None:
    """Returns the dict with its texts cut likewise."""
    name = "parts" if "parts" in fields else "content"
    content = fields.get(name)
    if isinstance(content, str):
        text = cut(content, system, True)
        return fields if text == content else {**fields, name: text} if text else None
    blocks: list[Any] = []
    given = list(content or ())
    for index, block in enumerate(given):
        said = block if isinstance(block, str) else (mapping(block) or {}).get("text")
        own = cut(said, system, index == len(given) - 1) if isinstance(said, str) else None
        if own is None or own == said:
            blocks.append(block)
        elif own:
            blocks.append(own if isinstance(block, str) else {**(mapping(block) or {}), "text": own})
    if len(blocks) == len(given) and all(one is other for one, other in zip(blocks, given, strict=True)):
        return fields
    return {**fields, name: blocks} if blocks else None


def _cut(text: str, system: bool, last: bool) -> str:
    return system_words(text) if system else authors_words(text, last=last)


def _unquoted(message: Message) -> Message:
    parts = tuple(map(_unquoted_part, message.parts))
    same = all(one is other for one, other in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=parts)


def _unquoted_part(part: Part) -> Part:
    match part:
        case Text(text) if (cut := without_injected(text)) is not text:
            return Text(cut)
        case ToolCall(arguments=text) if (cut := without_injected(text)) is not text:
            return replace(part, arguments=cut, raw=None)
        case ToolResult(text=text) | Opaque(text=text) if (cut := without_injected(text)) is not text:
            return replace(part, text=cut)
    return part
