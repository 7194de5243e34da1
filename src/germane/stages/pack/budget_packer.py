"""Budget packer: decides how items go into the token budget: one by one, chosen together, whole or as excerpts.

The packer keeps to the budget by costs counted line by line; `pack.trim` checks the final text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass

import numpy as np

from germane.stages.pack.greedy import CostEstimator, Eligibility, GreedyQueue, Growth, Layout
from germane.stages.pack.knapsack import EFFORT, Knapsack, solve
from germane.stages.pack.shares import BudgetState, CapUsage, place_tasks
from germane.types.budget import MAX_CHARS_PER_TOKEN, TokenPrice, shown_value
from germane.types.candidate import Chosen, LeftOut, Scored
from germane.types.strategy import Strategy

_MIN_EXCERPT = 24
"""Tokens: a shorter excerpt says too little to be worth its line."""
_MIN_EXCERPT_CHARS = 32
"""The same in characters, where those are limited."""
_MAX_WHOLE_PART = 4
"""An item may take a quarter of the budget whole; a longer one goes in as an excerpt of that size, where one can be made."""
_MIN_LONG_TOKENS = 128
_MAX_CONTINUITY = 400
"""Tokens of each message of the session's last exchange that a request gets back."""
_MAX_MISSES = 16
"""After so many items in a row that didn't fit, the rest isn't tried."""
_MAX_EXACT_TOKENS = 256
"""Tokens up to which the packer `auto` chooses items together."""
_POINTER_VALUE = 0.1
"""What a breadcrumb is worth, as a fraction of the item: set by hand, a quarter of its best passage."""


class BudgetPacker:
    """Fills `state`, the budget state of one packing. `together` tells whether the strategy wants items chosen together in this
    budget. With a `price`, items that aren't worth their tokens stay out, required ones excepted. With `broad`, passages are
    short and grow only into tokens that nothing else can use. `stop` is polled during the search for the items to choose
    together, and ends it early."""

    def __init__(
        self,
        available: int,
        fixed: int,
        layout: Layout,
        strategy: Strategy,
        eligibility: Eligibility,
        stop: Callable[[], bool] = lambda: False,
        price: TokenPrice | None = None,
        broad: bool = False,
    ) -> None:
        self._price = price
        self.state = BudgetState(
            available - fixed, CapUsage(strategy.shares, available, size=layout.chars, wrapper=layout.wrapper_chars)
        )
        self.together = strategy.packer == "exact" or (strategy.packer == "auto" and available <= _MAX_EXACT_TOKENS)
        self._long = max(_MIN_LONG_TOKENS, available // _MAX_WHOLE_PART)
        self._layout, self._strategy, self._eligibility, self._stop = layout, strategy, eligibility, stop
        passages = strategy.shorten in ("excerpt", "summary")
        self._estimator, self._broad = CostEstimator(layout, broad=broad, passages=passages), broad

    def fill(self, items: Sequence[Scored], *, together: bool = False) -> None:
        """Puts in what fits and may go in of `items`, which must stand in score order. Where sources have shares, a second
        round offers what the sources left unused to the items refused for their source's share."""
        state = self.state
        before = len(state.refused)
        if together:
            self._fill_together(state, self._eligibility.filter(items))
        else:
            self._fill_greedily(state, items, self._eligibility)
        if state.usage.lenient:
            return
        state.usage.lenient = True
        missed = state.refused[before:]
        state.refused[before:] = [out for out in missed if out.reason != "source_cap"]
        again = sorted((out.scored for out in missed if out.reason == "source_cap"), key=lambda item: item.rank)
        if together:
            self._fill_together(state, again)
        else:
            self._fill_greedily(state, again, None)
        state.usage.lenient = False

    def fill_tasks(self, items: Sequence[Scored], available: int) -> None:
        """Puts in the frames of the task stack, each within the share of its role of `available` tokens."""
        if items:
            place_tasks(self.state, self._eligibility.filter(items), available, self._layout)

    def grow(self) -> None:
        """Lets excerpts grow into the tokens left over, best item first: to the whole text, or as far as the tokens reach."""
        state = self.state
        for index, _ in sorted(enumerate(state.chosen), key=lambda pair: pair[1].scored.rank):
            self._grow_one(state, index)

    def _grow_one(self, state: BudgetState, index: int) -> None:
        """Lets the excerpt at this place of `state.chosen` grow, if more of it fits and is worth its tokens."""
        chosen = state.chosen[index]
        candidate = chosen.scored.candidate
        if chosen.share >= candidate.share or candidate.required or state.tokens_left < _MIN_EXCERPT:
            return
        shown = chosen.share / candidate.share
        if self._price is not None:
            # what a growth brings and what it costs rise together, so one that can't pay as a whole can't in part
            rest = (len(candidate.text) - len(chosen.text)) // MAX_CHARS_PER_TOKEN
            if not self._price.pays(chosen.scored.score * (1.0 - _worth(shown)), rest):
                return
        now = self._layout.cost(candidate, chosen.text)
        limit = min(now + state.tokens_left, self._long)
        left = state.usage.chars_left(candidate)
        chars = None if left is None else left + self._layout.chars(candidate, chosen.text)
        more = self._layout.shorten(candidate, limit, chars) if limit > now else None
        extra = 0 if more is None else self._layout.cost(candidate, more.text) - now
        if more is None or not 0 < extra <= state.tokens_left or more.share * candidate.share <= chosen.share:
            return
        share = more.share * candidate.share
        value = chosen.scored.score * (_worth(more.share) - _worth(shown))
        if self._price is not None and not self._price.pays(value, extra):
            return
        if state.usage.extend(candidate, chosen.text, more.text, extra):
            state.chosen[index] = chosen._replace(text=more.text, share=share, tokens=chosen.tokens + extra)
            state.tokens_left -= extra

    def _queue(self, state: BudgetState, items: Sequence[Scored], eligibility: Eligibility | None) -> GreedyQueue:
        queue = GreedyQueue(items, self._layout, self._strategy.packer, self._estimator, eligibility)
        for chosen in state.chosen:
            queue.open_group(chosen.scored)
        return queue

    def _fill_greedily(self, state: BudgetState, items: Sequence[Scored], eligibility: Eligibility | None) -> None:
        self._try_in_turn(state, self._queue(state, items, eligibility), frozenset())

    def _fill_together(self, state: BudgetState, items: Sequence[Scored]) -> None:
        """Chooses items together, then tries the others one by one in the tokens that leaves."""
        queue = self._queue(state, items, None)
        self._try_in_turn(state, queue, self._choose_together(state, queue, items))

    def _try_in_turn(self, state: BudgetState, queue: GreedyQueue, taken: frozenset[str]) -> None:
        """Tries the items of the queue one by one, but those whose ids are `taken`, until too many in a row didn't fit."""
        misses = 0
        for item in queue:
            if isinstance(item, Growth):
                self._grow_one(state, item.place)
                continue
            if taken and item.id in taken:
                continue
            out = self._try_item(state, queue, item)
            if out is None:
                misses = 0
                continue
            state.refused.append(out)
            misses += out.reason in ("budget", "price")
            if misses >= _MAX_MISSES:
                rest = queue.rest()
                state.untried += [item for item in rest if item.id not in taken] if taken else rest
                return

    def _try_item(self, state: BudgetState, queue: GreedyQueue, item: Scored) -> LeftOut | None:
        """Puts the item in, whole or as an excerpt; returns why not where it can't go in."""
        candidate, left = item.candidate, state.tokens_left
        line, group, header, passage, *_ = self._estimator.estimate(item)
        cost = line if group in queue.open_groups else line + header
        limit = min(left, self._long)
        if candidate.required:
            limit = min(left, _MAX_CONTINUITY) if candidate.source == "continuity" else left
        offered: tuple[str, float, int] | None = None
        chars = state.usage.chars_left(candidate)
        if passage:
            offered = self._excerpt(queue, item, min(limit, self._estimator.passage_cost(item)), chars)
        elif cost > limit or (chars is not None and self._layout.chars(candidate, candidate.text) > chars):
            offered = self._excerpt(queue, item, limit, chars)
        else:
            offered = candidate.text, candidate.share, cost
        if offered is None:
            offered = candidate.text, candidate.share, queue.cost(item, candidate.text)
        text, share, tokens = offered
        if tokens > left:
            return LeftOut(scored=item, reason="budget", tokens=cost)
        whole = share >= candidate.share
        value = item.score if whole else item.score * _worth(share)
        if self._price is not None and not candidate.required and not self._price.pays(value, tokens):
            return LeftOut(scored=item, reason="price", tokens=tokens, value=value)
        refusal = state.usage.refusal(candidate, text, tokens)
        if refusal is not None:
            return LeftOut(scored=item, reason=refusal, tokens=cost)
        state.add(item, text, share, tokens)
        queue.open_group(item)
        if passage and not whole and not self._broad:
            queue.offer_growth(Growth(item, len(state.chosen) - 1), 1.0 - shown_value(share))
        return None

    def _excerpt(self, queue: GreedyQueue, item: Scored, limit: int, chars: int | None) -> tuple[str, float, int] | None:
        """Text, share and cost of an excerpt of at most `limit` tokens, whose line has at most `chars` characters; None where
        none is worth showing."""
        if limit < _MIN_EXCERPT:
            return None
        if chars is not None and chars - self._layout.chars(item.candidate, "") < _MIN_EXCERPT_CHARS:
            return None
        short = self._layout.shorten(item.candidate, limit, chars)
        return None if short is None else (short.text, short.share * item.candidate.share, queue.cost(item, short.text))

    def _choose_together(self, state: BudgetState, queue: GreedyQueue, items: Sequence[Scored]) -> frozenset[str]:
        """Puts in the items that are worth most together; returns the ids of all that are in.

        Each item is offered as it went in when the items were tried one by one, and whole (or as its longest excerpt): so the
        result is never worse than one by one. Where `stop` ends the offering early, nothing is put in, and the gap is what the
        items that one by one left out are worth.
        """
        known = [self._offer(chosen.scored, chosen.text, chosen.share) for chosen in self._chosen_greedily(state, items)]
        given = {(offer.item.rank, offer.text) for offer in known}
        offers = list(known)
        for item in items:
            if self._stop():
                state.gap += sum(item.score for item in items) - sum(offer.item.score * offer.share for offer in known)
                return frozenset()
            offer = self._longest_offer(item, state.usage.chars_left(item.candidate))
            if (item.rank, offer.text) not in given:
                offers.append(offer)
        offers.sort(key=lambda offer: (offer.item.rank, -offer.share))
        best = select_together(
            offers, state.tokens_left, self._layout, queue.open_groups, state.usage, start=known, stop=self._stop
        )
        state.gap += best.gap
        for offer in best.offers:
            state.add(offer.item, offer.text, offer.share, queue.cost(offer.item, offer.text))
            queue.open_group(offer.item)
        return frozenset(chosen.id for chosen in state.chosen)

    def _chosen_greedily(self, state: BudgetState, items: Sequence[Scored]) -> list[Chosen]:
        """What would go in one by one, tried on a copy of the state."""
        trial = state.copy()
        self._fill_greedily(trial, items, None)
        return trial.chosen[len(state.chosen) :]

    def _longest_offer(self, item: Scored, chars: int | None) -> Offer:
        """The whole item, or the longest excerpt where the item is too long to go in whole."""
        whole = self._offer(item, item.candidate.text, item.candidate.share)
        limit = self._estimator.passage_cost(item) if self._estimator.estimate(item).passage else self._long
        long = whole.tokens > limit or (chars is not None and self._layout.chars(item.candidate, whole.text) > chars)
        short = self._layout.shorten(item.candidate, limit, chars) if long else None
        return whole if short is None else self._offer(item, short.text, short.share * item.candidate.share)

    def _offer(self, item: Scored, text: str, share: float) -> Offer:
        return Offer(item=item, text=text, tokens=self._layout.cost(item.candidate, text), share=share)


def _worth(share: float) -> float:
    """What a text is worth of which this share is shown; a breadcrumb, of which nothing is, points at it."""
    return shown_value(share) if share > 0 else _POINTER_VALUE


# Items chosen together for the highest total value, as a knapsack problem (PACK-6). The greedy packer tries one item at
# a time: in a small budget, the first item may displace two that are worth more together. Here items become numbers
# (value = P(relevant) × fraction shown, cost as written, headers of groups, caps), and `knapsack.solve` solves the
# problem. The scores must be probabilities: a sum of raw scores means nothing, and its optimum was measured to be worse
# than score order.


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


def select_together(
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
