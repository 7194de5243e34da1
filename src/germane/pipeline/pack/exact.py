"""Exact: turns items into a knapsack problem, to choose them together for the highest total value (PACK-6).

The greedy packer tries one item at a time: in a small budget, the first item may displace two that are worth more together.
Here items become numbers (value = P(relevant) × fraction shown, cost as written, headers of groups, caps), and `knapsack.py`
solves the problem. The scores must be probabilities: a sum of raw scores means nothing, and its optimum was measured to be
worse than score order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass

import numpy as np

from germane.pipeline.pack.cost import Layout
from germane.pipeline.pack.knapsack import EFFORT, solve
from germane.pipeline.pack.relaxation import Knapsack
from germane.pipeline.pack.shares import CapUsage
from germane.types.candidate import Scored

__all__ = ["Offer", "SelectedOffers", "select"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One item as it would go in. `tokens` is the cost of its own line, without a header; `share` the fraction shown."""

    item: Scored
    text: str
    tokens: int
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedOffers:
    """The offers to take, in the order given. `gap` is how much more value another selection could reach at most; 0 where this
    one is proven best."""

    offers: tuple[Offer, ...]
    gap: float


def select(
    offers: Sequence[Offer],
    room: int,
    layout: Layout,
    open_groups: Set[str],
    usage: CapUsage,
    *,
    start: Collection[Offer] = (),
    effort: int = EFFORT,
    stop: Callable[[], bool] = lambda: False,
) -> SelectedOffers:
    """The best of `offers` in `room` tokens, where the headers of `open_groups` are already paid for.

    At most one of several offers of an item is taken. The selection is never worth less than `start`, offers that are known to
    fit. A header counts against each cap in tokens that any item of its group counts against. For `effort` and `stop` see
    `knapsack.solve`.
    """
    if not offers or room <= 0:
        return SelectedOffers(offers=(), gap=0.0)
    knapsack = _knapsack(offers, room, layout, open_groups, usage)
    given = {(offer.item.rank, offer.text) for offer in start}
    known = [index for index, offer in enumerate(offers) if (offer.item.rank, offer.text) in given]
    found = solve(knapsack, start=known, effort=effort, stop=stop)
    value, picked = float(knapsack.values[known].sum()), tuple(known)
    if value <= found.value:  # `start` is worth more only where a header that caps share was counted more strictly here
        value, picked = found.value, found.picked
    return SelectedOffers(offers=tuple(offers[index] for index in picked), gap=max(0.0, found.bound - value))


def _knapsack(offers: Sequence[Offer], room: int, layout: Layout, open_groups: Set[str], usage: CapUsage) -> Knapsack:
    """The problem in numbers. Rows of `uses`: the tokens, then one row for each cap, then one for each item with several
    offers."""
    candidates = [offer.item.candidate for offer in offers]
    names = [layout.group(candidate) for candidate in candidates]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    group = np.array([numbers[name] for name in names], dtype=np.int64)
    tokens = np.array([offer.tokens for offer in offers], dtype=np.int64)
    ones = np.ones(len(offers), dtype=np.int64)
    paid, free = np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
    first = {name: offer for name, offer in zip(reversed(names), reversed(offers), strict=True) if name not in open_groups}
    for name, offer in first.items():
        paid[numbers[name]] = layout.header(offer.item.candidate)
    rows = [(tokens, paid, room)]
    for cap in usage.remaining(candidates):
        members = np.array(cap.members)
        left = max(0, cap.room)
        match cap.measure:
            case "tokens":
                rows.append((tokens * members, paid * (np.bincount(group, members, len(numbers)) > 0), left))
            case "chars":
                rows.append(
                    (np.array([usage.size(offer.item.candidate, offer.text) for offer in offers]) * members, free, left)
                )
            case "items":
                rows.append((ones * members, free, left))
    for id, times in Counter(candidate.id for candidate in candidates).items():
        if times > 1:
            rows.append((np.array([int(candidate.id == id) for candidate in candidates]), free, 1))
    uses, headers, rooms = zip(*rows, strict=True)
    return Knapsack(
        values=np.array([offer.item.score * offer.share for offer in offers]),
        uses=np.array(uses, dtype=np.int64),
        group=group,
        headers=np.array(headers, dtype=np.int64),
        room=np.array(rooms, dtype=np.int64),
    )
