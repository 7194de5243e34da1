"""Gate: the last check before writing: drops chosen items that the store no longer allows (PACK-8)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from germane.stages.pack.pack import Packing
from germane.types.candidate import LeftOut


def gate(packing: Packing, allowed: Set[str]) -> Packing:
    """The packing without the items whose ids aren't in `allowed`; these are left out as `withdrawn`. The caller must recount
    the tokens (`pack.trim`)."""
    gone = tuple(item for item in packing.chosen if item.id not in allowed)
    if not gone:
        return packing
    bound = None if packing.bound is None else packing.bound - sum(item.score * item.share for item in gone)
    return replace(
        packing,
        bound=bound,
        chosen=tuple(item for item in packing.chosen if item.id in allowed),
        refused=packing.refused + tuple(LeftOut(scored=item.scored, reason="withdrawn", tokens=item.tokens) for item in gone),
    )
