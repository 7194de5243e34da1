"""Ceiling: what a request costs at most, from the size of its texts alone. For when counting takes too long or fails: a
hundred times quicker than counting, and four times too much for plain English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from germane.catalog.measure import message_tokens, tools_tokens
from germane.catalog.profile import Profile
from germane.ports.tokenizer import Tokenizer
from germane.types.budget import Budget, allocate
from germane.types.message import Message, Text

__all__ = ["Ceiling", "at_most", "light"]

_LIGHT = 20_000
"""Characters up to which counting a whole request takes well under a millisecond."""
_FEW = 500
"""Messages, likewise."""
_SAMPLE = "x" * 64
_LEAST_SAFETY = 0.05


class Ceiling:
    """A token a byte of UTF-8: no vocabulary needs more."""

    __slots__ = ()

    name = "bytes (ceiling)"
    exact = False

    def count(self, text: str) -> int:
        return _bytes(text)

    def ceiling(self, text: str) -> int:
        return _bytes(text)


def light(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> bool:
    """Whether counting it costs next to nothing."""
    if tools or len(messages) > _FEW:
        return False
    room = _LIGHT
    for part in (part for message in messages for part in message.parts):
        if not isinstance(part, Text) or (room := room - len(part.text)) < 0:
            return False
    return True


def at_most(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],
    profile: Profile,
    tokenizer: Tokenizer,
    cap: int,
    *,
    shaping: int = 0,
) -> Budget:
    """As `measure`, with every text at its ceiling: nothing is counted, and what is available is never too much."""
    rate = tokenizer.ceiling(_SAMPLE) / len(_SAMPLE)
    size, plain, others = 0, 0, 0
    for message in messages:
        parts = message.parts
        if len(parts) == 1 and type(part := parts[0]) is Text and message.name is None:
            size += _bytes(part.text)
            plain += 1
        else:
            others += message_tokens(message, profile, tokenizer.ceiling)
    return allocate(
        window=profile.window,
        max_output=profile.max_output,
        messages=profile.per_request + plain * (profile.per_message + 1) + int(rate * size) + others,
        tools=tools_tokens(tools, profile, tokenizer.ceiling),
        safety_fraction=max(profile.safety, _LEAST_SAFETY),
        cap=cap,
        overhead=2 * profile.per_message + shaping,
    )


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else 4 * len(text)
