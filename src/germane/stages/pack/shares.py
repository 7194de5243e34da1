"""Shares: what each cap has left as items go in (BUD-6), and the share of the task stack (TASK-2).

Caps limit kinds, sources and the total. `CapUsage` counts the caps, and `BudgetState` the tokens of one packing. `fit_tasks`
gives the frames of a task stack their part of the budget.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from types import MappingProxyType
from typing import Literal, NamedTuple

from germane.stages.pack.greedy import Layout
from germane.types.candidate import Candidate, Chosen, LeftOut, Reason, Scored
from germane.types.strategy import Cap, Shares

Measure = Literal["items", "chars", "tokens"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemainingCap:
    """What one cap has left (`room`, in units of `measure`), and which of some candidates count against it."""

    measure: Measure
    room: int
    members: Sequence[bool]


class CapUsage:
    """How much of each cap the items that went in have used. Mutable; lives for one packing.

    A kind's cap is hard. A source's share limits the source only while the others may still need theirs: with `lenient` set,
    a source may use what the others left over, unless its share is 0.
    """

    def __init__(
        self,
        shares: Shares,
        available: int,
        *,
        size: Callable[[Candidate, str], int] = lambda _, text: len(text),
        wrapper: Callable[[], int] = lambda: 0,
    ) -> None:
        """`size` returns the characters that a candidate takes when this text of it is shown, `wrapper` those around all."""
        self._shares, self._size, self._wrapper = shares, size, wrapper
        self._available = available
        self._items: dict[str, int] = defaultdict(int)
        self._chars: dict[str, int] = defaultdict(int)
        self._tokens: dict[str, int] = defaultdict(int)
        self.lenient = not shares.sources
        self._unlimited = not (shares.sources or shares.kinds) and shares.total == Cap()
        self._measures_chars = any(cap.chars is not None for cap in (shares.total, *shares.kinds.values()))
        self._chars["total"] = wrapper() if shares.total.chars else 0

    def copy(self) -> CapUsage:
        """An independent copy, to try a packing on."""
        other = CapUsage(self._shares, self._available, size=self._size, wrapper=self._wrapper)
        other._items, other._chars, other._tokens = self._items.copy(), self._chars.copy(), self._tokens.copy()
        other.lenient = self.lenient
        return other

    def size(self, candidate: Candidate, text: str) -> int:
        """Characters that the candidate takes when this text of it is shown."""
        return self._size(candidate, text)

    def refusal(self, candidate: Candidate, text: str, tokens: int) -> Reason | None:
        """Why this text of the candidate may not go in now; None if it may."""
        if self._unlimited:
            return None
        size = self._size(candidate, text) if self._measures_chars else 0
        if self._exceeds(self._shares.total, "total", size, tokens):
            return "budget"
        for kind in self._kinds(candidate):
            cap = self._shares.kinds.get(kind)
            if cap is not None and self._exceeds(cap, f"kind:{kind}", size, tokens):
                return "kind_cap"
        source = self._source(candidate)
        share = self._shares.sources.get(source)
        if share is None:
            return None
        allowed = self._available if self.lenient else int(self._available * share / 100)
        taken = self._tokens[f"source:{source}"] + tokens
        return "source_cap" if share == 0 or taken > allowed else None

    def add(self, candidate: Candidate, text: str, tokens: int) -> None:
        """Counts an item that goes in."""
        if self._unlimited:
            return
        size = self._size(candidate, text) if self._measures_chars else 0
        for group in ("total", f"source:{self._source(candidate)}", *(f"kind:{kind}" for kind in self._kinds(candidate))):
            self._items[group] += 1
            self._chars[group] += size
            self._tokens[group] += tokens

    def chars_left(self, candidate: Candidate) -> int | None:
        """The characters that the candidate may take when shown; None where no cap limits them."""
        if not self._measures_chars:
            return None
        kinds = [(f"kind:{kind}", self._shares.kinds.get(kind)) for kind in self._kinds(candidate)]
        caps = [(group, cap.chars) for group, cap in (("total", self._shares.total), *kinds) if cap is not None]
        return min((chars - self._chars[group] for group, chars in caps if chars is not None), default=None)

    def extend(self, candidate: Candidate, before: str, after: str, tokens: int) -> bool:
        """Counts that an item which is already in grows from one text to another, for this many tokens more, if its caps allow
        it; returns whether they do."""
        groups = ("total", f"source:{self._source(candidate)}", *(f"kind:{kind}" for kind in self._kinds(candidate)))
        caps = (self._shares.total, *(self._shares.kinds.get(kind) for kind in self._kinds(candidate)))
        chars = self._size(candidate, after) - self._size(candidate, before) if self._measures_chars else 0
        for group, cap in zip((groups[0], *groups[2:]), caps, strict=True):
            if cap is not None and (
                (cap.chars is not None and self._chars[group] + chars > cap.chars)
                or (cap.tokens is not None and self._tokens[group] + tokens > cap.tokens)
            ):
                return False
        for group in groups:
            self._chars[group] += chars
            self._tokens[group] += tokens
        return True

    def remaining(self, candidates: Sequence[Candidate]) -> Iterator[RemainingCap]:
        """Every cap that `refusal` would hold against one of these candidates, with what it has left now."""
        everyone = [True] * len(candidates)
        yield from self._remaining(self._shares.total, "total", everyone)
        kinds = [self._kinds(candidate) for candidate in candidates]
        for kind, cap in self._shares.kinds.items():
            yield from self._remaining(cap, f"kind:{kind}", [kind in own for own in kinds])
        for source, share in self._shares.sources.items():
            if not self.lenient or share == 0:
                room = int(self._available * share / 100) - self._tokens[f"source:{source}"]
                members = [self._source(candidate) == source for candidate in candidates]
                yield RemainingCap(measure="tokens" if share else "items", room=room if share else 0, members=members)

    def _remaining(self, cap: Cap, group: str, members: Sequence[bool]) -> Iterator[RemainingCap]:
        if not any(members):
            return
        closed = 0 in (cap.items, cap.chars, cap.tokens)
        if closed or cap.items is not None:
            room = 0 if closed else (cap.items or 0) - self._items[group]
            yield RemainingCap(measure="items", room=room, members=members)
        if cap.chars is not None:
            yield RemainingCap(measure="chars", room=cap.chars - self._chars[group], members=members)
        if cap.tokens is not None:
            yield RemainingCap(measure="tokens", room=cap.tokens - self._tokens[group], members=members)

    def _exceeds(self, cap: Cap, group: str, size: int, tokens: int) -> bool:
        after = (
            (cap.items, self._items[group] + 1),
            (cap.chars, self._chars[group] + size),
            (cap.tokens, self._tokens[group] + tokens),
        )
        return any(limit is not None and (limit == 0 or used > limit) for limit, used in after)

    def _source(self, candidate: Candidate) -> str:
        """The source whose percentage the candidate counts against."""
        return self._shares.source_pools.get(candidate.source, candidate.source)

    def _kinds(self, candidate: Candidate) -> tuple[str, ...]:
        """The kinds whose caps the candidate counts against."""
        pools = self._shares.pools
        return tuple(dict.fromkeys(pools.get(kind, kind) for kind in (candidate.category, *candidate.kinds)))


class BudgetState:
    """Mutable; lives for one packing. `untried` are items whose turn didn't come before the budget was spent. `gap` is how much
    more value could have gone in at most, where items were chosen together."""

    __slots__ = ("chosen", "gap", "refused", "tokens_left", "untried", "usage")

    def __init__(self, tokens_left: int, usage: CapUsage) -> None:
        self.tokens_left, self.usage = tokens_left, usage
        self.chosen: list[Chosen] = []
        self.refused: list[LeftOut] = []
        self.untried: list[Scored] = []
        self.gap = 0.0

    def copy(self) -> BudgetState:
        """An independent copy, to try a packing on."""
        other = BudgetState(self.tokens_left, self.usage.copy())
        other.chosen, other.refused, other.untried = self.chosen.copy(), self.refused.copy(), self.untried.copy()
        other.gap = self.gap
        return other

    def add(self, item: Scored, text: str, share: float, tokens: int) -> None:
        """Puts an item in: its `text`, the fraction of the original that it is, and its tokens."""
        self.usage.add(item.candidate, text, tokens)
        self.tokens_left -= tokens
        self.chosen.append(Chosen(item, text, tokens, share))


# The root goal gets 5 % of the budget, the tasks above the current one 15 %, results 10 %, and the current task 10 %.
# Within a group the tokens are shared out evenly, and what a short line doesn't need goes to the longer ones, of which
# the beginning is shown. If not even a few words of each fit, the least important lines are left out, with the reason
# `task_share`. In a budget below 480 tokens, 5 % is less than a line: there the root goal may take 24 tokens, and the
# tasks above the current one get that much less.


TASK_SHARES: Mapping[str, int] = MappingProxyType({"task_current": 10, "task_root": 5, "task_above": 15, "task_result": 10})
"""The percentage of the budget that the frames of each role get at most. The first line pays for the header."""
_MIN_FRAME_TOKENS, _MIN_RESULT_TOKENS = 10, 24
"""Tokens: less of a frame, and of a result, says too little."""
_ROOT_TOKENS = 24
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
    room = _tokens_by_role(available)
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


def _tokens_by_role(available: int) -> dict[str, int]:
    """The tokens of each role."""
    rooms = {role: available * percent // 100 for role, percent in TASK_SHARES.items()}
    lent = max(0, min(_ROOT_TOKENS - rooms["task_root"], rooms["task_above"]))
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
    least = _MIN_RESULT_TOKENS if group[0].candidate.kinds[-1] == "task_result" else _MIN_FRAME_TOKENS
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
