"""Returned: takes germane's own text out of a request whose caller keeps `context.messages` as its history (INJECT-6).

The text is recognised by the session's nonce. Otherwise it would stand in the prompt twice: as the caller's, and as the text
that stays at its turn. What is the caller's own stays: its system text beside germane's, and a human's words that quote
germane's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from germane.dialects.envelope import mapping
from germane.dialects.registry import parse_all
from germane.pipeline.inject.recognise import injected
from germane.types.message import Message, Part, Text
from germane.types.request import Request

__all__ = ["own_words", "without_returned"]


def without_returned(request: Request, nonce: str) -> Request:
    """Returns the request without germane's text; the same object where it holds none."""
    if not any(_holds(message, nonce) for message in request.messages):
        return request
    raws: list[Mapping[str, Any] | Message] = []
    messages: list[Message] = []
    for raw, message in zip(request.raw, request.messages, strict=True):
        cut: Mapping[str, Any] | Message | None = raw
        if _holds(message, nonce):
            fields = None if isinstance(raw, Message) else mapping(raw)
            cut = _cut(message, nonce) if fields is None else _cut_fields(fields, message.role == "system", nonce)
        if cut is raw:
            raws.append(raw)
            messages.append(message)
        elif cut is not None:
            raws.append(cut)
            messages += parse_all([cut], request.provider)
    return replace(request, raw=tuple(raws), messages=tuple(messages))


def own_words(text: str, nonce: str) -> str:
    """Returns a system text without germane's elements: those with the nonce, and a directive right before such a one. An
    element whose end is missing is cut to the end of the text."""
    mark, pieces, start = f'nonce="{nonce}"', list[str](), 0
    while (found := text.find(mark, start)) >= 0:
        opening = max(start, text.rfind("<", start, found))
        name = text[opening + 1 : found].strip()
        before = text[start:opening]
        if name == "notice" and before.rstrip().endswith("</directive>"):
            before = before[: max(0, before.rfind("<directive>"))]
        pieces.append(before.strip("\n"))
        closing = text.find(f"</{name}>", found)
        start = len(text) if closing < 0 else closing + len(name) + 3
    return "\n\n".join(filter(None, (*pieces, text[start:].strip("\n"))))


def _holds(message: Message, nonce: str) -> bool:
    return message.role in ("system", "user") and injected(message.content, nonce)


def _cut(message: Message, nonce: str) -> Message | None:
    kept: list[Part] = []
    for index, part in enumerate(message.parts):
        if not isinstance(part, Text):
            kept.append(part)
        elif text := _cut_text(part.text, message.role == "system", index == len(message.parts) - 1, nonce):
            kept.append(Text(text))
    return replace(message, parts=tuple(kept)) if kept else None


def _cut_fields(fields: Mapping[str, Any], system: bool, nonce: str) -> Mapping[str, Any] | None:
    name = "parts" if "parts" in fields else "content"
    content = fields.get(name)
    if isinstance(content, str):
        text = _cut_text(content, system, True, nonce)
        return fields if text == content else {**fields, name: text} if text else None
    blocks: list[Any] = []
    given = list(content or ())
    for index, block in enumerate(given):
        said = block if isinstance(block, str) else (mapping(block) or {}).get("text")
        own = _cut_text(said, system, index == len(given) - 1, nonce) if isinstance(said, str) else None
        if own is None or own == said:
            blocks.append(block)
        elif own:
            blocks.append(own if isinstance(block, str) else {**block, "text": own})
    if len(blocks) == len(given) and all(one is other for one, other in zip(blocks, given, strict=True)):
        return fields
    return {**fields, name: blocks} if blocks else None


def _cut_text(text: str, system: bool, last: bool, nonce: str) -> str:
    """The part of a message that stays: of a system message the caller's words, of a user's all but germane's own parts, the
    last of which is always the human's."""
    if not injected(text, nonce):
        return text
    if system:
        return own_words(text, nonce)
    return text if last else ""
