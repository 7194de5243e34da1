"""Packed: estimates the recall of a fit with a fast model of the packer, which knows costs but no texts.

It takes candidates as `pipeline/pack/greedy.py` does: the highest probability per token first, and the first item of a group
pays for its header. A long message is shown as a passage of fixed size that counts as the whole message. Left out are the
recount of the final text, near-duplicates, and excerpts that grow. It compares fits within a second; `germane eval` measures
the packer itself.
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
"""Exponent of the cost in the packing order."""
_LONG, _PASSAGE, _WORTH_SHOWING = 96, 48, 24
"""Tokens: longer items become a passage; size of a passage; packing ends when less is left."""
_MAX_CANDIDATES = 80
"""Candidates that the sources of a strategy offer to the packer."""


class Packed(NamedTuple):
    """The candidates of one question that fit a budget."""

    share: float
    """The shown share of the messages that hold the answer, [0, 1]."""
    tokens: int
    rows: tuple[int, ...]
    """Rows of the shown candidates, in the order they were taken."""


def packed(one: Candidates, log_odds: NDArray[np.float64], budget: int, *, max_candidates: int = _MAX_CANDIDATES) -> Packed:
    """Packs the best `max_candidates` candidates into `budget` tokens, wrapper included. `log_odds` has shape (n,); candidates
    with −∞ are left out."""
    best = [row for row in np.argsort(-log_odds, kind="stable")[:max_candidates].tolist() if log_odds[row] > -np.inf]
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
    """Means over the questions, in per cent: `r250` (and so on) is the shown share of the evidence within 250 tokens, and
    `a1000` the share of questions with all of their evidence within 1000. `log_odds` has one array for each list."""
    found: dict[str, float] = {}
    for budget in budgets:
        shares = np.array([packed(one, odds, budget).share for one, odds in zip(lists, log_odds, strict=True)])
        found[f"r{budget}"] = 100 * float(shares.mean()) if len(shares) else 0.0
        if budget == 1000:
            found["a1000"] = 100 * float((shares > 0.999).mean()) if len(shares) else 0.0
    return found
