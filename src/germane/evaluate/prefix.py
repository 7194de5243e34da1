"""Prefix: the share of each prompt that a provider's prompt cache can reuse from the previous one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["ReplayedCall", "Reuse", "common_prefix", "message_text", "prefix_reuse", "prompt_texts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedCall:
    """Token counts of one call that follows another in its session. `prompt` is the whole prompt and `common` its prefix shared
    with the previous one; `own` and `own_common` are the same without germane's text."""

    conversation: str
    prompt: int
    common: int
    own: int
    own_common: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reuse:
    """The reusable share of all prompt tokens of `calls` calls, [0, 1]: `share` with germane's text in the prompts, `own`
    without it."""

    calls: int
    share: float
    own: float


def prompt_texts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The text of each message of a request in OpenAI's shape, in order."""
    return [f"{message.get('role')} {message.get('name') or ''}\n{message_text(message)}\n" for message in messages]


def message_text(message: Mapping[str, Any]) -> str:
    """The text of a message in OpenAI's shape."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", part)) if isinstance(part, Mapping) else str(part) for part in content or ())


def common_prefix(before: Sequence[str], after: Sequence[str]) -> str:
    """The longest common beginning of the two concatenated texts, in characters."""
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    rest = _beginning(before[same], after[same]) if same < min(len(before), len(after)) else ""
    return "".join(after[:same]) + rest


def prefix_reuse(calls: Sequence[ReplayedCall]) -> Reuse | None:
    """The reuse over all calls; None where there are none."""
    if not calls:
        return None
    share = sum(call.common for call in calls) / sum(call.prompt for call in calls)
    own = sum(call.own_common for call in calls) / sum(call.own for call in calls)
    return Reuse(calls=len(calls), share=share, own=own)


def _beginning(one: str, two: str) -> str:
    """The longest common beginning of two texts, by bisection: comparing slices is quicker than a loop over characters."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return one[:low]
