"""Exact: which items to take, chosen together for the most calibrated probability that fits (PACK-6).

The greedy packer looks at one item at a time; when room is short, what it takes first can stand in the way of two that are
worth more. Here items become numbers (value = P(relevant) × the share that is shown, cost as written, headers of groups, caps)
and `knapsack.py` solves that. Never on scores that are no probabilities: their sum means nothing, and its optimum was measured
to be worse than rank order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from germane.pipeline.pack.cost import Layout
from germane.pipeline.pack.knapsack import EFFORT, solve
from germane.pipeline.pack.prices import Knapsack
from germane.pipeline.pack.shares import Tally
from germane.types.candidate import Scored

__all__ = ["Offer", "Selection", "select"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One item as it would go in. `tokens` is its own cost, without a header."""

    item: Scored
    text: str
    tokens: int
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The offers to take, in the order given; `gap` is how much more value another selection could reach at most, 0 where this
    one is proven best."""

    offers: tuple[Offer, ...]
    gap: float


def select(
    offers: Sequence[Offer],
    room: int,
    layout: Layout,
    opened: frozenset[str],
    tally: Tally,
    *,
    start: Collection[Offer] = (),
    effort: int = EFFORT,
    stop: Callable[[], bool] = lambda: False,
) -> Selection:
    """The best of `offers` in `room` tokens, where the headers of `opened` are paid for; never worse than those of them in
    `start`. Of several offers of one item one is taken at most. A header counts against each cap in tokens that any item of
    its group counts against."""
    if not offers or room <= 0:
        return Selection(offers=(), gap=0.0)
    sack = _sack(offers, room, layout, opened, tally)
    given = {(offer.item.rank, offer.text) for offer in start}
    known = [at for at, offer in enumerate(offers) if (offer.item.rank, offer.text) in given]
    found = solve(sack, start=known, effort=effort, stop=stop)
    value, picked = float(sack.values[known].sum()), tuple(known)
    if value <= found.value:  # less only where a header shared across caps was counted more strictly here
        value, picked = found.value, found.picked
    return Selection(offers=tuple(offers[at] for at in picked), gap=max(0.0, found.bound - value))


def _sack(offers: Sequence[Offer], room: int, layout: Layout, opened: frozenset[str], tally: Tally) -> Knapsack:
    """Rows of `uses`: the tokens, then one for each cap, then one for each item with several offers."""
    candidates = [offer.item.candidate for offer in offers]
    names = [layout.group(candidate) for candidate in candidates]
    numbers = {name: at for at, name in enumerate(dict.fromkeys(names))}
    group = np.array([numbers[name] for name in names], dtype=np.int64)
    tokens = np.array([offer.tokens for offer in offers], dtype=np.int64)
    ones = np.ones(len(offers), dtype=np.int64)
    paid, free = np.zeros(len(numbers), dtype=np.int64), np.zeros(len(numbers), dtype=np.int64)
    first = {name: offer for name, offer in zip(reversed(names), reversed(offers), strict=True) if name not in opened}
    for name, offer in first.items():
        paid[numbers[name]] = max(0, layout.cost(offer.item.candidate, offer.text, frozenset()) - offer.tokens)
    rows = [(tokens, paid, room)]
    for limit in tally.limits(candidates):
        members = np.array(limit.members)
        left = max(0, limit.room)
        match limit.measure:
            case "tokens":
                rows.append((tokens * members, paid * (np.bincount(group, members, len(numbers)) > 0), left))
            case "chars":
                rows.append((np.array([len(offer.text) for offer in offers]) * members, free, left))
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
