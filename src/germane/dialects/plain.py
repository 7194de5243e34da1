"""Plain: a fast path for messages that are a dict of role and text only, as most are.

Every dialect reads such dicts alike, and OpenAI's sends them unchanged, so thousands of them needn't be parsed and written one
by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from germane.dialects.openai_chat import OpenAIChat
from germane.types.message import Message, Text

__all__ = ["plain", "plain_message", "sent"]

_OWN_KEYS = ("id", "created_at")
_ROLES = ("system", "user", "assistant")


def plain(raw: object) -> bool:
    """Returns whether `raw` is a dict of exactly a role that all dialects know and a text."""
    return type(raw) is dict and len(raw) == 2 and type(raw.get("content")) is str and raw.get("role") in _ROLES


def plain_message(raw: dict[str, Any]) -> Message:
    """Reads a plain dict."""
    text = raw["content"]
    return Message(role=raw["role"], parts=(Text(text),) if text else ())


def sent(raws: Iterable[object], provider: str) -> list[dict[str, Any]] | None:
    """Returns the messages to send, if all of `raws` are plain apart from germane's own keys (`id`, `created_at`) and the
    provider accepts them so: the same dicts, or copies without these keys. None where the dialect must write them."""
    if provider != OpenAIChat.name:
        return None
    out: list[dict[str, Any]] = []
    for raw in raws:
        if type(raw) is not dict:
            return None
        if not plain(raw):
            raw = {key: value for key, value in raw.items() if key not in _OWN_KEYS}
            if not plain(raw):
                return None
        out.append(raw)
    return out
