"""Greedy: the knapsack's classic approximation, one item at a time, best first (PACK-1).

`rank` takes items in score order. `density` takes the most probability per token: log-odds − 0.7 · ln(tokens + 2), where
tokens is what the item costs *now*: the first of a group pays for the group's header, so opening one makes its other items
cheaper and they are weighed anew. That is right only where the score is a log-probability; on raw sums it is ruinous.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from math import log

from germane.item import Scored
from germane.pack.cost import Layout
from germane.strategy import Packer

__all__ = ["Queue"]

_PRICE = 0.7
"""Calibrated log-odds are spread over about 0.7 of what the ranking loss makes of them; measured, 0.65 to 1 are alike."""


class Queue:
    """Items in the order in which they are to be tried. `opened(group)` tells it that a header has been paid for.
    Ties go to the better rank, so the order is total and the same every time (PACK-4)."""

    def __init__(self, items: Sequence[Scored], layout: Layout, packer: Packer) -> None:
        self._layout = layout
        self._density = packer != "rank"
        self._open: frozenset[str] = frozenset()
        self._by_group: dict[str, list[Scored]] = defaultdict(list)
        self._done: set[str] = set()
        for item in items:
            self._by_group[layout.group(item.candidate)].append(item)
        self._heap = [(*self._key(item), item) for item in items]
        heapify(self._heap)

    def __iter__(self) -> Iterator[Scored]:
        while self._heap:
            *_, item = heappop(self._heap)
            if item.id not in self._done:
                self._done.add(item.id)
                yield item

    @property
    def open(self) -> frozenset[str]:
        """The groups whose headers have been paid for."""
        return self._open

    def cost(self, item: Scored, text: str) -> int:
        return self._layout.cost(item.candidate, text, self._open)

    def opened(self, item: Scored) -> None:
        group = self._layout.group(item.candidate)
        if group in self._open:
            return
        self._open |= {group}
        if self._density:
            for other in self._by_group[group]:
                if other.id not in self._done:
                    heappush(self._heap, (*self._key(other), other))

    def _key(self, item: Scored) -> tuple[float, int]:
        if not self._density:
            return -item.log_odds, item.rank
        return _PRICE * log(self.cost(item, item.candidate.text) + 2) - item.log_odds, item.rank
