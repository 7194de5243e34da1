"""Pack: chooses the items that fit: required items first, then the others by the strategy's packer.

An item that doesn't fit is skipped and the next one is tried. Where items are chosen together (`exact`), the tokens that this
leaves are filled one by one, with excerpts too. The final text is counted last: while it is above the budget, the
lowest-scoring item is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import compress

from germane.pipeline.pack.budget_packer import BudgetPacker
from germane.pipeline.pack.cost import Layout, fit_directive
from germane.pipeline.pack.eligibility import Eligibility
from germane.pipeline.pack.packing import Packing
from germane.pipeline.pack.task_shares import is_task
from germane.types.amount import TokenPrice
from germane.types.candidate import LeftOut, Scored, Sensitivity
from germane.types.strategy import Strategy

__all__ = ["pack", "trim", "withhold"]


def pack(
    ranked: Sequence[Scored],
    dropped: Sequence[Scored],
    *,
    available: int,
    layout: Layout,
    strategy: Strategy,
    directive: str = "",
    sensitivities: Sequence[Sensitivity] = ("public", "private"),
    price: TokenPrice | None = None,
    broad: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Packing:
    """Packs `ranked`, the items that may go in, into at most `available` tokens in all. `dropped` are the items below the
    floor. With a `price`, items go in while they are worth their tokens (AMOUNT-1). `broad` shows short passages of many
    messages. `stop` ends an exact search early, with the best packing so far and the bound that still holds."""
    others, required = _by_rank(ranked), list[Scored]()
    if True in (needed := [item.candidate.required for item in others]):
        required = list(compress(others, needed))
        others = [item for item in others if not item.candidate.required]
    directive, fixed, refused = fit_directive(directive, available, layout)
    eligibility = Eligibility(sensitivities)
    packer = BudgetPacker(available, fixed, layout, strategy, eligibility, stop, price, broad)
    packer.fill_tasks([item for item in required if is_task(item.candidate)], available)
    packer.fill([item for item in required if not is_task(item.candidate)])
    packer.fill(others, together=packer.together)
    packer.grow()
    packing = Packing(
        directive=directive,
        chosen=tuple(packer.state.chosen),
        refused=(*eligibility.refused, *packer.state.refused),
        untried=tuple(packer.state.untried),
        dropped=tuple(_by_rank(dropped)),
        sensitivities=frozenset(sensitivities),
        tokens=0,
        directive_left_out=refused,
        price=price,
    )
    if packer.together:
        packing = replace(packing, bound=packing.value + packer.state.gap)
    return trim(packing, available, layout)


def withhold(packing: Packing, available: int, layout: Layout) -> Packing:
    """The packing without what was searched for: P(need) is too low (NEED-1). Required items and the directive stay."""
    kept = tuple(item for item in packing.chosen if item.scored.candidate.required)
    if len(kept) == len(packing.chosen):
        return replace(packing, withheld=True)
    gone = (item for item in packing.chosen if not item.scored.candidate.required)
    refused = tuple(LeftOut(scored=item.scored, reason="not_needed", tokens=item.tokens) for item in gone)
    return trim(replace(packing, chosen=kept, refused=(*packing.refused, *refused), withheld=True), available, layout)


def trim(packing: Packing, available: int, layout: Layout) -> Packing:
    """Counts the final text; while it is above `available` tokens, removes the lowest-scoring item, required items and the
    directive last (BUD-4)."""
    chosen, out, directive, refused = list(packing.chosen), list(packing.refused), packing.directive, ""
    while (tokens := layout.total(directive, chosen)) > available:
        if not chosen and not directive:
            break
        if not chosen:
            directive, refused = "", f"it takes {tokens} tokens of {available}"
            continue
        excess = tokens - available  # far above the budget, several items go before the next count, but none too many
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


def _by_rank(items: Sequence[Scored]) -> Sequence[Scored]:
    """The items by rank; the same sequence where it is in order already, as scoring returns it."""
    ranks = [item.rank for item in items]
    return items if ranks == sorted(ranks) else sorted(items, key=lambda item: item.rank)
