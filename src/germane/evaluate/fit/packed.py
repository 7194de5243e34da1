"""Packed: what of a list would be in the context, by a quick stand-in for the packer that knows costs but no texts.

It takes candidates as `pack/greedy.py` does (the most probability per token first, the first of a group paying for its
header) and of a long message a passage of the same size, which counts as the message. What it leaves out: the recount of the
final text, near-duplicates, excerpts that grow, and what a passage shows. Good to compare fits by, in a second;
`germane eval` measures the real thing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.lists import Candidates

__all__ = ["BUDGETS", "Packed", "packed", "recall"]

BUDGETS = (250, 500, 1000, 2000)

_PRICE = 0.7
_LONG, _PASSAGE, _WORTH_SHOWING = 96, 48, 24
_MOST = 80
"""Candidates a strategy's source offers; the packer sees no more."""


class Packed(NamedTuple):
    share: float
    """Of the wanted messages, how many are shown, whole or by a passage, [0, 1]."""
    tokens: int
    rows: tuple[int, ...]
    """The candidates shown, as they were taken."""


def packed(one: Candidates, log_odds: NDArray[np.float64], budget: int, *, most: int = _MOST) -> Packed:
    """Within `budget` tokens, everything around the items included. What has log-odds of −∞ isn't offered."""
    best = [row for row in np.argsort(-log_odds, kind="stable")[:most].tolist() if log_odds[row] > -np.inf]
    cost = np.where(one.cost > _LONG, _PASSAGE, one.cost).tolist()
    header, group, odds = one.header.tolist(), one.group.tolist(), log_odds.tolist()
    heap = [(_PRICE * log(cost[row] + header[row] + 2) - odds[row], row) for row in best]
    heapify(heap)
    members: dict[int, list[int]] = {}
    for row in best:
        members.setdefault(group[row], []).append(row)
    left = budget - one.fixed
    opened: set[int] = set()
    done: dict[int, None] = {}
    taken: dict[int, None] = {}
    shown: dict[int, float] = {}
    while heap and left >= _WORTH_SHOWING:
        row = heappop(heap)[1]
        if row in done:
            continue
        done[row] = None
        around = 0 if group[row] in opened else header[row]
        whole = cost[row] + around
        if whole > left:
            continue
        left -= whole
        taken[row] = None
        if one.relevant[row]:
            message = int(one.message[row])
            shown[message] = min(1.0, shown.get(message, 0.0) + one.share[row])
        if group[row] not in opened:
            opened.add(group[row])
            for other in members[group[row]]:
                if other not in done:
                    heappush(heap, (_PRICE * log(cost[other] + 2) - odds[other], other))
    return Packed(share=sum(shown.values()) / max(1, one.wanted), tokens=budget - left, rows=tuple(taken))


def recall(
    lists: Sequence[Candidates], log_odds: Sequence[NDArray[np.float64]], budgets: Sequence[int] = BUDGETS
) -> Mapping[str, float]:
    """Mean over questions, in per cent: `r250` and so on, and `a1000`, the share with all of it."""
    found: dict[str, float] = {}
    for budget in budgets:
        shares = np.array([packed(one, odds, budget).share for one, odds in zip(lists, log_odds, strict=True)])
        found[f"r{budget}"] = 100 * float(shares.mean()) if len(shares) else 0.0
        if budget == 1000:
            found["a1000"] = 100 * float((shares > 0.999).mean()) if len(shares) else 0.0
    return found
