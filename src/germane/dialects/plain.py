"""Plain: dicts of a role and a text and nothing else, as most conversations are. Every dialect reads them alike, and the one
that keeps system messages among the others sends them as they are: thousands of them need no look each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from germane.dialects.openai_chat import OpenAIChat
from germane.message import Message, Text

__all__ = ["plain", "plain_message", "sent_as_they_are"]

_ROLES = ("system", "user", "assistant")


def plain(raw: object) -> bool:
    """Whether this is a dict of a role that all know and a text."""
    return type(raw) is dict and len(raw) == 2 and type(raw.get("content")) is str and raw.get("role") in _ROLES


def plain_message(raw: dict[str, Any]) -> Message:
    """A plain dict, read."""
    text = raw["content"]
    return Message(role=raw["role"], parts=(Text(text),) if text else ())


def sent_as_they_are(raws: Iterable[object], provider: str) -> bool:
    """Whether the provider takes these dicts as they stand, in this order, with nothing to be done to any."""
    return provider == OpenAIChat.name and all(map(plain, raws))
