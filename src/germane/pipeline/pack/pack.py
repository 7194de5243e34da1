"""Pack: choose what fits. Required items first, then the rest by the strategy's packer; what doesn't fit is skipped, and the
next is tried. Where items are chosen together (`exact`), what that leaves is filled one by one all the same, with excerpts too.
The last word has the count of the final text: while it is above the budget, the lowest-scoring item goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress

from germane.pipeline.pack.budget_packer import BudgetPacker
from germane.pipeline.pack.cost import Layout
from germane.pipeline.pack.eligibility import Eligibility
from germane.pipeline.pack.packing import Packing
from germane.types.candidate import LeftOut, Scored, Sensitivity
from germane.types.strategy import Strategy

__all__ = ["pack", "trim"]


def pack(
    ranked: Sequence[Scored],
    dropped: Sequence[Scored],
    *,
    available: int,
    layout: Layout,
    strategy: Strategy,
    directive: str = "",
    sensitivities: Sequence[Sensitivity] = ("public", "private"),
    stop: Callable[[], bool] = lambda: False,
) -> Packing:
    """`ranked` is what may go in, in score order; `dropped` fell below the floor. At most `available` tokens in all. `stop`
    ends an exact search early, with the best so far and the bound that still stands."""
    others, required = _in_order(ranked), list[Scored]()
    if True in (needed := [item.candidate.required for item in others]):
        required = list(compress(others, needed))
        others = [item for item in others if not item.candidate.required]
    fixed, refused = layout.fixed(directive), ""
    if fixed > available and directive and (alone := layout.total(directive, ())) > available:
        directive, refused, fixed = "", f"it takes {alone} tokens of {available}", layout.fixed("")
    eligibility = Eligibility(sensitivities)
    room = BudgetPacker(available, fixed, layout, strategy, eligibility, stop)
    room.fill(required)
    room.fill(others, together=room.tight)
    room.grow()
    packing = Packing(
        directive=directive,
        chosen=tuple(room.chosen),
        refused=(*eligibility.refused, *room.refused),
        untried=tuple(room.untried),
        dropped=tuple(_in_order(dropped)),
        sensitivities=frozenset(sensitivities),
        tokens=0,
        directive_left_out=refused,
    )
    if room.tight:
        packing = replace(packing, bound=packing.value + room.gap)
    return trim(packing, available, layout)


def trim(packing: Packing, available: int, layout: Layout) -> Packing:
    """Recount the final text; while it is above the budget the lowest-scoring item goes, required ones and the directive
    last (BUD-4)."""
    chosen, out, directive, refused = list(packing.chosen), list(packing.refused), packing.directive, ""
    while (tokens := layout.total(directive, chosen)) > available:
        if not chosen and not directive:
            break
        if not chosen:
            directive, refused = "", f"it takes {tokens} tokens of {available}"
            continue
        excess = tokens - available  # far above, several go before it is counted again; never more than would have to
        while chosen and excess > 0:
            worst = max(chosen, key=lambda item: (not item.scored.candidate.required, item.scored.rank))
            chosen.remove(worst)
            excess -= 2 * worst.tokens + 16
            out.append(LeftOut(scored=worst.scored, reason="budget", tokens=worst.tokens))
    return replace(
        packing,
        chosen=tuple(chosen),
        refused=tuple(out),
        directive=directive,
        tokens=tokens,
        directive_left_out=packing.directive_left_out or refused,
    )


def _in_order(items: Sequence[Scored]) -> Sequence[Scored]:
    """By rank; as they are where they are in order, which is how scoring answers them."""
    ranks = [item.rank for item in items]
    return items if ranks == sorted(ranks) else sorted(items, key=lambda item: item.rank)
