"""Room: what is left of the budget, and how items go into it: one by one, or chosen together.

Mutable, and lives no longer than one packing. It never takes more than it was given, by costs line by line; whether the final
text keeps to that too is for `pack.py` to see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from germane.pipeline.pack.cost import Layout
from germane.pipeline.pack.cost_estimator import Brief
from germane.pipeline.pack.eligibility import Eligibility
from germane.pipeline.pack.exact import Offer, select
from germane.pipeline.pack.greedy import Queue
from germane.pipeline.pack.shares import Tally
from germane.types.candidate import Chosen, LeftOut, Scored
from germane.types.strategy import Strategy

__all__ = ["BudgetPacker"]

_WORTH_SHOWING = 24
"""Tokens: a shorter excerpt than this says too little to be worth its line."""
_LONG = 4
"""An item may take a quarter of the budget whole; of a longer one an excerpt of that size is taken where there is one."""
_LEAST_LONG = 128
_HOPELESS = 16
"""So many in a row didn't fit: the rest isn't tried."""
_TIGHT = 256
"""Tokens up to which `auto` chooses items together."""


class BudgetPacker:
    """`chosen` is what went in, in that order, `refused` what didn't and why, `untried` what came too late to be looked at;
    `gap` is how much more value could have gone in, where items were chosen together."""

    def __init__(
        self,
        available: int,
        fixed: int,
        layout: Layout,
        strategy: Strategy,
        eligibility: Eligibility,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.chosen: list[Chosen] = []
        self.refused: list[LeftOut] = []
        self.untried: list[Scored] = []
        self.gap = 0.0
        self.tight = strategy.packer == "exact" or (strategy.packer == "auto" and available <= _TIGHT)
        self._left = available - fixed
        self._long = max(_LEAST_LONG, available // _LONG)
        self._tally = Tally(strategy.shares, available)
        self._layout, self._strategy, self._sieve, self._stop = layout, strategy, eligibility, stop
        self._brief = Brief(layout)

    def fill(self, items: Sequence[Scored], *, together: bool = False) -> None:
        """Take what fits and may go in of `items`, in score order. Where sources have shares, a second round offers what they
        left unused."""
        before = len(self.refused)
        if together:
            self._round(self._sieve.through(items), together, None)
        else:
            self._round(items, together, self._sieve)
        if self._tally.lenient:
            return
        self._tally.lenient = True
        missed = self.refused[before:]
        self.refused[before:] = [out for out in missed if out.reason != "source_cap"]
        again = [out.scored for out in missed if out.reason == "source_cap"]
        self._round(sorted(again, key=lambda item: item.rank), together, None)
        self._tally.lenient = False

    def _round(self, items: Sequence[Scored], together: bool, eligibility: Eligibility | None) -> None:
        queue = Queue(items, self._layout, self._strategy.packer, self._brief, eligibility)
        for chosen in self.chosen:
            queue.opened(chosen.scored)
        taken = self._best(queue, items) if together else frozenset[str]()
        hopeless = 0
        for item in queue:
            if item.id in taken:
                continue
            out = self._try(queue, item)
            if out is None:
                hopeless = 0
                continue
            self.refused.append(out)
            hopeless += out.reason == "budget"
            if hopeless >= _HOPELESS:
                rest = queue.rest()
                self.untried += [item for item in rest if item.id not in taken] if taken else rest
                return

    def _best(self, queue: Queue, items: Sequence[Scored]) -> frozenset[str]:
        """Takes what is worth most together, and tells which items that was. Each may go in as it is offered, or as it did when
        they were tried one by one: so this is never worse than that."""
        known = [self._offered(chosen.scored, chosen.text, chosen.share) for chosen in self._tried(items)]
        given = {(offer.item.rank, offer.text) for offer in known}
        offers = list(known)
        for item in items:
            if self._stop():  # one by one, then: that much is there, and no more than all could be
                self.gap += sum(item.score for item in items) - sum(offer.item.score * offer.share for offer in known)
                return frozenset()
            offer = self._whole(item)
            if (item.rank, offer.text) not in given:
                offers.append(offer)
        offers.sort(key=lambda offer: (offer.item.rank, -offer.share))
        best = select(offers, self._left, self._layout, queue.open, self._tally, start=known, stop=self._stop)
        self.gap += best.gap
        for offer in best.offers:
            self._take(queue, offer.item, offer.text, offer.share, queue.cost(offer.item, offer.text))
        return frozenset(chosen.id for chosen in self.chosen)

    def _tried(self, items: Sequence[Scored]) -> list[Chosen]:
        """What would go in one by one."""
        trial = BudgetPacker(0, 0, self._layout, self._strategy, self._sieve)
        trial.chosen, trial._left, trial._long, trial._tally = self.chosen.copy(), self._left, self._long, self._tally.copy()
        trial._brief = self._brief
        trial._round(items, False, None)
        return trial.chosen[len(self.chosen) :]

    def _whole(self, item: Scored) -> Offer:
        """The item in whole, or the longest excerpt that is taken of one so long."""
        whole = self._offered(item, item.candidate.text, item.candidate.share)
        limit = self._brief.passage(item) if self._brief.weighed(item)[3] else self._long
        short = self._layout.shorten(item.candidate, limit) if whole.tokens > limit else None
        return whole if short is None else self._offered(item, short.text, short.share * item.candidate.share)

    def _offered(self, item: Scored, text: str, share: float) -> Offer:
        tokens = self._layout.cost(item.candidate, text, frozenset((self._layout.group(item.candidate),)))
        return Offer(item=item, text=text, tokens=tokens, share=share)

    def _try(self, queue: Queue, item: Scored) -> LeftOut | None:
        own, group, header, long = self._brief.weighed(item)
        cost = own if group in queue.open else own + header
        limit = self._left if item.candidate.required else min(self._left, self._long)
        offered: tuple[str, float, int] | None = None
        if long:
            offered = self._excerpt(queue, item, min(limit, self._brief.passage(item)))
        elif cost > limit:
            offered = self._excerpt(queue, item, limit)
        else:
            offered = item.candidate.text, item.candidate.share, cost
        if offered is None:
            offered = item.candidate.text, item.candidate.share, queue.cost(item, item.candidate.text)
        text, share, tokens = offered
        if tokens > self._left:
            return LeftOut(scored=item, reason="budget", tokens=cost)
        refusal = self._tally.refuses(item.candidate, text, tokens)
        if refusal is not None:
            return LeftOut(scored=item, reason=refusal, tokens=cost)
        self._take(queue, item, text, share, tokens)
        return None

    def _excerpt(self, queue: Queue, item: Scored, limit: int) -> tuple[str, float, int] | None:
        """Text, share and cost of an excerpt of at most `limit` tokens."""
        short = self._layout.shorten(item.candidate, limit) if limit >= _WORTH_SHOWING else None
        return None if short is None else (short.text, short.share * item.candidate.share, queue.cost(item, short.text))

    def grow(self) -> None:
        """What nobody else wanted goes to the excerpts, the best first: as a whole, or as far as it reaches."""
        for at, chosen in sorted(enumerate(self.chosen), key=lambda pair: pair[1].scored.rank):
            candidate = chosen.scored.candidate
            if chosen.share >= candidate.share or candidate.required or self._left < _WORTH_SHOWING:
                continue
            group = frozenset((self._layout.group(candidate),))
            now = self._layout.cost(candidate, chosen.text, group)
            limit = min(now + self._left, self._long)
            more = self._layout.shorten(candidate, limit) if limit > now else None
            extra = 0 if more is None else self._layout.cost(candidate, more.text, group) - now
            if more is None or not 0 < extra <= self._left or more.share * candidate.share <= chosen.share:
                continue
            if self._tally.grows(candidate, len(more.text) - len(chosen.text), extra):
                self.chosen[at] = replace(
                    chosen, text=more.text, share=more.share * candidate.share, tokens=chosen.tokens + extra
                )
                self._left -= extra

    def _take(self, queue: Queue, item: Scored, text: str, share: float, cost: int) -> None:
        self._tally.take(item.candidate, text, cost)
        self._left -= cost
        self.chosen.append(Chosen(scored=item, text=text, tokens=cost, share=share))
        queue.opened(item)
