"""Anthropic system: the system prompt of a Messages request, and system messages in the middle where the model takes them.

The API takes a system message only behind a user's message, as the last one or before the assistant's, and never two in a row.
One that stands elsewhere is moved behind the user's words that follow it; where none follow, it joins the system prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from germane.dialects.anthropic_check import blank, may_stand
from germane.dialects.dialect import OutgoingMessage
from germane.dialects.envelope import mapping
from germane.dialects.pairing import close_orphans
from germane.dialects.wording import sendable
from germane.types.message import Message

__all__ = ["behind_the_user", "placed", "write_system"]


def behind_the_user(turns: Iterable[OutgoingMessage]) -> list[OutgoingMessage]:
    """Returns the turns with each run of system messages as one, behind the user's turns that follow it."""
    out: list[OutgoingMessage] = []
    waiting: list[OutgoingMessage] = []
    for turn in turns:
        if turn.message.role == "system":
            waiting.append(turn)
            continue
        if turn.message.role == "assistant":
            out += _joined(waiting)
            waiting = []
        out.append(turn)
    return out + _joined(waiting)


def placed(messages: Sequence[Any]) -> tuple[list[Any], list[OutgoingMessage]]:
    """Returns the messages without system messages that the API refuses where they stand, and these, for the system prompt."""
    kept: list[Any] = []
    rest: list[OutgoingMessage] = []
    for index, message in enumerate(messages):
        if message["role"] != "system" or may_stand(messages, index):
            kept.append(message)
        else:
            content = message["content"]
            text = content if isinstance(content, str) else ""
            rest.append(OutgoingMessage(message=Message.of("system", text), native=message))
    return kept, rest


def write_system(turns: Sequence[OutgoingMessage], cache_mark: bool) -> str | list[dict[str, Any]] | None:
    """Returns all system texts in order: as one string, or as a list of blocks where the caller's system is such a list or a
    cache mark is set. `cache_mark` says whether the request may hold another one. Where the caller's blocks have marks,
    germane's text stands behind them, so that the provider's cache keeps them: it differs from session to session."""
    pieces: list[list[Any]] = []
    last: list[Any] = []
    listed = False
    for turn in turns:
        content = turn.native.get("content") if turn.native is not None else None
        if isinstance(content, list | tuple):
            listed = True
            pieces.append(list(content))
        elif not blank(text := close_orphans(turn).message.text):
            mark = {"cache_control": {"type": "ephemeral"}} if turn.pinned and cache_mark and not turn.changing else {}
            listed = listed or bool(mark)
            block = {"type": "text", "text": sendable(text), **mark}
            if turn.changing or turn.pinned:
                last = [block]
            else:
                pieces.append([block])
    blocks = [block for piece in pieces for block in piece]
    blocks = [*blocks, *last] if any(_is_marked(block) for block in blocks) else [*last, *blocks]
    if listed:
        return blocks
    return "\n\n".join(block["text"] for block in blocks) or None


def _is_marked(block: object) -> bool:
    return "cache_control" in (mapping(block) or {})


def _joined(turns: Sequence[OutgoingMessage]) -> list[OutgoingMessage]:
    """Returns system messages in a row as one, without blank ones; a single one stays the caller's own dict."""
    full = [turn for turn in turns if turn.native is not None or not blank(close_orphans(turn).message.text)]
    if len(full) < 2:
        return full
    blocks: list[Any] = []
    for turn in full:
        content = (turn.native or {}).get("content")
        text = {"type": "text", "text": sendable(close_orphans(turn).message.text)}
        blocks += content if isinstance(content, list | tuple) else [text]
    native: Mapping[str, Any] = {"role": "system", "content": blocks}
    return [replace(full[0], native=native)]
