"""Every class of exception at every stage: an answer with a reason, the caller's messages in it, the directive where it can be
written, and nothing of what the exception said."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import apsw
import pytest

from germane import Agent
from germane.api.strategies import DEFAULT
from germane.engine.engine import Engine
from germane.errors import (
    Conflict,
    EmbedderError,
    GermaneError,
    InvalidInput,
    NotFound,
    StoreCorrupt,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
    UnknownName,
)
from germane.kinds.memories.directive import Directive
from germane.models.tokenizers import open_tokenizer
from germane.stores.contract import ScopedStore
from germane.types.context import Context
from germane_testing.builders import Hashed
from germane_testing.faults import Raise, faulty
from germane_testing.time_warp import run
from support.scoped_stores import DIRECTIVE, MEMORY, engine, keep_result, request, scoped

CANARY = "canary-7351"


class Panic(BaseException):
    """What a library in another language raises when it gives up: no `Exception`, and no exit either."""


ERRORS: tuple[type[BaseException], ...] = (
    *(ValueError, KeyError, MemoryError, RecursionError, OSError, ConnectionResetError, TimeoutError, asyncio.TimeoutError),
    *(StopIteration, StopAsyncIteration, AssertionError, asyncio.InvalidStateError, asyncio.QueueEmpty, Panic),
    *(sqlite3.OperationalError, sqlite3.DatabaseError, apsw.BusyError, apsw.CorruptError, apsw.IOError, apsw.FullError),
    *(GermaneError, InvalidInput, UnknownName, Conflict, NotFound, StoreError, StoreUnavailable, StoreCorrupt, StoreTooNew),
    EmbedderError,
)
STORE = (
    *(
        "memories.search",
        "ask.PinnedMemories",
        "events.search",
        "ask.RecentEvents",
        "events.speakers",
        "ask.CurrentDirective",
        "ask.AllowedIds",
    ),
    *("ask.StandingBlocks", "blocks.search", "revision"),
)
STAGES = {
    "turns": "germane.engine.admission.AdmissionQueue.acquire",
    "measure": "germane.stages.measure.measure",
    "settle": "germane.stages.measure.count_within",
    "cache suits": "germane.engine.result_cache.ResultCache.suits",
    "cache key": "germane.engine.result_cache.ResultCache.key",
    "cache find": "germane.engine.result_cache.ResultCache.find",
    "read": "germane.engine.engine.read",
    "sources": "germane.engine.engine.sources",
    "gather": "germane.engine.engine.gather",
    "standing": "germane.engine.fallback.DirectiveCache.fill_missing",
    "merge": "germane.stages.gather.merge.merge",
    "fresh": "germane.stages.gather.merge.fresh",
    "score": "germane.engine.selection.score",
    "floor": "germane.engine.selection.split_at_floor",
    "pack": "germane.engine.selection.pack",
    "gate": "germane.engine.selection.gate",
    "cache put": "germane.engine.result_cache.ResultCache.put",
}
"""Where the directive can still be written."""
LAST = {
    "catalog": "germane.catalog.profiles.Catalog.find",
    "format": "germane.engine.engine.open_format",
    "nonce": "germane.engine.engine.nonce",
    "write": "germane.stages.write.layout.Format.write",
    "inject": "germane.engine.fallback.inject",
}
"""Where it can't."""


def raising(error: type[BaseException]) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise error(CANARY)

    return fail


@contextmanager
def broken(part: str, error: type[BaseException]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, raising(error))
        yield


def answer(germane: Engine, stored: ScopedStore, breaking: AbstractContextManager[Any], known: bool = True) -> Context:
    """The directive was read before, by another question, unless it isn't `known`."""

    async def story() -> Context:
        if known:
            germane.directive_cache.learn(stored.scope, Directive(DIRECTIVE))
        asked = request(scope=stored.scope)
        keep_result(germane, asked)
        with breaking:
            context = await germane.assemble(asked, stored, DEFAULT)
        assert context.messages[-1] is asked.raw[-1]
        assert CANARY not in f"{context.metadata} {context.trace.warnings} {context.trace.sources} {context.explain()}"
        await asyncio.sleep(1)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return context

    return run(story())


def reasons(error: type[BaseException]) -> set[str]:
    """A `StopIteration` can't leave a coroutine as itself."""
    return {f"assembly_error:{error.__name__}"} | ({"assembly_error:RuntimeError"} if error is StopIteration else set())


@pytest.mark.requirement("ENGINE-2", "ENGINE-3", "ENGINE-4")
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
@pytest.mark.parametrize("stage", STAGES)
def test_any_error_at_any_stage_before_writing_leaves_the_directive(stage: str, error: type[BaseException]) -> None:
    """L2 with the error's type; L0 where only the cache is concerned."""
    context = answer(engine(), scoped(), broken(STAGES[stage], error))
    assert DIRECTIVE in context.added
    if stage in ("cache suits", "cache key"):
        assert (context.metadata.degradation_level, context.metadata.fallback_reason) == (0, "")
        return
    assert context.metadata.fallback_reason in reasons(error)
    assert (context.metadata.degradation_level, context.items) == (2, ())
    assert MEMORY.text not in context.added


@pytest.mark.requirement("ENGINE-2", "ENGINE-3")
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
@pytest.mark.parametrize("stage", LAST)
def test_any_error_where_everything_is_written_leaves_the_messages(stage: str, error: type[BaseException]) -> None:
    """L3."""
    context = answer(engine(), scoped(), broken(LAST[stage], error))
    assert (context.added, context.items, len(context.messages)) == ("", (), 1)
    assert context.metadata.fallback_reason in reasons(error)
    assert context.metadata.degradation_level == 3


@pytest.mark.requirement("ENGINE-2", "ENGINE-3", "GATHER-2")
@pytest.mark.parametrize("error", [*ERRORS, asyncio.CancelledError], ids=lambda error: error.__name__)
@pytest.mark.parametrize("point", [*STORE, "embed", "embed_now"])
def test_any_error_of_the_store_or_the_embedder_leaves_the_directive(point: str, error: type[BaseException]) -> None:
    """At most what it would have brought is missing; its report names the type."""
    embedder = Hashed(quick=point != "embed")
    if point.startswith("embed"):
        embedder = faulty(embedder, Raise(error(CANARY)), point)
    session = "s1" if point == "ask.RecentEvents" else None  # only a session has a last exchange to go on from
    context = answer(engine(embedder), faulty(scoped(session), Raise(error(CANARY)), point), nullcontext())
    assert DIRECTIVE in context.added
    told = {report.name: report for report in context.metadata.sources}
    if point == "ask.AllowedIds":
        assert context.items == ()
        assert context.metadata.fallback_reason in reasons(error) | {"assembly_timeout"}
    elif point == "revision":
        assert context.metadata.degradation_level == 0
    else:
        assert (context.metadata.degradation_level, context.metadata.fallback_reason) == (1, "")
        assert [report.reason for report in told.values() if report.status == "error"] in [
            [reason.partition(":")[2]] for reason in reasons(error)
        ]


@pytest.mark.requirement("ENGINE-2", "ENGINE-3")
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
@pytest.mark.parametrize("way", ["opening", "counting", "counting and bounding"])
def test_any_error_of_the_tokenizer_leaves_the_directive(way: str, error: type[BaseException]) -> None:
    """What can't be counted takes its size in bytes, which is never too little."""

    class Broken:
        name, exact = "broken", True

        def __init__(self, _: str) -> None:
            if way == "opening":
                raise error(CANARY)

        def count(self, text: str) -> int:
            raise error(CANARY)

        def ceiling(self, text: str) -> int:
            if way == "counting":
                return open_tokenizer("o200k").ceiling(text)
            raise error(CANARY)

    context = answer(replace(engine(), tokenizer=Broken), scoped(), nullcontext())
    assert DIRECTIVE in context.added
    assert context.metadata.degradation_level == 2
    assert context.metadata.fallback_reason in reasons(error)
    assert context.metadata.total_tokens_injected >= open_tokenizer("o200k").count(context.added)


@pytest.mark.requirement("ENGINE-2", "ENGINE-3")
@pytest.mark.parametrize("stage", ["merge", "fresh", "score", "floor", "pack", "gate", "cache put"])
def test_an_error_after_gathering_leaves_a_directive_never_read_before(stage: str) -> None:
    """It has just been read."""
    context = answer(engine(), scoped(), broken(STAGES[stage], ValueError), known=False)
    assert DIRECTIVE in context.added
    assert [report.status for report in context.metadata.sources if report.name == "directive"] == ["ok"]


@pytest.mark.requirement("ENGINE-2")
def test_where_everything_before_writing_fails_too_the_messages_come_back() -> None:
    """And nobody is told a directive that isn't known: a warning says so."""
    context = answer(engine(), scoped(), broken(STAGES["gather"], ValueError), known=False)
    assert (context.added, context.metadata.degradation_level) == ("", 3)
    assert any("none is known" in warning for warning in context.trace.warnings)


@pytest.mark.requirement("ENGINE-2", "MEM-5")
@pytest.mark.parametrize("error", [error for error in ERRORS if error is not Panic], ids=lambda error: error.__name__)
async def test_counting_what_was_injected_never_costs_the_answer(agent: Agent, error: type[Exception]) -> None:
    """Not even of a store that can't tell whether it may be written."""
    await agent.remember("Prefers oolong to coffee", kind="preference")
    retrievals = agent._parts.retrievals

    class Unreadable:
        @property
        def read_only(self) -> bool:
            raise error(CANARY)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrievals, "_store", Unreadable())
        context = await agent.assemble([{"role": "user", "content": "oolong or coffee?"}], model="gpt-4o", deadline=None)
    assert len(context.items) == 1
