"""Merging: turns of one role in a row made one, for providers whose conversations alternate and begin with the user's.

Two dicts of the caller's own in a row stay two: providers that alternate join them themselves, and they are the caller's.
Only answers to one exchange of tool calls are joined whoever brought them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["WireMessage", "merged"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireMessage:
    """A turn in the provider's shape: `native` where it is the caller's own dict, `answers` where it holds tool results."""

    role: str
    parts: list[Any]
    native: Mapping[str, Any] | None = field(default=None, hash=False)
    answers: bool = False


def merged(turns: Sequence[WireMessage], key: str, start: list[dict[str, Any]]) -> list[Any]:
    """Messages with their parts under `key`; empty turns are left out, and a user's turn of `start` goes first where the
    conversation doesn't begin with one."""
    runs: list[list[WireMessage]] = []
    for turn in turns:
        if not turn.parts:
            continue
        before = runs[-1][-1] if runs else None
        if (
            before
            and before.role == turn.role
            and not (before.native and turn.native and not (before.answers and turn.answers))
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
