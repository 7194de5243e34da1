"""Pack: choose what fits. Required items first, then the rest by the strategy's packer; what doesn't fit is skipped, and the
next is tried. The last word has the count of the final text: while it is above the budget, the lowest-scoring item goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.item import Chosen, LeftOut, Reason, Scored, Sensitivity
from germane.pack.cost import Layout
from germane.pack.greedy import Queue
from germane.pack.packing import Packing
from germane.pack.shares import Tally
from germane.strategy import Strategy

__all__ = ["pack", "trim"]

_WORTH_SHOWING = 24
"""Tokens: a shorter excerpt than this says too little to be worth its line."""
_LONG = 4
"""An item may take a quarter of the budget whole; of a longer one an excerpt of that size is taken where there is one."""
_LEAST_LONG = 128


def pack(
    ranked: Sequence[Scored],
    dropped: Sequence[Scored],
    *,
    available: int,
    layout: Layout,
    strategy: Strategy,
    directive: str = "",
    sensitivities: Sequence[Sensitivity] = ("public", "private"),
) -> Packing:
    """`ranked` is what may go in, in score order; `dropped` fell below the floor. At most `available` tokens in all."""
    left_out = [LeftOut(scored=item, reason="below_floor") for item in sorted(dropped, key=lambda one: one.rank)]
    wanted, twice = _distinct(ranked, sensitivities)
    left_out += twice
    fixed, refused = layout.fixed(directive), ""
    if fixed > available and directive and (alone := layout.total(directive, ())) > available:
        directive, refused, fixed = "", f"it takes {alone} tokens of {available}", layout.fixed("")
    room = _Room(available, fixed, layout, strategy)
    required = [item for item in wanted if item.candidate.required]
    others = [item for item in wanted if not item.candidate.required]
    for items in (required, others):
        left_out += room.fill(items)
    packing = Packing(
        directive=directive, chosen=tuple(room.chosen), left_out=tuple(left_out), tokens=0, directive_left_out=refused
    )
    return trim(packing, available, layout)


def trim(packing: Packing, available: int, layout: Layout) -> Packing:
    """Recount the final text; while it is above the budget the lowest-scoring item goes, required ones and the directive
    last (BUD-4)."""
    chosen, left_out, directive, refused = list(packing.chosen), list(packing.left_out), packing.directive, ""
    while (tokens := layout.total(directive, chosen)) > available:
        if not chosen and not directive:
            break
        if not chosen:
            directive, refused = "", f"it takes {tokens} tokens of {available}"
            continue
        worst = max(chosen, key=lambda item: (not item.scored.candidate.required, item.scored.rank))
        chosen.remove(worst)
        left_out.append(LeftOut(scored=worst.scored, reason="budget", tokens=worst.tokens))
    return replace(
        packing,
        chosen=tuple(chosen),
        left_out=tuple(left_out),
        directive=directive,
        tokens=tokens,
        directive_left_out=packing.directive_left_out or refused,
    )


class _Room:
    """What is left of the budget while it is being filled."""

    def __init__(self, available: int, fixed: int, layout: Layout, strategy: Strategy) -> None:
        self.chosen: list[Chosen] = []
        self._left = available - fixed
        self._long = max(_LEAST_LONG, available // _LONG)
        self._tally = Tally(strategy.shares, available)
        self._layout = layout
        self._strategy = strategy

    def fill(self, items: Sequence[Scored]) -> list[LeftOut]:
        """Take what fits; answer what didn't. Where sources have shares, a second round offers what they left unused."""
        queue = Queue(items, self._layout, self._strategy.packer)
        for chosen in self.chosen:
            queue.opened(chosen.scored)
        missed = [out for item in queue if (out := self._try(queue, item))]
        if self._tally.lenient:
            return missed
        self._tally.lenient = True
        again = [out.scored for out in missed if out.reason == "source_cap"]
        rest = [out for out in missed if out.reason != "source_cap"] + self.fill(again)
        self._tally.lenient = False
        return rest

    def _try(self, queue: Queue, item: Scored) -> LeftOut | None:
        text, share = item.candidate.text, 1.0
        whole = cost = queue.cost(item, text)
        limit = self._left if item.candidate.required else min(self._left, self._long)
        if cost > limit:
            short = self._layout.shorten(item.candidate, limit) if limit >= _WORTH_SHOWING else None
            if short is not None:
                text, share, cost = short.text, short.share, queue.cost(item, short.text)
            if cost > self._left:
                return LeftOut(scored=item, reason="budget", tokens=whole)
        refusal = self._tally.refuses(item.candidate, text, cost)
        if refusal is not None:
            return LeftOut(scored=item, reason=refusal, tokens=whole)
        self._tally.take(item.candidate, text, cost)
        self._left -= cost
        self.chosen.append(Chosen(scored=item, text=text, tokens=cost, share=share))
        queue.opened(item)
        return None


def _distinct(ranked: Sequence[Scored], sensitivities: Sequence[Sensitivity]) -> tuple[list[Scored], list[LeftOut]]:
    """The best of each content, and only of an allowed sensitivity: checked in the query, and here again (GATHER-5)."""
    seen: set[int] = set()
    kept: list[Scored] = []
    out: list[LeftOut] = []
    for item in sorted(ranked, key=lambda one: (not one.candidate.required, one.rank)):
        code = item.candidate.content_hash
        reason: Reason | None = None
        if item.candidate.sensitivity not in sensitivities:
            reason = "sensitivity"
        elif code and code in seen:
            reason = "duplicate"
        if reason is None:
            kept.append(item)
            seen.add(code)
        else:
            out.append(LeftOut(scored=item, reason=reason))
    return kept, out
