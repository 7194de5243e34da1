"""Task shares: how much of the budget the frames of a task stack get, and which of them are shortened for that (TASK-2).

The root goal gets 5 % of the budget, the tasks above the current one 15 %, results 10 %, and the current task 10 %. Within a
group the tokens are shared out evenly, and what a short line doesn't need goes to the longer ones, of which the beginning is
shown. Where not even a few words of each fit, the least important lines are left out, with the reason `task_share`. In a
budget below 480 tokens, 5 % is less than a line: there the root goal may take 24 tokens, and the tasks above the current one
get that much less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType
from typing import NamedTuple

from germane.pipeline.pack.budget_state import BudgetState
from germane.pipeline.pack.cost import Layout
from germane.types.candidate import Candidate, LeftOut, Scored

__all__ = ["TASK_SHARES", "FittedTask", "fit_tasks", "is_task", "place_tasks"]

TASK_SHARES: Mapping[str, int] = MappingProxyType({"task_current": 10, "task_root": 5, "task_above": 15, "task_result": 10})
"""The percentage of the budget that the frames of each role get at most. The first line pays for the header."""
_LEAST, _LEAST_OF_RESULT = 10, 24
"""Tokens: less of a frame, and of a result, says too little."""
_ROOT_LINE = 24
"""Tokens that the root goal may take in a small budget, at the expense of the tasks above the current one."""
_MIN_CHARACTERS = 8
"""Characters of a frame's text that a shortened line keeps at least, beside its first words."""
_MAX_GUESSES = 14


class FittedTask(NamedTuple):
    """A frame that goes in: what is written of it, the share of its text that this is, and its tokens."""

    item: Scored
    text: str
    share: float
    tokens: int


def is_task(candidate: Candidate) -> bool:
    """Whether the candidate is a frame of the stack, which has a share of its own."""
    return candidate.source == "tasks" and any(kind in TASK_SHARES for kind in candidate.kinds)


def fit_tasks(items: Sequence[Scored], available: int, layout: Layout) -> tuple[list[FittedTask], list[LeftOut]]:
    """Returns the frames that go in, within the shares of a budget of `available` tokens, and those left out. The first line
    also pays for the section's header."""
    fitted, out, opened = list[FittedTask](), list[LeftOut](), frozenset[str]()
    room = _rooms(available)
    for role in TASK_SHARES:
        group = sorted((item for item in items if role in item.candidate.kinds), key=lambda item: _importance(item, role))
        for item, allowance in _allowances(group, room[role], opened, layout):
            line = None if allowance is None else _line(item, allowance, opened, layout)
            if line is None:
                out.append(LeftOut(scored=item, reason="task_share", tokens=_cost(item, item.candidate.text, opened, layout)))
                continue
            fitted.append(line)
            opened |= {layout.group(item.candidate)}
    return fitted, out


def _rooms(available: int) -> dict[str, int]:
    """The tokens of each role."""
    rooms = {role: available * percent // 100 for role, percent in TASK_SHARES.items()}
    lent = max(0, min(_ROOT_LINE - rooms["task_root"], rooms["task_above"]))
    return rooms | {"task_root": rooms["task_root"] + lent, "task_above": rooms["task_above"] - lent}


def place_tasks(state: BudgetState, items: Sequence[Scored], available: int, layout: Layout) -> None:
    """Adds the frames that go in to `state`, and the others to what it refused."""
    fitted, out = fit_tasks(items, available, layout)
    state.refused += out
    for item, text, share, tokens in fitted:
        refusal = "budget" if tokens > state.tokens_left else state.usage.refusal(item.candidate, text, tokens)
        if refusal is not None:
            state.refused.append(LeftOut(scored=item, reason=refusal, tokens=tokens))
        else:
            state.add(item, text, share, tokens)


def _importance(item: Scored, role: str) -> int:
    """The nearest of the frames above is the most important one, and the latest of the results."""
    return -item.candidate.position if role == "task_above" else item.candidate.position


def _allowances(group: Sequence[Scored], room: int, opened: frozenset[str], layout: Layout) -> list[tuple[Scored, int | None]]:
    """Each item with the tokens that it may take; None for one that there is no room for. The most important come first."""
    if not group:
        return []
    first = group[0].candidate
    header = 0 if layout.group(first) in opened else layout.header(first)
    left = room - header
    costs = [layout.cost(item.candidate, item.candidate.text) for item in group]
    least = _LEAST_OF_RESULT if group[0].candidate.kinds[-1] == "task_result" else _LEAST
    count = sum(needed <= left for needed in accumulate(min(cost, least) for cost in costs))
    allowed = [0] * count
    waiting = sorted(range(count), key=costs.__getitem__)
    for done, index in enumerate(waiting):
        allowed[index] = min(costs[index], left // (count - done))
        left -= allowed[index]
    most = [allowance + (header if place == 0 else 0) for place, allowance in enumerate(allowed)]
    return [*zip(group, most, strict=False), *((item, None) for item in group[count:])]


def _line(item: Scored, allowance: int, opened: frozenset[str], layout: Layout) -> FittedTask | None:
    text = item.candidate.text
    whole = _cost(item, text, opened, layout)
    if whole <= allowance:
        return FittedTask(item, text, 1.0, whole)
    shown = _beginning(text, allowance, lambda part: _cost(item, part, opened, layout))
    if shown is None:
        return None
    return FittedTask(item, shown, (len(shown) - 1) / len(text), _cost(item, shown, opened, layout))


def _cost(item: Scored, text: str, opened: frozenset[str], layout: Layout) -> int:
    header = 0 if layout.group(item.candidate) in opened else layout.header(item.candidate)
    return header + layout.cost(item.candidate, text)


def _beginning(text: str, allowance: int, cost: Callable[[str], int]) -> str | None:
    """The longest beginning that costs at most `allowance` tokens, nearly, with `…` at its end; None where too little fits. The
    first words, up to the colon, say what the line is and don't count."""
    least = text.find(":") + 1 + _MIN_CHARACTERS
    fitting, high, best = least - 1, min(len(text), 16 * allowance), None
    for _ in range(_MAX_GUESSES):
        guess = (fitting + high + 1) // 2
        if not fitting < guess <= high:
            break
        shown = _cut(text, guess)
        if cost(shown) <= allowance:
            fitting, best = guess, shown
        else:
            high = guess - 1
    return best


def _cut(text: str, length: int) -> str:
    """The first characters of the text, up to the end of a word where one is near, with a mark."""
    part = text[:length]
    if length < len(text) and not text[length].isspace() and (end := part.rfind(" ")) > 0.7 * length:
        part = part[:end]
    return f"{part.rstrip()}…"
