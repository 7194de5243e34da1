"""Ask gate: asks the store once more, right before the writing, which items may be shown (PACK-8)."""

from __future__ import annotations

import asyncio
from collections.abc import Set
from functools import partial
from typing import Any, NamedTuple

from germane.injections.injection import WantedInjections
from germane.pipeline.assembly_state import Assembly, Late
from germane.pipeline.call_guard import Guard
from germane.pipeline.earlier_injections import Standing
from germane.pipeline.pack.gate import gate
from germane.pipeline.pack.packing import Packing
from germane.store import ScopedStore
from germane.types.request import Request

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
    before = standing.ids
    if not stored and not before:
        return packing, standing
    start: Any = partial(store.allowed, sorted(stored | before), at=request.at, filters=request.filters)
    if standing.bound:
        start = partial(_with_presence, store, stored, before, request)
    others = {item.id for item in packing.chosen if item.id not in stored}
    try:
        passed = await guard.call("gate", start, (frozenset, set, _Passed), patience=patience)
    except Late:
        if not others:
            raise
        assembly.hurried, passed = True, _Passed(frozenset(), before if standing.bound else frozenset())
    new, earlier = passed if isinstance(passed, _Passed) else (passed, passed)
    standing = standing.passed(earlier)
    if standing.bound:
        assembly.known = standing.kept()
    return gate(packing, new | others), standing


class _Passed(NamedTuple):
    """The ids of new items that may be shown, and of items that stand in texts which may go on standing."""

    new: Set[str]
    earlier: Set[str]


async def _with_presence(store: ScopedStore, new: Set[str], before: Set[str], request: Request) -> _Passed:
    """For a model that binds its thinking, what stands already is asked about in another way (INJECT-10)."""
    at, filters = request.at, request.filters
    wanted = WantedInjections(ids=before, presence=True)
    allowed, kept = await asyncio.gather(
        store.allowed(sorted(new), at=at, filters=filters),
        store.injections(lambda _: wanted, at=at, filters=filters),
    )
    return _Passed(frozenset(allowed), kept.present)
