"""Pack stage: packs what was ranked into the budget; where time is short, by rank and by upper bounds (ENGINE-12).

Many long texts take tens of milliseconds to pack, most of it for excerpts. That is done in a thread, so that the event loop
stays free for other calls (ENGINE-8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from germane.clock import Clock
from germane.pipeline.assembly_state import Assembly
from germane.pipeline.deadline import Deadline
from germane.pipeline.format.layout import Format
from germane.pipeline.gather.gather import Gathered
from germane.pipeline.pack.hasty import pack_hastily
from germane.pipeline.pack.pack import pack, withhold
from germane.pipeline.pack.packing import Packing
from germane.pipeline.score_stage import Ranked
from germane.types.candidate import Scored

__all__ = ["pack_in_time"]

_SHARE = 0.5
"""The share of the time after gathering (8 to 50 ms) that packing needs; with less, it is done the quick way."""
_WRITING = 0.004
"""Seconds before the answer is due at which an exact packing stops searching: the gate and the writing come after it."""
_CLOSING_SHARE = 0.35
"""The share of the time after gathering at which hasty packing ends: the gate needs the rest."""
_INLINE = 32_000
"""Characters of candidates that are packed on the event loop."""


async def pack_in_time(
    assembly: Assembly,
    gathered: Gathered,
    ranked: Ranked,
    new: Sequence[Scored],
    layout: Format,
    bounds: Callable[[], Format],
    available: int,
    deadline: Deadline,
    clock: Clock,
) -> Packing:
    """Packs `new`, what of `ranked` doesn't stand in the prompt already, into `available` tokens. `bounds` opens a layout that
    costs each line by an upper bound of its tokens."""
    request, strategy, need = assembly.request, assembly.strategy, ranked.need
    assembly.hurried |= deadline.closer(clock.steady(), _SHARE)
    directive = "" if gathered.directive is None else gathered.directive.text
    if assembly.hurried or need is None:
        return pack_hastily(
            new,
            ranked.dropped,
            available=available,
            layout=layout,
            bounds=bounds(),
            strategy=strategy,
            directive=directive,
            sensitivities=request.filters.sensitivities,
            needed=need is None or need.met,
            stop=lambda: deadline.closer(clock.steady(), _CLOSING_SHARE),
        )
    steady = clock.steady_in_thread()
    work = partial(
        pack,
        new,
        ranked.dropped,
        available=available,
        layout=layout,
        strategy=strategy,
        directive=directive,
        sensitivities=request.filters.sensitivities,
        price=assembly.token_price(ranked.kept, need, gathered, divided=ranked.divided),
        broad=gathered.query.broad,
        stop=lambda: deadline.missed(steady() + _WRITING),
    )
    packing = work() if sum(len(item.candidate.text) for item in new) <= _INLINE else await asyncio.to_thread(work)
    return packing if need.met else withhold(packing, available, layout)
