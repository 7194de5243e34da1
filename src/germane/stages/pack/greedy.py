"""Greedy queue: the order in which items are tried one by one, and which of them may go in at all.

The order is the classic knapsack approximation (PACK-1). With `rank` items come in score order. With `density` the item with
the highest log-odds − 0.7 · ln(tokens + 2) comes next, where tokens is what the item costs *now*: the first item of a group
also pays for the group's header, so the other items of the group become cheaper once it is in, and their cost is computed
again. The formula holds only if the score is a log-probability.

Most of the work is writing an item to learn its cost. So an item is written only when it may be next; until then its cost is
estimated from its length, too low on purpose. Items whose score is too low for any cost aren't even estimated yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from math import inf, log
from typing import NamedTuple, Protocol

from germane.types.budget import MAX_CHARS_PER_TOKEN, PASSAGE_TOKENS, SHORT_PASSAGE_TOKENS, shown_value
from germane.types.candidate import Candidate, Chosen, LeftOut, Scored, Sensitivity
from germane.types.strategy import Packer

_COST_WEIGHT = 0.7
"""Calibrated log-odds are spread over about 0.7 of what the ranking loss makes of them; measured, 0.65 to 1 are alike."""
_FIRST_CHARS_PER_TOKEN = 6.0
"""The ratio to begin with. Later estimates assume `_MARGIN` times the ratio of the items written so far, so that an estimate is
seldom too high; an item whose estimate is too high comes a little late."""
_RATIO_MARGIN = 1.25
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
        self._chars, self._tokens = 10 * _FIRST_CHARS_PER_TOKEN, 10.0
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
        empty, each = self._empty + 2, self._tokens / (_RATIO_MARGIN * self._chars)
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


# Nothing goes in twice, near-duplicates included, and only allowed sensitivities go in (GATHER-3, GATHER-5). Sources
# filter by sensitivity and candidates are merged before scoring; this checks both again on what is about to be shown.


class Eligibility:
    """Filters items, which must come best first and each once. `seen` are candidates that are already in the context;
    `refused` collects the items that didn't pass."""

    def __init__(self, sensitivities: Collection[Sensitivity], seen: Iterable[Candidate] = ()) -> None:
        self._allowed = frozenset(sensitivities)
        shown = list(seen)
        self._seen: set[int | str] = {one.content_hash for one in shown}.union(one.id for one in shown)
        self.refused: list[LeftOut] = []

    def filter(self, items: Iterable[Scored]) -> list[Scored]:
        """The items that may go in, in the same order."""
        allowed, seen, passed = self._allowed, self._seen, list[Scored]()
        for item in items:
            candidate = item.candidate
            code = candidate.content_hash
            if candidate.sensitivity not in allowed:
                self.refused.append(LeftOut(scored=item, reason="sensitivity"))
            elif (code and code in seen) or not seen.isdisjoint(candidate.near_duplicates):
                self.refused.append(LeftOut(scored=item, reason="duplicate"))
            else:
                seen.add(code)
                if candidate.near_duplicates:
                    seen.add(candidate.id)
                passed.append(item)
        return passed


# Cost: what an item costs as written: the protocol by which packing asks the layout, and first estimates. An item first
# goes in whole, or a long message as a passage. One passage usually holds the answer of a long assistant message; the
# rest of the message would displace other messages. The packer lets excerpts grow again once every item has been tried.
# Typed memories are never cut to a passage: their wording was chosen by somebody.


class Shortened(Protocol):
    """An excerpt: its text, and the fraction of the original text's characters that it keeps."""

    @property
    def text(self) -> str: ...
    @property
    def share(self) -> float: ...


class Layout(Protocol):
    """Costs in the target model's tokens, wrapper and escapes included; `format.layout.Format` implements it. Only `total` is
    measured on the final text and decides whether the budget is kept; the other costs are estimates line by line."""

    def fixed(self, directive: str) -> int:
        """Tokens of the directive, the standing notice and the outermost wrapper."""

    def cost(self, candidate: Candidate, text: str) -> int:
        """Tokens of the item's own line, without the header that it stands under."""

    def group(self, candidate: Candidate) -> str:
        """The group whose header the item stands under."""

    def header(self, candidate: Candidate) -> int:
        """Tokens of the header of the item's group, which the first item of the group pays for."""

    def chars(self, candidate: Candidate, text: str) -> int:
        """Characters of the item's own line as written, its line break included."""

    def wrapper_chars(self) -> int:
        """Characters of the outermost wrapper around the items."""

    def shorten(self, candidate: Candidate, tokens: int, chars: int | None = None) -> Shortened | None:
        """An excerpt around the query's terms that costs at most `tokens` as written, and whose line has at most `chars`
        characters; None when nothing useful fits."""

    def total(self, directive: str, chosen: Sequence[Chosen]) -> int:
        """Tokens of the whole text as it will be written."""


def fit_directive(directive: str, available: int, layout: Layout) -> tuple[str, int, str]:
    """The directive where it fits into `available` tokens, else an empty one; the tokens that are fixed then; and why it was
    left out (empty where it fits)."""
    fixed = layout.fixed(directive)
    if fixed > available and directive and (alone := layout.total(directive, ())) > available:
        return "", layout.fixed(""), f"it takes {alone} tokens of {available}"
    return directive, fixed, ""


_CUT_KINDS = frozenset({"archival", "event"})
"""Kinds of which a passage may be shown: messages, and what was archived."""
_MAX_WHOLE_TOKENS = 90
"""Tokens of text up to which a message goes in whole: a cut would save less than it hides."""
_MIN_SAVED_TOKENS = 8
"""Tokens that a short passage has to save."""
_CHARS_PER_TOKEN = 4
"""Of long texts, to estimate what the rest of a passage costs."""


class CostEstimate(NamedTuple):
    """Costs in tokens. `line` is the item's own line as it first goes in, `header` the header of its `group`; `passage` tells
    whether the item first goes in as a passage. `rest` is about what the rest of the text costs then, and `value` what the
    passage is worth (`shown_value`)."""

    line: int
    group: str
    header: int
    passage: bool
    rest: int = 0
    value: float = 1.0


class CostEstimator:
    """Estimates the first cost of items and caches the estimates by rank. Asks the layout once or twice an item; lives for one
    packing."""

    def __init__(self, layout: Layout, *, broad: bool = False, passages: bool = True) -> None:
        """`broad` makes passages short, to show some of many messages. `passage_tokens` are those of a passage's text. Without
        `passages`, every item first goes in whole."""
        self._layout, self._broad, self._passages = layout, broad, passages
        self.passage_tokens, self._short = (
            (SHORT_PASSAGE_TOKENS, SHORT_PASSAGE_TOKENS + _MIN_SAVED_TOKENS) if broad else (PASSAGE_TOKENS, _MAX_WHOLE_TOKENS)
        )
        self._estimates: dict[int, CostEstimate] = {}
        self._headers: dict[str, int] = {}

    def estimate(self, item: Scored) -> CostEstimate:
        """The item's estimate, computed on first use."""
        return self._estimates.get(item.rank) or self._compute(item)

    def passage_cost(self, item: Scored) -> int:
        """The most tokens that a passage of the item may cost, a header of its own included."""
        return self._layout.cost(item.candidate, "") + self.estimate(item).header + self.passage_tokens

    def _compute(self, item: Scored) -> CostEstimate:
        candidate = item.candidate
        line, passage = self._first_line(candidate)
        group = self._layout.group(candidate)
        header = self._headers.get(group)
        if header is None:
            header = self._headers[group] = self._layout.header(candidate)
        if passage:
            tokens = max(self.passage_tokens + 1, len(candidate.text) // _CHARS_PER_TOKEN)
            value = 1.0 if self._broad else shown_value(self.passage_tokens / tokens)
            estimate = CostEstimate(line, group, header, True, tokens - self.passage_tokens, value)
        else:
            estimate = CostEstimate(line, group, header, False)
        self._estimates[item.rank] = estimate
        return estimate

    def _first_line(self, candidate: Candidate) -> tuple[int, bool]:
        """Cost of the line that first goes in, and whether that line is a passage. ASCII text with at most two characters for
        each token of a short one is hardly ever long, so the empty line isn't costed for it."""
        text = candidate.text
        short = len(text) <= 2 * self._short and text.isascii()
        if short or candidate.required or not self._passages or _CUT_KINDS.isdisjoint(candidate.kinds):
            return self._layout.cost(candidate, text), False
        whole = None
        if len(text) <= MAX_CHARS_PER_TOKEN * _MAX_WHOLE_TOKENS:
            whole = self._layout.cost(candidate, text)
            if whole <= self._short:
                return whole, False
        empty = self._layout.cost(candidate, "")
        if whole is not None and whole - empty <= self._short:
            return whole, False
        return empty + self.passage_tokens, True
