"""Ask gate: asks the store once more, right before the writing, which items may be shown (PACK-8)."""

from __future__ import annotations

from collections.abc import Set
from functools import partial

from germane.pipeline.assembly_state import Assembly, Late
from germane.pipeline.call_guard import Guard
from germane.pipeline.earlier_injections import Standing
from germane.pipeline.pack.gate import gate
from germane.pipeline.pack.packing import Packing
from germane.store import ScopedStore

__all__ = ["ask_gate"]


async def ask_gate(
    assembly: Assembly,
    packing: Packing,
    standing: Standing,
    store: ScopedStore,
    guard: Guard,
    patience: float | None,
    registered: Set[str],
) -> tuple[Packing, Standing]:
    """Asks the store once more which chosen items, and which items of earlier texts, may be shown. Where it can't answer within
    `patience` seconds, none of its items may; raises `Late` where no other item is left. The items of `registered` sources
    aren't the store's to judge."""
    request = assembly.request
    stored = {item.id for item in packing.chosen if not item.scored.candidate.only_from(registered)}
    stored |= standing.ids
    if not stored:
        return packing, standing
    start = partial(store.allowed, sorted(stored), at=request.at, filters=request.filters)
    others = {item.id for item in packing.chosen if item.id not in stored}
    try:
        passed = await guard.call("gate", start, (frozenset, set), patience=patience)
    except Late:
        if not others:
            raise
        assembly.hurried, passed = True, frozenset()
    packed = gate(packing, passed | others)
    return packed, standing.passed(passed)
