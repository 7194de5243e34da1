"""Prefix: how much of each prompt begins as the one before it did: what a provider's prompt cache could reuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Call", "Reuse", "common", "prompt", "reuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call that had another before it in its session, in tokens. `own` is the prompt without anything of germane's."""

    conversation: str
    prompt: int
    common: int
    own: int
    own_common: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """Shares of all the tokens of all calls, [0, 1]: `share` with germane's text in the prompts, `own` without any."""

    calls: int
    share: float
    own: float


def prompt(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """A request in OpenAI's shape as it reads from top to bottom, a text a message."""
    return [f"{message.get('role')} {message.get('name') or ''}\n{_text(message)}\n" for message in messages]


def common(before: Sequence[str], after: Sequence[str]) -> str:
    """What both begin with, to the character."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    rest = _beginning(before[same], after[same]) if same < min(len(before), len(after)) else ""
    return "".join(after[:same]) + rest


def reuse(calls: Sequence[Call]) -> Reuse | None:
    """None for no calls."""
    if not calls:
        return None
    share = sum(call.common for call in calls) / sum(call.prompt for call in calls)
    own = sum(call.own_common for call in calls) / sum(call.own for call in calls)
    return Reuse(calls=len(calls), share=share, own=own)


def _beginning(one: str, two: str) -> str:
    """Found by halving: comparing slices is quicker than walking along."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return one[:low]


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", part)) if isinstance(part, Mapping) else str(part) for part in content or ())
