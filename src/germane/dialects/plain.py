"""Plain: dicts of a role and a text and nothing else, as most conversations are. Every dialect reads them alike, and the one
that keeps system messages among the others sends them as they are: thousands of them need no look each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from germane.dialects.openai_chat import OpenAIChat
from germane.types.message import Message, Text

__all__ = ["plain", "plain_message", "sent"]

_OWN = ("id", "created_at")
_ROLES = ("system", "user", "assistant")


def plain(raw: object) -> bool:
    """Whether this is a dict of a role that all know and a text."""
    return type(raw) is dict and len(raw) == 2 and type(raw.get("content")) is str and raw.get("role") in _ROLES


def plain_message(raw: dict[str, Any]) -> Message:
    """A plain dict, read."""
    text = raw["content"]
    return Message(role=raw["role"], parts=(Text(text),) if text else ())


def sent(raws: Iterable[object], provider: str) -> list[dict[str, Any]] | None:
    """What goes out of these dicts, in this order, where the provider takes each as it stands, germane's own keys aside: the
    same objects, and copies where there was such a key. None where they have to be looked at."""
    if provider != OpenAIChat.name:
        return None
    out: list[dict[str, Any]] = []
    for raw in raws:
        if type(raw) is not dict:
            return None
        if not plain(raw):
            raw = {key: value for key, value in raw.items() if key not in _OWN}
            if not plain(raw):
                return None
        out.append(raw)
    return out
