"""Relaxation: an upper bound on any packing, from a price for each limited resource (Lagrangian relaxation).

A knapsack whose items share headers, under limits k = 0, 1, … (tokens first, then caps):

    maximise  Σ vᵢ xᵢ   where  Σ uₖᵢ xᵢ + Σ hₖ_g y_g ≤ roomₖ,   xᵢ ≤ y_group(i),   x and y 0 or 1

At prices λ ≥ 0 the limits become costs, and each group can be decided by itself: its items have the reduced values
pᵢ = vᵢ − λ·uᵢ, the group has S_g = Σ max(0, pᵢ) − λ·h_g, and

    L(λ) = λ·room + Σ max(0, S_g)

is an upper bound on the value of every packing. L is convex and piecewise linear. With one limit its minimum is the bound of
the linear relaxation, which fills the room completely by taking a fraction of an item. Source: M. L. Fisher, "The Lagrangian
Relaxation Method for Solving Integer Programming Problems", Management Science 27 (1981).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Ints", "Knapsack", "Relaxation", "relax", "tightest"]

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
