"""Greedy: the knapsack's classic approximation, one item at a time, best first (PACK-1).

`rank` takes items in score order. `density` takes the most probability per token: log-odds − 0.7 · ln(tokens + 2), where
tokens is what the item costs *now*: the first of a group pays for the group's header, so opening one makes its other items
cheaper and they are weighed anew. That is right only where the score is a log-probability; on raw sums it is ruinous.

Writing an item to learn its cost is most of the work, so only those get written whose turn may come: the rest wait with a cost
guessed from their length, low on purpose, and items whose score is too low for any cost aren't looked at yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from math import inf, log

from germane.pipeline.pack.cost import Layout
from germane.pipeline.pack.cost_estimator import PASSAGE, Brief
from germane.pipeline.pack.eligibility import Eligibility
from germane.types.candidate import Scored
from germane.types.strategy import Packer

__all__ = ["Queue"]

_PRICE = 0.7
"""Calibrated log-odds are spread over about 0.7 of what the ranking loss makes of them; measured, 0.65 to 1 are alike."""
_CHARS = 6.0
"""Characters a token, to begin with; from then on a quarter more than in what has been written, so that a guess seldom is too
high. Where it is, its item comes a little late."""
_MORE = 1.25
_LEAST = 16
"""Tokens of text: one that has fewer isn't dearer to the reader for that. Measured, 0 to 16 give the same recall."""
_BLOCK = 64

Entry = tuple[float, int, bool, Scored]
"""What it costs in log-odds, its rank, whether that cost is known, the item."""


class Queue:
    """Items in the order in which they are to be tried; `items` stand in score order. `opened(group)` tells it that a header
    has been paid for. Ties go to the better rank, so the order is total and the same every time (PACK-4). Where there is a
    `eligibility`, items go through it in score order, when they are first looked at."""

    def __init__(
        self,
        items: Sequence[Scored],
        layout: Layout,
        packer: Packer,
        brief: Brief,
        eligibility: Eligibility | None = None,
    ) -> None:
        self._items, self._layout, self._brief, self._sieve = items, layout, brief, eligibility
        self._density = packer != "rank"
        self._open: frozenset[str] = frozenset()
        self._weighed: dict[str, list[Scored]] = defaultdict(list)
        self._done: set[int] = set()
        self._heap: list[Entry] = []
        self._next = 0
        self._empty = 0
        self._chars, self._tokens = 10 * _CHARS, 10.0
        self._bar = -inf
        """No item that hasn't been looked at is cheaper than this."""

    def __iter__(self) -> Iterator[Scored]:
        if not self._density:
            while self._next < len(self._items):
                self._next += 1
                yield from self._passed(self._items[self._next - 1 : self._next])
            return
        if self._items:
            first = self._items[0].candidate
            self._empty = self._layout.cost(first, "", frozenset((self._layout.group(first),)))
        while (best := self._best()) is not None:
            self._done.add(best.rank)
            yield best

    def rest(self) -> tuple[Scored, ...]:
        """Those whose turn hasn't come, in score order."""
        if not self._density:
            return tuple(self._items[self._next :])
        waiting = {item.rank: item for *_, item in self._heap if item.rank not in self._done}
        return (*(waiting[rank] for rank in sorted(waiting)), *self._items[self._next :])

    @property
    def open(self) -> frozenset[str]:
        """The groups whose headers have been paid for."""
        return self._open

    def cost(self, item: Scored, text: str) -> int:
        return self._layout.cost(item.candidate, text, self._open)

    def opened(self, item: Scored) -> None:
        group = self._brief.weighed(item)[1]
        if group in self._open:
            return
        self._open |= {group}
        for other in self._weighed.pop(group, ()):
            if other.rank not in self._done:
                cost = self._price(self._brief.weighed(other)[0]) - other.log_odds
                heappush(self._heap, (cost, other.rank, True, other))

    def _best(self) -> Scored | None:
        """The cheapest for its probability whose cost is known, once no other can be cheaper."""
        heap, done = self._heap, self._done
        while True:
            while not heap or heap[0][0] >= self._bar:
                if not self._look():
                    break
            if not heap:
                return None
            _, rank, known, item = heappop(heap)
            if rank in done:
                continue
            if known:
                return item
            own, group, header, long = self._brief.weighed(item)
            if not long:
                self._chars += len(item.candidate.text)
                self._tokens += max(0, own - self._empty)
            paid = group in self._open
            cost = self._price(own if paid else own + header) - item.log_odds
            if cost < self._bar and (not heap or (cost, rank) < heap[0]):
                return item
            heappush(heap, (cost, rank, True, item))
            if not paid:
                self._weighed[group].append(item)

    def _passed(self, block: Sequence[Scored]) -> Sequence[Scored]:
        return block if self._sieve is None else self._sieve.through(block)

    def _look(self) -> bool:
        """At the next few items."""
        block = self._items[self._next : self._next + _BLOCK]
        if not block:
            return False
        self._next += len(block)
        block = self._passed(block)
        empty, each = self._empty + 2, self._tokens / (_MORE * self._chars)
        short, long = _LEAST / each, PASSAGE / each
        self._heap += [
            (
                _PRICE * log(empty + each * min(max(len(item.candidate.text), short), long)) - item.log_odds,
                item.rank,
                False,
                item,
            )
            for item in block
        ]
        heapify(self._heap)
        least = _PRICE * log(empty + _LEAST)
        self._bar = least - self._items[self._next].log_odds if self._next < len(self._items) else inf
        return True

    def _price(self, tokens: int) -> float:
        least = self._empty + _LEAST
        return _PRICE * log(max(tokens, least) + 2)
