"""Knapsack: solves a packing problem exactly, or returns the best packing found and a bound on the rest.

Dynamic programming over partial packings, all grown side by side, item by item. A partial packing is dropped when it doesn't
fit, when another one beats it without using more, or when its upper bound at the relaxation's prices (`Relaxation`) doesn't
beat the best packing known. Before the search, the same bound decides most items alone: hopeless items are removed,
indispensable items are put in. The other items are decided in the order of what a wrong decision would cost, dearest first,
so that wrong partial packings are dropped at once and only few are ever alive.

When more partial packings are alive than `effort` allows, the least promising are given up, and the largest of their upper
bounds becomes the bound that is stated. If none was given up, the answer is optimal and the gap is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

EFFORT = 100_000
"""Default number of partial packings that a search may look at."""
_MIN_WIDTH = 8
"""Partial packings that are kept alive however little effort there is."""
_EPSILON = 1e-9
"""Sums of values that differ by less are equal."""
_MAX_FIRST = 256
"""Items that are tried, best first, for a first answer."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """`picked` are the indices of the items taken, ascending; no packing is worth more than `bound`."""

    picked: tuple[int, ...]
    value: float
    bound: float

    @property
    def gap(self) -> float:
        """0 where `picked` is proven optimal."""
        return max(0.0, self.bound - self.value)


def solve(
    knapsack: Knapsack, *, start: Sequence[int] = (), effort: int = EFFORT, stop: Callable[[], bool] = lambda: False
) -> Solution:
    """The best packing that fits every limit, never worth less than `start` where that fits.

    `effort` is about how many partial packings may be looked at, some 0.2 µs each. The answer is deterministic: the same for
    the same numbers in the same order. `stop` is called at every item; when it returns True the search ends with the best
    packing so far. It serves deadlines, and makes the answer depend on time.
    """
    fits = (knapsack.uses + knapsack.headers[:, knapsack.group] <= knapsack.room[:, None]).all(axis=0) & (knapsack.values > 0)
    indices = np.flatnonzero(fits)
    given = np.flatnonzero(np.isin(indices, start))
    if not len(indices):
        return Solution(picked=(), value=0.0, bound=0.0)
    knapsack = knapsack.without(~fits)
    if (knapsack.used(np.arange(len(indices))) <= knapsack.room).all():
        value = float(knapsack.values.sum())
        return Solution(picked=tuple(indices.tolist()), value=value, bound=value)
    relaxed = tightest(knapsack)
    first = _first_answer(knapsack, relaxed)
    if (knapsack.used(given) <= knapsack.room).all() and knapsack.values[given].sum() > knapsack.values[first].sum():
        first = given
    out, kept = _decided(relaxed, knapsack.group, float(knapsack.values[first].sum()))
    search = _Search(knapsack, relaxed, first, np.flatnonzero(kept), effort)
    lost = search.run(np.flatnonzero(~out & ~kept), stop)
    best = np.sort(search.best)
    value = float(knapsack.values[best].sum())
    bound = value if lost <= value + _EPSILON else min(lost, relaxed.bound)
    return Solution(picked=tuple(indices[best].tolist()), value=value, bound=max(value, bound))


def _first_answer(knapsack: Knapsack, relaxed: Relaxation) -> Ints:
    """A greedy first answer: the items that the relaxation takes, then those it nearly takes, each if it fits."""
    share = relaxed.reduced / (1.0 + knapsack.uses[0])
    order = np.lexsort((-share, ~relaxed.taken))[:_MAX_FIRST]
    left, opened, picked = knapsack.room.copy(), set[int](), []
    groups = knapsack.group.tolist()
    for item in order.tolist():
        need = knapsack.uses[:, item] if groups[item] in opened else knapsack.uses[:, item] + knapsack.headers[:, groups[item]]
        if (need <= left).all():
            left -= need
            opened.add(groups[item])
            picked.append(item)
    return np.array(picked, dtype=np.int64)


def _decided(relaxed: Relaxation, group: Ints, known: float) -> tuple[Bools, Bools]:
    """Which items are in no packing better than the known one, and which are in all of them; two arrays (items,)."""
    gain = np.maximum(relaxed.reduced, 0.0)
    whole = relaxed.groups[group]
    rest = relaxed.bound - np.maximum(whole, 0.0)
    taking = rest + whole - gain + relaxed.reduced
    leaving = rest + np.maximum(whole - gain, 0.0)
    return taking <= known + _EPSILON, leaving <= known + _EPSILON


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One item to decide on.

    `header` (limits,) is None where it is paid for already. `ahead` is an upper bound on what the items after this one add at
    the prices: first for a packing in which this item's group is open, then for one in which it isn't. `last` marks the last
    item of its group. `later` (limits,) is what all later items and the headers that may still be paid for use.
    """

    item: int
    header: Ints | None
    ahead: tuple[float, float]
    last: bool
    later: Ints


class _Search:
    """The partial packings alive: what they have `used` (limits, packings), their `value`, their `reduced` value at the prices,
    and whether the current group is `open` in them (packings,). `_trail` records step by step which packing each one came from,
    so that its items can be read back."""

    def __init__(self, knapsack: Knapsack, relaxed: Relaxation, first: Ints, kept: Ints, effort: int) -> None:
        self._knapsack, self._relaxed, self._kept, self._effort = knapsack, relaxed, kept, effort
        self._paid = set(knapsack.group[kept].tolist())
        self._used = knapsack.used(kept).reshape(-1, 1)
        self._value = np.array([float(knapsack.values[kept].sum())])
        self._reduced = self._value - relaxed.prices @ self._used
        self._open = np.zeros(1, dtype=np.bool_)
        self._trail: list[tuple[int, Ints, Bools]] = []
        self._full = float(relaxed.prices @ knapsack.room)
        self._known = float(knapsack.values[first].sum())
        self.best = first

    def run(self, undecided: Ints, stop: Callable[[], bool]) -> float:
        """Runs the search; `best` is the best packing afterwards. Returns the largest bound of the partial packings given up,
        0 if none was."""
        lost = 0.0
        if (self._used[:, 0] > self._knapsack.room).any():
            return lost
        self._keep_best(self._value)
        steps = self._steps(undecided)
        self._width = max(_MIN_WIDTH, self._effort // max(1, len(steps)))
        upper = self._relaxed.bound
        for step in steps:
            if not self._value.size:
                break
            if stop():
                return max(lost, upper)
            lost = max(lost, self._grow(step))
            upper = self._full + float((self._reduced + np.where(self._open, *step.ahead)).max(initial=-np.inf))
        return lost

    def _grow(self, step: _Step) -> float:
        """Continues each partial packing with the item and without it, and thins them out. Returns the largest bound of those
        given up for want of effort, 0 if none was."""
        knapsack, price = self._knapsack, self._relaxed.prices
        used, reduced = self._used + knapsack.uses[:, [step.item]], self._reduced + self._relaxed.reduced[step.item]
        if step.header is not None:
            closed = ~self._open
            used = used + step.header[:, None] * closed
            reduced = reduced - float(price @ step.header) * closed
        ahead_open, ahead = step.ahead[0], np.where(self._open, *step.ahead)
        threshold = self._known + _EPSILON - self._full
        fits = (used <= knapsack.room[:, None]).all(axis=0) & (reduced + ahead_open > threshold)
        stays = self._reduced + ahead > threshold
        taken, skipped = np.flatnonzero(fits), np.flatnonzero(stays)
        value = np.concatenate([self._value[taken] + knapsack.values[step.item], self._value[skipped]])
        parents = np.concatenate([taken, skipped])
        took = np.arange(len(parents)) < len(taken)
        self._trail.append((step.item, parents, took))
        self._keep_best(value)
        opened = np.concatenate([np.full(len(taken), not step.last), self._open[skipped] & (not step.last)])
        used = np.concatenate([used[:, taken], self._used[:, skipped]], axis=1)
        reduced = np.concatenate([reduced[taken], self._reduced[skipped]])
        kept = self._unbeaten(used, value, opened, step.later)
        lost = 0.0
        if len(kept) > self._width:
            upper = reduced[kept] + np.where(opened[kept], *step.ahead)
            order = np.argsort(-upper, kind="stable")
            lost = self._full + float(upper[order[self._width]])
            kept = kept[np.sort(order[: self._width])]
        self._used, self._value, self._reduced, self._open = used[:, kept], value[kept], reduced[kept], opened[kept]
        self._trail[-1] = (step.item, parents[kept], took[kept])
        return lost

    def _unbeaten(self, used: Ints, value: Floats, opened: Bools, later: Ints) -> Ints:
        """Indices of the partial packings that no other one beats with at most as many tokens. Only packings that can be
        continued in the same ways are compared: same group open, same use of every other limit that can still bind."""
        binding = used[1:] + later[1:, None] > self._knapsack.room[1:, None]
        alike = [opened, *(row * still for row, still in zip(used[1:], binding, strict=True) if still.any())]
        order = np.lexsort((-value, used[0], *alike))
        ordered = value[order]
        block = np.zeros(len(order))
        for row in alike:
            block[1:] += row[order][1:] != row[order][:-1]
        height = np.cumsum(block > 0) * (1.0 + (float(value.max()) if len(value) else 0.0))
        best = np.maximum.accumulate(ordered + height)
        kept = np.ones(len(order), dtype=np.bool_)
        kept[1:] = ordered[1:] + height[1:] > best[:-1] + _EPSILON / 2
        return order[kept]

    def _keep_best(self, value: Floats) -> None:
        """Keeps the most valuable partial packing, which is a packing too, if it is the best so far."""
        if not len(value):
            return
        index = int(value.argmax())
        if value[index] <= self._known + _EPSILON:
            return
        self._known = float(value[index])
        picked = self._kept.tolist()
        for item, parents, took in reversed(self._trail):
            if took[index]:
                picked.append(item)
            index = int(parents[index])
        self.best = np.array(picked, dtype=np.int64)

    def _steps(self, undecided: Ints) -> list[_Step]:
        """The decisions in order, dearest first; the items of a group whose header isn't paid for stay together."""
        reduced, group = self._relaxed.reduced, self._knapsack.group
        loose = [int(item) for item in undecided if int(group[item]) in self._paid]
        units = [(abs(float(reduced[item])), [item], False) for item in loose]
        for number in dict.fromkeys(group[undecided].tolist()):
            if number not in self._paid:
                members = sorted(np.flatnonzero(group[undecided] == number).tolist())
                items = sorted((int(undecided[index]) for index in members), key=lambda item: -abs(float(reduced[item])))
                units.append((abs(float(self._relaxed.groups[number])), items, True))
        units.sort(key=lambda unit: -unit[0])
        steps: list[_Step] = []
        ahead, later = 0.0, np.zeros_like(self._knapsack.room)
        for _, items, closed in reversed(units):
            header = self._knapsack.headers[:, group[items[0]]] if closed else None
            fee = float(self._relaxed.prices @ header) if header is not None else 0.0
            inside = 0.0
            later = later if header is None else later + header  # it may still have to be paid for, up to the group's last item
            for distance, item in enumerate(reversed(items)):
                upper = (ahead + inside, ahead + max(0.0, inside - fee))
                steps.append(_Step(item=item, header=header, ahead=upper, last=distance == 0, later=later))
                inside += max(0.0, float(reduced[item]))
                later = later + self._knapsack.uses[:, item]
            ahead += max(0.0, inside - fee)
        return steps[::-1]


# Relaxation: an upper bound on any packing, from a price for each limited resource (Lagrangian relaxation). A knapsack
# whose items share headers, under limits k = 0, 1, … (tokens first, then caps), is to maximise Σ vᵢ xᵢ where Σ uₖᵢ xᵢ +
# Σ hₖ_g y_g ≤ roomₖ, xᵢ ≤ y_group(i), x and y 0 or 1. At prices λ ≥ 0 the limits become costs, and each group can be
# decided by itself: its items have the reduced values pᵢ = vᵢ − λ·uᵢ, the group has S_g = Σ max(0, pᵢ) − λ·h_g, and
# L(λ) = λ·room + Σ max(0, S_g) is an upper bound on the value of every packing. L is convex and piecewise linear. With
# one limit its minimum is the bound of the linear relaxation, which fills the room completely by taking a fraction of
# an item. Source: M. L. Fisher, "The Lagrangian Relaxation Method for Solving Integer Programming Problems", Management
# Science 27 (1981).


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MAX_STEPS = 24
"""Tangent steps along one limit's price."""
_MAX_ROUNDS = 4
"""Rounds over all limits; none of them raises the bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knapsack:
    """The problem in numbers. `values` (items,) ≥ 0; `uses` (limits, items) ≥ 0; `group` (items,) is the number of each item's
    group; `headers` (limits, groups) ≥ 0 is what the first item of a group uses in addition; `room` (limits,)."""

    values: Floats
    uses: Ints
    group: Ints
    headers: Ints
    room: Ints

    def without(self, out: NDArray[np.bool_]) -> Knapsack:
        """The same problem without the items where `out` (items,) is true."""
        kept = ~out
        return replace(self, values=self.values[kept], uses=self.uses[:, kept], group=self.group[kept])

    def used(self, picked: Ints) -> Ints:
        """What the items at these indices use, each header once; shape (limits,)."""
        used: Ints = self.uses[:, picked].sum(axis=1) + self.headers[:, np.unique(self.group[picked])].sum(axis=1)
        return used


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """`reduced` (items,) and `groups` (groups,) are p and S at these prices, and `bound` is L. `taken` (items,) marks the items
    of the relaxation's optimum; `slack` (limits,) is the room that they leave, below 0 where they use too much."""

    prices: Floats
    reduced: Floats
    groups: Floats
    bound: float
    taken: NDArray[np.bool_]
    slack: Floats


def relax(knapsack: Knapsack, prices: Floats) -> Relaxation:
    """The relaxation at these prices (limits,)."""
    reduced = knapsack.values - prices @ knapsack.uses
    groups = np.bincount(knapsack.group, np.maximum(reduced, 0.0), knapsack.headers.shape[1]) - prices @ knapsack.headers
    opened = groups > 0
    taken = (reduced > 0) & opened[knapsack.group]
    used = knapsack.uses @ taken.astype(np.float64) + knapsack.headers @ opened.astype(np.float64)
    bound = float(prices @ knapsack.room + groups[opened].sum())
    return Relaxation(prices=prices, reduced=reduced, groups=groups, bound=bound, taken=taken, slack=knapsack.room - used)


def tightest(knapsack: Knapsack) -> Relaxation:
    """The relaxation at or near the prices with the lowest bound, found by coordinate descent; exact with one limit."""
    best = relax(knapsack, np.zeros(len(knapsack.room)))
    for _ in range(_MAX_ROUNDS if len(knapsack.room) > 1 else 1):
        before = best.bound
        for limit in range(len(knapsack.room)):
            found = _lowest(knapsack, best.prices, limit)
            best = found if found.bound < best.bound else best
        if best.bound >= before:
            break
    return best


def _lowest(knapsack: Knapsack, prices: Floats, limit: int) -> Relaxation:
    """The lowest bound along one limit's price: steps from both sides to where the tangents meet, until they meet on L."""
    low = relax(knapsack, _moved(prices, limit, 0.0))
    if low.slack[limit] >= 0:
        return low
    uses = knapsack.uses[limit]
    some = uses > 0
    top = max(1e-6, float((knapsack.values[some] / uses[some]).max())) if some.any() else 1.0
    high = relax(knapsack, _moved(prices, limit, top))
    while high.slack[limit] < 0 and top < 1e12:
        top *= 2.0
        high = relax(knapsack, _moved(prices, limit, top))
    for _ in range(_MAX_STEPS):
        down, up = float(low.slack[limit]), float(high.slack[limit])
        if up <= down:
            break
        first, last = float(low.prices[limit]), float(high.prices[limit])
        meet = (low.bound - high.bound + up * last - down * first) / (up - down)
        if not first < meet < last:
            break
        middle = relax(knapsack, _moved(prices, limit, meet))
        low, high, lowest = (low, middle, high) if middle.slack[limit] >= 0 else (middle, high, low)
        if middle.bound <= lowest.bound + (meet - float(lowest.prices[limit])) * float(lowest.slack[limit]) + 1e-12:
            break
    return low if low.bound < high.bound else high


def _moved(prices: Floats, limit: int, price: float) -> Floats:
    """The prices with the price of one limit replaced."""
    moved = prices.copy()
    moved[limit] = price
    return moved
