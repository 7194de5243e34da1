"""Pack: choose what fits. Required items first, then the rest by the strategy's packer; what doesn't fit is skipped, and the
next is tried. Where items are chosen together (`exact`), what that leaves is filled one by one all the same, with excerpts too.
The last word has the count of the final text: while it is above the budget, the lowest-scoring item goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from germane.item import LeftOut, Reason, Scored, Sensitivity
from germane.pack.cost import Layout
from germane.pack.packing import Packing
from germane.pack.room import Room
from germane.strategy import Strategy

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
    left_out = [LeftOut(scored=item, reason="below_floor") for item in sorted(dropped, key=lambda one: one.rank)]
    wanted, twice = _distinct(ranked, sensitivities)
    left_out += twice
    fixed, refused = layout.fixed(directive), ""
    if fixed > available and directive and (alone := layout.total(directive, ())) > available:
        directive, refused, fixed = "", f"it takes {alone} tokens of {available}", layout.fixed("")
    room = Room(available, fixed, layout, strategy, stop)
    required = [item for item in wanted if item.candidate.required]
    others = [item for item in wanted if not item.candidate.required]
    left_out += room.fill(required)
    left_out += room.fill(others, together=room.tight)
    room.grow()
    packing = Packing(
        directive=directive, chosen=tuple(room.chosen), left_out=tuple(left_out), tokens=0, directive_left_out=refused
    )
    if room.tight:
        packing = replace(packing, bound=packing.value + room.gap)
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
