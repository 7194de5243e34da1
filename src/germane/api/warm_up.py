"""Rehearsal: one assembly for nobody, before the first real one, which would otherwise pay for everything that is loaded,
compiled or started at its first use, some of it once a thread, and come late. And what else keeps answers in time."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace

from germane.api.strategies import COMPACT, DEFAULT
from germane.events.appending import Origin
from germane.events.record import record
from germane.memories.remember import new_memory, remember
from germane.pipeline.engine import Engine
from germane.pipeline.result_cache import ResultCache
from germane.store import Store
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.message import Message
from germane.types.query import Query
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import SourcePlan

__all__ = ["freeze", "warm_up"]

_SCOPE = Scope(org="germane", agent="rehearsal")
"""Never written to, but in what is thrown away: nothing is there to be found."""
_TEXT = "What did Ana say last Tuesday about <the> café in Lisbon?"


class _Prompt:
    """Offers one made-up message, so that there is something to write."""

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        made = Candidate(
            id="-", source="recent", category="conversation", text=_TEXT, created_at=query.at, evidence=Evidence(recent=1.0)
        )
        return [made]


async def warm_up(engine: Engine, store: Store, *, aside: Store | None = None) -> None:
    """Takes some tens of milliseconds and leaves nothing behind in `store`. In `aside`, which is thrown away afterwards,
    something is kept and found again: an empty scope can't show how that goes."""
    if aside is not None:
        now, journal = engine.clock.now(), aside.within(_SCOPE).journal
        await journal.commit(record([Message.of("user", _TEXT)], origin=Origin(scope=_SCOPE, session="s"), now=now))
        await journal.commit(remember(new_memory(_TEXT, scope=_SCOPE, now=now)))
        await _assemble(engine, aside)
    await _assemble(engine, store)


async def _assemble(engine: Engine, store: Store) -> None:
    rehearsing = replace(engine, sources={"recent": lambda _: _Prompt()}, result_cache=ResultCache(0))
    message = Message.of("user", _TEXT)
    request = Request(
        scope=_SCOPE,
        messages=(message,),
        raw=(message,),
        model="gpt-4o",
        provider="openai",
        at=engine.clock.now(),
        deadline=None,
    )
    for strategy in (DEFAULT, COMPACT):
        await rehearsing.assemble(request, store.within(_SCOPE), replace(strategy, floor=0.0))


def freeze() -> None:
    """Take what is alive now out of the garbage collector's walks, unless somebody has done so in this process before. It is
    still freed when nothing refers to it; only cycles among it are kept."""
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()
