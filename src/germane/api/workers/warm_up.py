"""Warm-up: assemblies whose answers nobody gets, so that the first real one isn't late.

The first assembly loads, compiles and starts everything that is used for the first time, some of it once a thread.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from germane.api.strategies import DEFAULT, VERBOSE
from germane.engine.engine import Engine
from germane.engine.result_cache import ResultCache
from germane.kinds.memories.plans import new_memory, remember
from germane.kinds.messages.plans import Origin, record
from germane.stores.contract import Store
from germane.types.candidate import Candidate
from germane.types.evidence import Evidence
from germane.types.message import Message
from germane.types.query import Query
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import SourcePlan

_SCOPE = Scope(org="germane", agent="rehearsal")
"""A scope that only the scratch store is ever written in."""
_YOUNG = 10_000
"""New objects between two walks of the garbage collector over young ones. Python's default is 700, or 2,000 from 3.13 on; an
assembly makes thousands, nearly all of which are freed without the collector, and where many assemblies work at once, each walk
looks at all of theirs. Measured: docs/research/performance.md."""
_TEXT = "What did Ana say last Tuesday about <the> café in Lisbon?"


class _Prompt:
    """A source that offers one made-up message, so that the formatter has something to write."""

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        made = Candidate(
            id="-", source="recent", category="conversation", text=_TEXT, created_at=query.at, evidence=Evidence(recent=1.0)
        )
        return [made]


class _NoVectors:
    """An embedder without dimensions: searches with it use keywords alone."""

    identity, dimension, quick = "none/0", 0, True

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_now(texts)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), 0), dtype=np.float32)

    async def close(self) -> None: ...


async def warm_up(engine: Engine, store: Store, *, scratch_store: Store | None = None) -> None:
    """Takes some tens of milliseconds and writes nothing to `store`. `scratch_store`, which is thrown away afterwards, gets one
    message and one memory that are found again: searching an empty scope would warm up too little."""
    if scratch_store is not None:
        now, scratch = engine.clock.now(), scratch_store.within(_SCOPE)
        await scratch.commit(record([Message.of("user", _TEXT)], origin=Origin(scope=_SCOPE, session="s"), now=now))
        await scratch.commit(remember(new_memory(_TEXT, scope=_SCOPE, now=now)))
        await _assemble(engine, scratch_store)
    await _assemble(engine, store)


async def _assemble(engine: Engine, store: Store) -> None:
    embedder = engine.embedder if engine.embedder.quick else _NoVectors()  # a slow one is prepared elsewhere, and may hang
    warming = replace(engine, embedder=embedder, sources={"recent": lambda _: _Prompt()}, result_cache=ResultCache(0))
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
    for strategy in (DEFAULT, VERBOSE):
        await warming.assemble(request, store.within(_SCOPE), replace(strategy, floor=0.0))


@cache  # to ask how much is frozen takes tens of milliseconds in a large process
def freeze() -> None:
    """Excludes every living object from the garbage collector's walks, once per process: a walk over a large heap stops it for
    tens of milliseconds. Excluded objects are still freed when nothing refers to them, but their reference cycles aren't.

    A walk over young objects comes after `_YOUNG` new ones at the earliest; a process that walks more seldom keeps its own
    threshold. Where something was frozen before, the program minds its collector itself, and it is left alone."""
    if gc.get_freeze_count():
        return
    gc.collect()
    gc.freeze()
    young, *older = gc.get_threshold()
    if 0 < young < _YOUNG:
        gc.set_threshold(_YOUNG, *older)
