"""Recognise: finds germane's own text in a conversation, so that it isn't stored as evidence (INJECT-5).

Every text that germane injects has `nonce="…"` with the nonce of the session, which nobody else can know beforehand. Only text
of germane's alone is removed: a system message, or a text part before the human's own. The human's own text is kept even where
it quotes germane's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.types.message import Message, Part, Text

__all__ = ["injected", "without_injected"]


def injected(text: str, nonce: str) -> bool:
    """Whether `text` contains text that germane injected with this nonce; False for an empty nonce."""
    return bool(nonce) and f'nonce="{nonce}"' in text


def without_injected(messages: Sequence[Message], nonce: str) -> tuple[Message, ...]:
    """`messages` without germane's system messages and without its text parts in user messages; a message that has nothing
    else is removed. Unchanged messages stay the same objects."""
    return tuple(kept for message in messages if (kept := _kept(message, nonce)) is not None)


def _kept(message: Message, nonce: str) -> Message | None:
    """The message without germane's parts, None if nothing is left. The last part of a user message is the human's own."""
    if message.role not in ("system", "user"):
        return message
    last = len(message.parts) - 1 if message.role == "user" else -1
    kept = tuple(part for index, part in enumerate(message.parts) if index == last or not _is_injected(part, nonce))
    if len(kept) == len(message.parts):
        return message
    return replace(message, parts=kept) if kept else None


def _is_injected(part: Part, nonce: str) -> bool:
    return isinstance(part, Text) and injected(part.text, nonce)
