"""Greedy queue: the order in which items are tried one by one, the classic knapsack approximation (PACK-1).

With `rank` items come in score order. With `density` the item with the highest log-odds − 0.7 · ln(tokens + 2) comes next,
where tokens is what the item costs *now*: the first item of a group also pays for the group's header, so the other items of
the group become cheaper once it is in, and their cost is computed again. The formula holds only where the score is a
log-probability.

Most of the work is writing an item to learn its cost. So an item is written only when it may be next; until then its cost is
estimated from its length, too low on purpose. Items whose score is too low for any cost aren't even estimated yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from math import inf, log
from typing import NamedTuple

from germane.pipeline.pack.cost import Layout
from germane.pipeline.pack.cost_estimator import CostEstimator
from germane.pipeline.pack.eligibility import Eligibility
from germane.types.candidate import Scored
from germane.types.strategy import Packer

__all__ = ["GreedyQueue", "Growth"]

_COST_WEIGHT = 0.7
"""Calibrated log-odds are spread over about 0.7 of what the ranking loss makes of them; measured, 0.65 to 1 are alike."""
_CHARS_PER_TOKEN = 6.0
"""The ratio to begin with. Later estimates assume `_MARGIN` times the ratio of the items written so far, so that an estimate is
seldom too high; an item whose estimate is too high comes a little late."""
_MARGIN = 1.25
_MIN_TOKENS = 16
"""Tokens of text: a shorter text counts as this many. Measured, 0 to 16 give the same recall."""
_BLOCK_SIZE = 64


class Growth(NamedTuple):
    """The rest of a passage that is in: it competes with the items that aren't. `place` is the passage's index in
    `BudgetState.chosen`."""

    item: Scored
    place: int


Entry = tuple[float, float, bool, "Scored | Growth"]
"""Heap entry: the key (weighted cost − log value), the item's rank (a half more for a growth), whether the cost is exact or
estimated, the item or growth."""


class GreedyQueue:
    """Iterates over items in the order in which they are to be tried. `items` must stand in score order.

    Ties go to the better rank, so the order is total and reproducible (PACK-4). With an `eligibility`, items are filtered in
    score order, when they are first looked at.
    """

    def __init__(
        self,
        items: Sequence[Scored],
        layout: Layout,
        packer: Packer,
        estimator: CostEstimator,
        eligibility: Eligibility | None = None,
    ) -> None:
        self._items, self._layout, self._estimator, self._eligibility = items, layout, estimator, eligibility
        self._density = packer != "rank"
        self.open_groups = set[str]()
        """The groups whose headers have been paid for."""
        self._waiting: dict[str, list[Scored]] = defaultdict(list)
        """Items whose cost includes a header that isn't paid for, by group."""
        self._done = set[float]()
        self._heap: list[Entry] = []
        self._next = 0
        self._empty = 0
        self._chars, self._tokens = 10 * _CHARS_PER_TOKEN, 10.0
        self._bar = -inf
        """Lower bound on the key of every item that isn't in the heap yet."""

    def __iter__(self) -> Iterator[Scored | Growth]:
        return self._by_density() if self._density else self._by_rank()

    def rest(self) -> tuple[Scored, ...]:
        """The items that haven't been tried yet, in score order."""
        if not self._density:
            return tuple(self._items[self._next :])
        waiting = {item.rank: item for *_, item in self._heap if isinstance(item, Scored) and item.rank not in self._done}
        return (*(waiting[rank] for rank in sorted(waiting)), *self._items[self._next :])

    def cost(self, item: Scored, text: str) -> int:
        """Tokens that `text` of the item costs now, with a header if it isn't paid for."""
        estimate = self._estimator.estimate(item)
        return self._layout.cost(item.candidate, text) + (0 if estimate.group in self.open_groups else estimate.header)

    def offer_growth(self, growth: Growth, value: float) -> None:
        """Offers the rest of a passage; `value` is how much more the whole text is worth, as a fraction of the item."""
        if self._density and value > 0:
            key = _COST_WEIGHT * log(self._estimator.estimate(growth.item).rest + 2) - growth.item.log_odds - log(value)
            heappush(self._heap, (key, growth.item.rank + 0.5, True, growth))

    def open_group(self, item: Scored) -> None:
        """Records that the header of the item's group is paid for: the items of the group become cheaper."""
        group = self._estimator.estimate(item).group
        if group in self.open_groups:
            return
        self.open_groups.add(group)
        for other in self._waiting.pop(group, ()):
            if other.rank not in self._done:
                estimate = self._estimator.estimate(other)
                heappush(self._heap, (self._key(other, estimate.line, estimate.value), other.rank, True, other))

    def _by_rank(self) -> Iterator[Scored]:
        while self._next < len(self._items):
            self._next += 1
            yield from self._filtered(self._items[self._next - 1 : self._next])

    def _by_density(self) -> Iterator[Scored | Growth]:
        """Always the item with the lowest key, once its cost is exact and no other item can have a lower one."""
        heap, done, open_groups, estimate = self._heap, self._done, self.open_groups, self._estimator.estimate
        if self._items:
            self._empty = self._layout.cost(self._items[0].candidate, "")
        while True:
            while (not heap or heap[0][0] >= self._bar) and self._load_block():
                pass
            if not heap:
                return
            _, rank, exact, item = heappop(heap)
            if rank in done:
                continue
            if not exact and not isinstance(item, Growth):
                line, group, header, passage, _, value = estimate(item)
                if not passage:
                    self._chars += len(item.candidate.text)
                    self._tokens += max(0, line - self._empty)
                paid = group in open_groups
                key = self._key(item, line if paid else line + header, value)
                if key >= self._bar or (heap and (key, rank) >= heap[0]):
                    heappush(heap, (key, rank, True, item))
                    if not paid:
                        self._waiting[group].append(item)
                    continue
            done.add(rank)
            yield item

    def _filtered(self, block: Sequence[Scored]) -> Sequence[Scored]:
        return block if self._eligibility is None else self._eligibility.filter(block)

    def _load_block(self) -> bool:
        """Puts the next few items into the heap with estimated costs; returns False when there are none."""
        block = self._items[self._next : self._next + _BLOCK_SIZE]
        if not block:
            return False
        self._next += len(block)
        block = self._filtered(block)
        empty, each = self._empty + 2, self._tokens / (_MARGIN * self._chars)
        short, long = _MIN_TOKENS / each, self._estimator.passage_tokens / each
        self._heap += [
            (
                _COST_WEIGHT * log(empty + each * min(max(len(item.candidate.text), short), long)) - item.log_odds,
                item.rank,
                False,
                item,
            )
            for item in block
        ]
        heapify(self._heap)
        cheapest = _COST_WEIGHT * log(empty + _MIN_TOKENS)
        self._bar = cheapest - self._items[self._next].log_odds if self._next < len(self._items) else inf
        return True

    def _key(self, item: Scored, tokens: int, value: float) -> float:
        return _COST_WEIGHT * log(max(tokens, self._empty + _MIN_TOKENS) + 2) - item.log_odds - log(value)
