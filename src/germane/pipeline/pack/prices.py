"""Prices: what a unit of each limited thing is worth, and the bound that follows (Lagrangian relaxation).

A knapsack whose items share headers, under limits k = 0, 1, … (tokens first, then caps):

    maximise  Σ vᵢ xᵢ   where  Σ uₖᵢ xᵢ + Σ hₖ_g y_g ≤ roomₖ,   xᵢ ≤ y_group(i),   x and y 0 or 1

At prices λ ≥ 0 limits become costs and every group can be judged by itself: its items are worth pᵢ = vᵢ − λ·uᵢ each, the group
S_g = Σ max(0, pᵢ) − λ·h_g, and

    L(λ) = λ·room + Σ max(0, S_g)

is at least what any packing reaches. L is convex and piecewise linear; with one limit its minimum is the bound of the linear
relaxation, which fills the room to the brim with a piece of an item.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Ints", "Knapsack", "Priced", "priced", "prices"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STEPS = 24
_ROUNDS = 4
"""Over the limits in turn; each round lowers the bound or leaves it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knapsack:
    """`values` (items,) ≥ 0; `uses` (limits, items) ≥ 0; `group` (items,) which header; `headers` (limits, groups) ≥ 0, what
    the first item of a group takes besides; `room` (limits,)."""

    values: Floats
    uses: Ints
    group: Ints
    headers: Ints
    room: Ints

    def without(self, out: NDArray[np.bool_]) -> Knapsack:
        """The same with the items at `out` gone."""
        kept = ~out
        return replace(self, values=self.values[kept], uses=self.uses[:, kept], group=self.group[kept])

    def used(self, picked: Ints) -> Ints:
        """Shape (limits,): what these items take, each header once."""
        used: Ints = self.uses[:, picked].sum(axis=1) + self.headers[:, np.unique(self.group[picked])].sum(axis=1)
        return used


@dataclass(frozen=True, slots=True, kw_only=True)
class Priced:
    """`worth` (items,) and `groups` (groups,) are p and S at these prices, `bound` is L, `taken` (items,) what is best there
    and `slack` (limits,) the room that it leaves: below 0 where it takes too much."""

    prices: Floats
    worth: Floats
    groups: Floats
    bound: float
    taken: NDArray[np.bool_]
    slack: Floats


def priced(sack: Knapsack, at: Floats) -> Priced:
    """The relaxation at prices `at` (limits,)."""
    worth = sack.values - at @ sack.uses
    groups = np.bincount(sack.group, np.maximum(worth, 0.0), sack.headers.shape[1]) - at @ sack.headers
    opened = groups > 0
    taken = (worth > 0) & opened[sack.group]
    used = sack.uses @ taken.astype(np.float64) + sack.headers @ opened.astype(np.float64)
    bound = float(at @ sack.room + groups[opened].sum())
    return Priced(prices=at, worth=worth, groups=groups, bound=bound, taken=taken, slack=sack.room - used)


def prices(sack: Knapsack) -> Priced:
    """At or close to the lowest bound, each limit's price in turn; with one limit it is the lowest."""
    best = priced(sack, np.zeros(len(sack.room)))
    for _ in range(_ROUNDS if len(sack.room) > 1 else 1):
        before = best.bound
        for limit in range(len(sack.room)):
            found = _lowest(sack, best.prices, limit)
            best = found if found.bound < best.bound else best
        if best.bound >= before:
            break
    return best


def _lowest(sack: Knapsack, at: Floats, limit: int) -> Priced:
    """The lowest bound along one limit's price: from both sides to where the tangents meet, until they meet on the line."""
    low = priced(sack, _moved(at, limit, 0.0))
    if low.slack[limit] >= 0:
        return low
    uses = sack.uses[limit]
    some = uses > 0
    top = max(1e-6, float((sack.values[some] / uses[some]).max())) if some.any() else 1.0
    high = priced(sack, _moved(at, limit, top))
    while high.slack[limit] < 0 and top < 1e12:
        top *= 2.0
        high = priced(sack, _moved(at, limit, top))
    for _ in range(_STEPS):
        down, up = float(low.slack[limit]), float(high.slack[limit])
        if up <= down:
            break
        first, last = float(low.prices[limit]), float(high.prices[limit])
        meet = (low.bound - high.bound + up * last - down * first) / (up - down)
        if not first < meet < last:
            break
        middle = priced(sack, _moved(at, limit, meet))
        low, high, lowest = (low, middle, high) if middle.slack[limit] >= 0 else (middle, high, low)
        if middle.bound <= lowest.bound + (meet - float(lowest.prices[limit])) * float(lowest.slack[limit]) + 1e-12:
            break
    return low if low.bound < high.bound else high


def _moved(at: Floats, limit: int, price: float) -> Floats:
    moved = at.copy()
    moved[limit] = price
    return moved
