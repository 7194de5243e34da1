"""Recognise: germane's own text when it comes back in a conversation, so that it is never stored as new evidence (INJECT-5).

The nonce tells: every text germane injects carries `nonce="…"` with the secret of its session, which nobody else can know
beforehand. Only what is germane's alone is removed: a system message, or a text part that stands before the human's own. A
human who quotes germane's text in words of their own keeps them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.types.message import Message, Part, Text

__all__ = ["injected", "without_injected"]


def injected(text: str, nonce: str) -> bool:
    """Whether `text` is, or holds, what germane injected under `nonce`."""
    return bool(nonce) and f'nonce="{nonce}"' in text


def without_injected(messages: Sequence[Message], nonce: str) -> tuple[Message, ...]:
    """`messages` without germane's system messages and without its text in the human's turns; the others are the same
    objects. A turn nothing else was in goes with it."""
    return tuple(kept for message in messages if (kept := _kept(message, nonce)) is not None)


def _kept(message: Message, nonce: str) -> Message | None:
    if message.role not in ("system", "user"):
        return message
    last = len(message.parts) - 1 if message.role == "user" else -1
    kept = tuple(part for at, part in enumerate(message.parts) if at == last or not _own(part, nonce))
    if len(kept) == len(message.parts):
        return message
    return replace(message, parts=kept) if kept else None


def _own(part: Part, nonce: str) -> bool:
    return isinstance(part, Text) and injected(part.text, nonce)
