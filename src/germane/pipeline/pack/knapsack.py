"""Knapsack: the most value that fits, proven, or the best found in the time there was and how far off it can be.

Partial packings grow item by item, all of them at once. Dropped are those that no longer fit, those that another beats with
no more room taken, and those that can't beat the best known even at the relaxation's prices (`prices.py`). Before that the
same bound settles most items one by one: what is hopeless goes, what is indispensable is in. Items go by how much their
decision costs when it is wrong, dearest first, so wrong ones die at once and few packings are ever alive.

When more are alive than there is effort for, the least promising are given up, and the best that one of them could have become
is the bound that is stated. Without that, the answer is optimal and the gap is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from germane.pipeline.pack.prices import Floats, Ints, Knapsack, Priced, prices

__all__ = ["EFFORT", "Solution", "solve"]

EFFORT = 100_000
_NARROW = 8
"""Partial packings that are kept alive however little effort there is."""

_SAME = 1e-9
"""Sums of values that differ by less are the same."""
_FILL = 256
"""Items that are tried, best first, for a first answer."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """`picked` are items' indices, ascending; no packing is worth more than `bound`."""

    picked: tuple[int, ...]
    value: float
    bound: float

    @property
    def gap(self) -> float:
        """0 where `picked` is proven optimal."""
        return max(0.0, self.bound - self.value)


def solve(
    sack: Knapsack, *, start: Sequence[int] = (), effort: int = EFFORT, stop: Callable[[], bool] = lambda: False
) -> Solution:
    """The best that fits in every limit, never worse than `start` where that fits.

    `effort` is about how many partial packings may be looked at, some 0.2 µs each; the answer is the same for the same numbers
    in the same order. `stop` is asked at every item and ends the search with what there is: for a deadline, at the price of
    that sameness.
    """
    fits = (sack.uses + sack.headers[:, sack.group] <= sack.room[:, None]).all(axis=0) & (sack.values > 0)
    at = np.flatnonzero(fits)
    given = np.flatnonzero(np.isin(at, start))
    if not len(at):
        return Solution(picked=(), value=0.0, bound=0.0)
    sack = sack.without(~fits)
    if (sack.used(np.arange(len(at))) <= sack.room).all():
        value = float(sack.values.sum())
        return Solution(picked=tuple(at.tolist()), value=value, bound=value)
    relaxed = prices(sack)
    first = _first(sack, relaxed)
    if (sack.used(given) <= sack.room).all() and sack.values[given].sum() > sack.values[first].sum():
        first = given
    out, kept = _settled(relaxed, sack.group, float(sack.values[first].sum()))
    search = _Search(sack, relaxed, first, np.flatnonzero(kept), effort)
    lost = search.run(np.flatnonzero(~out & ~kept), stop)
    best = np.sort(search.best)
    value = float(sack.values[best].sum())
    bound = value if lost <= value + _SAME else min(lost, relaxed.bound)
    return Solution(picked=tuple(at[best].tolist()), value=value, bound=max(value, bound))


def _first(sack: Knapsack, relaxed: Priced) -> Ints:
    """A first answer: what the relaxation takes, then what it nearly takes, each as long as it fits."""
    share = relaxed.worth / (1.0 + sack.uses[0])
    order = np.lexsort((-share, ~relaxed.taken))[:_FILL]
    left, opened, picked = sack.room.copy(), set[int](), []
    groups = sack.group.tolist()
    for item in order.tolist():
        need = sack.uses[:, item] if groups[item] in opened else sack.uses[:, item] + sack.headers[:, groups[item]]
        if (need <= left).all():
            left -= need
            opened.add(groups[item])
            picked.append(item)
    return np.array(picked, dtype=np.int64)


def _settled(relaxed: Priced, group: Ints, known: float) -> tuple[Bools, Bools]:
    """Items that are in no better packing than the known one, and items that are in every one."""
    gain = np.maximum(relaxed.worth, 0.0)
    whole = relaxed.groups[group]
    rest = relaxed.bound - np.maximum(whole, 0.0)
    taking = rest + whole - gain + relaxed.worth
    leaving = rest + np.maximum(whole - gain, 0.0)
    return taking <= known + _SAME, leaving <= known + _SAME


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One item to decide on. `header` is None where it is paid for, `ahead` what the rest is worth at the prices at most, to a
    packing in which the item's group is open and to one in which it isn't; `last` of its group; `later` (limits,) what all
    later items and the headers that may still be paid for use."""

    item: int
    header: Ints | None
    ahead: tuple[float, float]
    last: bool
    later: Ints


class _Search:
    """Partial packings side by side: `used` (limits, packings), `value`, `worth` at the prices, and whether the group at hand
    is `open` (packings,). What each came from is kept step by step, to read a packing back."""

    def __init__(self, sack: Knapsack, relaxed: Priced, first: Ints, kept: Ints, effort: int) -> None:
        self._sack, self._relaxed, self._kept, self._effort = sack, relaxed, kept, effort
        self._paid = set(sack.group[kept].tolist())
        self._used = sack.used(kept).reshape(-1, 1)
        self._value = np.array([float(sack.values[kept].sum())])
        self._worth = self._value - relaxed.prices @ self._used
        self._open = np.zeros(1, dtype=np.bool_)
        self._trail: list[tuple[int, Ints, Bools]] = []
        self._brim = float(relaxed.prices @ sack.room)
        self._known = float(sack.values[first].sum())
        self.best = first

    def run(self, undecided: Ints, stop: Callable[[], bool]) -> float:
        """The bound of what was given up unseen, 0 if nothing was; the best is in `best`."""
        lost = 0.0
        if (self._used[:, 0] > self._sack.room).any():
            return lost
        self._note(self._value)
        steps = self._steps(undecided)
        self._width = max(_NARROW, self._effort // max(1, len(steps)))
        hopes = self._relaxed.bound
        for step in steps:
            if not self._value.size:
                break
            if stop():
                return max(lost, hopes)
            lost = max(lost, self._grow(step))
            hopes = self._brim + float((self._worth + np.where(self._open, *step.ahead)).max(initial=-np.inf))
        return lost

    def _grow(self, step: _Step) -> float:
        """Every packing with the item and without it, thinned out. The best bound of what was given up, 0 if nothing was."""
        sack, price = self._sack, self._relaxed.prices
        used, worth = self._used + sack.uses[:, [step.item]], self._worth + self._relaxed.worth[step.item]
        if step.header is not None:
            closed = ~self._open
            used = used + step.header[:, None] * closed
            worth = worth - float(price @ step.header) * closed
        with_, without = step.ahead[0], np.where(self._open, *step.ahead)
        least = self._known + _SAME - self._brim
        fits = (used <= sack.room[:, None]).all(axis=0) & (worth + with_ > least)
        stays = self._worth + without > least
        taken, skipped = np.flatnonzero(fits), np.flatnonzero(stays)
        value = np.concatenate([self._value[taken] + sack.values[step.item], self._value[skipped]])
        came = np.concatenate([taken, skipped])
        took = np.arange(len(came)) < len(taken)
        self._trail.append((step.item, came, took))
        self._note(value)
        opened = np.concatenate([np.full(len(taken), not step.last), self._open[skipped] & (not step.last)])
        used = np.concatenate([used[:, taken], self._used[:, skipped]], axis=1)
        worth = np.concatenate([worth[taken], self._worth[skipped]])
        kept = self._unbeaten(used, value, opened, step.later)
        lost = 0.0
        if len(kept) > self._width:
            hopes = worth[kept] + np.where(opened[kept], *step.ahead)
            order = np.argsort(-hopes, kind="stable")
            lost = self._brim + float(hopes[order[self._width]])
            kept = kept[np.sort(order[: self._width])]
        self._used, self._value, self._worth, self._open = used[:, kept], value[kept], worth[kept], opened[kept]
        self._trail[-1] = (step.item, came[kept], took[kept])
        return lost

    def _unbeaten(self, used: Ints, value: Floats, opened: Bools, later: Ints) -> Ints:
        """Those that no other beats with at most as many tokens, where both can be continued alike."""
        binding = used[1:] + later[1:, None] > self._sack.room[1:, None]
        alike = [opened, *(row * still for row, still in zip(used[1:], binding, strict=True) if still.any())]
        order = np.lexsort((-value, used[0], *alike))
        sorted_ = value[order]
        block = np.zeros(len(order))
        for row in alike:
            block[1:] += row[order][1:] != row[order][:-1]
        height = np.cumsum(block > 0) * (1.0 + (float(value.max()) if len(value) else 0.0))
        best = np.maximum.accumulate(sorted_ + height)
        kept = np.ones(len(order), dtype=np.bool_)
        kept[1:] = sorted_[1:] + height[1:] > best[:-1] + _SAME / 2
        return order[kept]

    def _note(self, value: Floats) -> None:
        """Every partial packing is a packing: the best of them may be the best so far."""
        if not len(value):
            return
        at = int(value.argmax())
        if value[at] <= self._known + _SAME:
            return
        self._known = float(value[at])
        picked = self._kept.tolist()
        for item, came, took in reversed(self._trail):
            if took[at]:
                picked.append(item)
            at = int(came[at])
        self.best = np.array(picked, dtype=np.int64)

    def _steps(self, undecided: Ints) -> list[_Step]:
        """The dearest decisions first; items of a group whose header isn't paid for stay together."""
        worth, group = self._relaxed.worth, self._sack.group
        loose = [int(item) for item in undecided if int(group[item]) in self._paid]
        units = [(abs(float(worth[item])), [item], False) for item in loose]
        for number in dict.fromkeys(group[undecided].tolist()):
            if number not in self._paid:
                members = sorted(np.flatnonzero(group[undecided] == number).tolist())
                items = sorted((int(undecided[at]) for at in members), key=lambda item: -abs(float(worth[item])))
                units.append((abs(float(self._relaxed.groups[number])), items, True))
        units.sort(key=lambda unit: -unit[0])
        steps: list[_Step] = []
        ahead, later = 0.0, np.zeros_like(self._sack.room)
        for _, items, closed in reversed(units):
            header = self._sack.headers[:, group[items[0]]] if closed else None
            fee = float(self._relaxed.prices @ header) if header is not None else 0.0
            inside = 0.0
            later = later if header is None else later + header  # it may still have to be paid for, up to the group's last item
            for place, item in enumerate(reversed(items)):
                hopes = (ahead + inside, ahead + max(0.0, inside - fee))
                steps.append(_Step(item=item, header=header, ahead=hopes, last=place == 0, later=later))
                inside += max(0.0, float(worth[item]))
                later = later + self._sack.uses[:, item]
            ahead += max(0.0, inside - fee)
        return steps[::-1]
