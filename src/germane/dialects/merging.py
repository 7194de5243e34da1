"""Merging: joins consecutive messages of one role, for providers that require alternating roles.

Conversations with these providers also start with the user: a message of the user's is put in front where one is missing. Two
consecutive dicts of the caller's stay separate: they belong to the caller, and these providers join them themselves. An
exception are the calls and the results of one exchange of tool calls, which must be in one message each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ProviderMessage", "merge_by_role"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderMessage:
    """A message in the provider's shape. `native` is set where it is the caller's own dict; `answers` says whether it holds
    tool results, `joins` whether it belongs to the message before."""

    role: str
    parts: list[Any]
    native: Mapping[str, Any] | None = field(default=None, hash=False)
    answers: bool = False
    joins: bool = False


def merge_by_role(turns: Sequence[ProviderMessage], key: str, start: list[dict[str, Any]]) -> list[Any]:
    """Returns the provider's messages, with their parts under `key`. Empty messages are left out. A user's message with the
    parts `start` comes first where the conversation doesn't begin with one of the user's."""
    runs: list[list[ProviderMessage]] = []
    for turn in turns:
        if not turn.parts:
            continue
        before = runs[-1][-1] if runs else None
        if (
            before
            and before.role == turn.role
            and not (before.native and turn.native and not turn.joins and not (before.answers and turn.answers))
        ):
            runs[-1].append(turn)
        else:
            runs.append([turn])
    out: list[Any] = []
    if not runs or runs[0][0].role != "user":
        out.append({"role": "user", key: start})
    for run in runs:
        if len(run) == 1 and run[0].native is not None:
            out.append(run[0].native)
        else:
            out.append({"role": run[0].role, key: [part for turn in run for part in turn.parts]})
    return out
