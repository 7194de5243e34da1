"""Whatever hangs, dawdles, raises or answers rubbish: the call is answered in time, with less context and never with more."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from germane.api.strategies import DEFAULT
from germane.clock import Clock
from germane.engine import selection
from germane.engine.engine import Engine
from germane.errors import StoreCorrupt, StoreUnavailable
from germane.kinds.memories.directive import Directive
from germane.stages.gather.gather import Abandoned
from germane.stores.contract import ScopedStore
from germane.types.context import Context
from germane.types.request import Request
from germane.types.trace import SourceReport
from germane_testing.builders import MOMENT, Hashed
from germane_testing.faults import Fault, Garbage, Hang, Raise, Slow, faulty
from germane_testing.time_warp import run, warped
from support.scoped_stores import DIRECTIVE, MEMORY, MESSAGE, engine, idle, keep_result, request, scoped

CANARY = "canary-7351"
SEARCHES = {
    "memories.search": "memories",
    "ask.PinnedMemories": "structured",
    "events.search": "messages",
    "ask.StandingBlocks": "blocks",
    "blocks.search": "archive",
}
POINTS = (
    *SEARCHES,
    "ask.RecentEvents",
    "events.speakers",
    "ask.CurrentDirective",
    "ask.AllowedIds",
    "revision",
    "embed",
    "embed_now",
)
ERRORS = (
    *(OSError, TimeoutError, MemoryError, RecursionError, KeyError, ValueError, AssertionError, StopAsyncIteration),
    *(StoreUnavailable, StoreCorrupt, asyncio.CancelledError, asyncio.InvalidStateError),
)
RUBBISH = (None, CANARY, 42, [None], Ellipsis, {"a": 1}, [CANARY], b"")
FAULTS: tuple[Fault, ...] = (
    *(Hang(), Slow(0.030), Slow(0.047), Slow(3600.0)),
    *(Raise(error(CANARY)) for error in ERRORS),
    *(Garbage(answer) for answer in RUBBISH),
)
CASES = [(point, fault) for point in POINTS for fault in FAULTS]


def broken(point: str, fault: Fault) -> tuple[Engine, ScopedStore]:
    """An engine with one part of it failing. The revision is asked for where a result is kept."""
    if point.startswith("embed"):
        return engine(faulty(Hashed(quick=point == "embed_now"), fault, point)), scoped()
    session = "s1" if point == "ask.RecentEvents" else None  # only a session has a last exchange to go on from
    germane, stored = engine(), scoped(session)
    if point == "revision":
        keep_result(germane, request(scope=stored.scope))
    return germane, faulty(stored, fault, point)


async def answered(germane: Engine, stored: ScopedStore, asked: Request | None = None) -> tuple[Context, float]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    context = await germane.assemble(asked or request(scope=stored.scope), stored, DEFAULT)
    return context, loop.time() - began


def statuses(context: Context) -> dict[str, SourceReport]:
    return {report.name: report for report in context.metadata.sources}


def said(context: Context) -> str:
    """Everything of it that may end in a log."""
    return f"{context.metadata} {context.trace.warnings} {context.trace.sources} {context.explain()}"


@pytest.mark.requirement("ENGINE-2")
@pytest.mark.parametrize(("point", "fault"), CASES, ids=repr)
def test_any_fault_at_any_point_is_answered_in_time_with_the_directive(point: str, fault: Fault) -> None:
    """In 48 ms, with the caller's messages last and the directive first; no error text says what it was about."""

    async def story() -> None:
        germane, stored = broken(point, fault)
        await germane.assemble(replace(request(), query="something before"), scoped(), DEFAULT)
        asked = request(scope=stored.scope)
        context, seconds = await answered(germane, stored, asked)
        assert seconds <= 0.048
        assert context.messages[-1] is asked.raw[-1]
        assert DIRECTIVE in context.added
        assert CANARY not in said(context)
        assert context.metadata.degradation_level in (0, 1, 2)

    run(story())


@pytest.mark.requirement("ENGINE-2", "GATHER-2")
@pytest.mark.parametrize("point", SEARCHES)
@pytest.mark.parametrize(("fault", "status"), [(Hang(), "timeout"), (Raise(OSError), "error"), (Garbage([None]), "error")])
@warped
async def test_a_failing_source_takes_no_other_down_and_its_status_tells(point: str, fault: Fault, status: str) -> None:
    """L1, no reason; what the others found is there."""
    context, _ = await answered(*broken(point, fault))
    told = statuses(context)
    assert (context.metadata.degradation_level, context.metadata.fallback_reason) == (1, "")
    assert {name for name, report in told.items() if report.status not in ("ok", "skipped")} == {SEARCHES[point]}
    assert told[SEARCHES[point]].status == status
    found = {item.source for item in context.items}
    assert found == {"memories", "messages"} - {SEARCHES[point]}


@pytest.mark.requirement("GATHER-2")
@pytest.mark.parametrize(("point", "fault"), [("events.speakers", Hang()), ("embed", Hang()), ("embed_now", Raise(OSError))])
@warped
async def test_without_a_vector_keywords_serve(point: str, fault: Fault) -> None:
    """Searching goes on when half the time is gone: an embedder that hangs takes no source with it."""
    context, seconds = await answered(*broken(point, fault))
    assert {item.id for item in context.items} == {MEMORY.id, MESSAGE.id}
    assert context.metadata.degradation_level == 1
    assert seconds <= 0.041


@pytest.mark.requirement("ENGINE-2")
@warped
async def test_nothing_wrong_is_level_zero_and_takes_no_time() -> None:
    """The fakes themselves are sound."""
    context, seconds = await answered(engine(), scoped())
    assert (context.metadata.degradation_level, context.metadata.fallback_reason, seconds) == (0, "", 0.0)
    assert {item.id for item in context.items} == {MEMORY.id, MESSAGE.id}


@pytest.mark.requirement("ENGINE-2")
@warped
async def test_a_source_that_is_late_but_in_time_is_used() -> None:
    """30 ms is within the 40 that gathering has; 41 is not."""
    for seconds, level in ((0.030, 0), (0.041, 1)):
        context, taken = await answered(engine(), faulty(scoped(), Slow(seconds), "memories.search"))
        assert context.metadata.degradation_level == level
        assert taken == pytest.approx(min(seconds, 0.040))


@pytest.mark.requirement("ENGINE-2")
@pytest.mark.parametrize(
    ("deadline", "gathered"),
    [(60.0, 59.950), (5.0, 4.950), (0.25, 0.225), (0.048, 0.040), (0.030, 0.022), (0.010, 0.006), (0.005, 0.003)],
)
def test_gathering_ends_eight_milliseconds_before_the_answer_is_due(deadline: float, gathered: float) -> None:
    """However much time the caller gives; of a deadline below 20 ms two fifths remain."""

    async def story() -> None:
        context, seconds = await answered(engine(), faulty(scoped(), Hang(), "memories.search"), request(deadline=deadline))
        assert seconds == pytest.approx(gathered, abs=1e-6)
        assert statuses(context)["memories"].status == "timeout"

    run(story())


@pytest.mark.requirement("ENGINE-2")
@pytest.mark.parametrize(("spent", "left"), [(0.010, 0.030), (0.030, 0.010), (0.045, 0.0), (0.5, 0.0)])
@warped
async def test_the_time_counts_from_when_the_call_came(spent: float, left: float) -> None:
    """Reading ten thousand messages takes some of it."""
    await asyncio.sleep(1)
    loop = asyncio.get_running_loop()
    began, germane = loop.time(), engine()
    germane.directive_cache.learn(scoped().scope, Directive(DIRECTIVE))
    context = await germane.assemble(request(), faulty(scoped(), Hang(), "memories.search"), DEFAULT, began - spent)
    assert loop.time() - began == pytest.approx(left)
    assert DIRECTIVE in context.added


@pytest.mark.requirement("ENGINE-2")
@warped
async def test_without_a_deadline_everything_is_waited_for() -> None:
    """An hour, if that is what it takes."""
    context, seconds = await answered(engine(), faulty(scoped(), Slow(3600.0), "memories.search"), request(deadline=None))
    assert (context.metadata.degradation_level, seconds) == (0, 3600.0)


@pytest.mark.requirement("ENGINE-2", "ENGINE-4")
@warped
async def test_of_many_at_once_the_first_are_answered_in_full_and_nobody_late() -> None:
    """In the order they came; who comes too late has the directive, and those on the brink what takes no search."""
    germane, stored = engine(admission=idle(1)), faulty(scoped(), Slow(0.009), "memories.search")
    await answered(germane, stored)
    found = await asyncio.gather(*(answered(germane, stored, request(f"question {number}")) for number in range(20)))
    levels = [context.metadata.degradation_level for context, _ in found]
    assert levels == sorted(levels)
    assert levels.count(0) == 4
    assert max(seconds for _, seconds in found) <= 0.048
    for context, _ in found:
        assert DIRECTIVE in context.added
        assert context.metadata.fallback_reason == ("shed" if context.metadata.degradation_level == 2 else "")
    brink = [statuses(context) for context, _ in found if context.metadata.degradation_level == 1]
    assert [(told["memories"].reason, told["messages"].reason) for told in brink] == [("busy", "busy")] * len(brink)


@pytest.mark.requirement("ENGINE-2", "ENGINE-4")
@pytest.mark.parametrize("fault", [Hang(), Raise(OSError), Garbage(42), Garbage(None), Raise(asyncio.CancelledError)])
@warped
async def test_a_directive_that_cannot_be_read_is_the_last_known_one(fault: Fault) -> None:
    """Rubbish isn't learned either: the third call still has the right one. Who never had one gets none."""
    germane = engine()
    await answered(germane, scoped())
    for question in ("one?", "two?"):
        context, _ = await answered(germane, faulty(scoped(), fault, "ask.CurrentDirective"), request(question))
        assert DIRECTIVE in context.added
        assert context.metadata.directive_injected
        assert statuses(context)["directive"].status in ("timeout", "error")
        assert context.metadata.degradation_level == 1
    context, _ = await answered(engine(), faulty(scoped(), fault, "ask.CurrentDirective"))
    assert not context.metadata.directive_injected
    assert context.items


@pytest.mark.requirement("ENGINE-3", "PACK-8")
@pytest.mark.parametrize("fault", [f for f in FAULTS if f not in (Slow(0.030), Slow(0.047))], ids=repr)
def test_when_the_gate_fails_no_memory_goes_in(fault: Fault) -> None:
    """What can't be asked isn't allowed: the directive alone."""

    async def story() -> None:
        context, _ = await answered(*broken("ask.AllowedIds", fault))
        assert context.items == ()
        assert context.added.startswith("<directive")
        assert DIRECTIVE in context.added
        assert MEMORY.text not in context.added
        assert context.metadata.degradation_level == 2
        assert context.metadata.fallback_reason.startswith(("assembly_timeout", "assembly_error:"))

    run(story())


@pytest.mark.requirement("PACK-8")
@warped
async def test_what_the_gate_no_longer_allows_is_taken_out_and_the_rest_stays() -> None:
    """Left out as withdrawn, at level 0: nothing failed."""
    context, _ = await answered(engine(), faulty(scoped(), Garbage(frozenset({MESSAGE.id})), "ask.AllowedIds"))
    assert [item.id for item in context.items] == [MESSAGE.id]
    assert [(out.id, out.reason) for out in context.trace.left_out] == [(MEMORY.id, "withdrawn")]
    assert context.metadata.degradation_level == 0
    assert MEMORY.text not in context.added


def failing(*_: object, **__: object) -> Any:
    raise ZeroDivisionError(CANARY)


@pytest.mark.requirement("ENGINE-2", "ENGINE-3")
@pytest.mark.parametrize(
    "stage",
    [
        *("engine.gather", "engine.read", "engine.distinct", "selection.score", "selection.split_at_floor"),
        *("selection.pack", "engine.ask_gate"),
    ],
)
@warped
async def test_a_fault_between_measuring_and_writing_leaves_the_directive(stage: str) -> None:
    """L2, and the type of the error, not its text."""
    germane = engine()
    await answered(germane, scoped())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"germane.engine.{stage}", failing)
        context, _ = await answered(germane, scoped(), request("another question?"))
    assert context.metadata.fallback_reason == "assembly_error:ZeroDivisionError"
    assert (context.metadata.degradation_level, context.items) == (2, ())
    assert DIRECTIVE in context.added
    assert CANARY not in said(context)


@pytest.mark.requirement("ENGINE-2", "ENGINE-3")
@pytest.mark.parametrize(
    "part",
    [
        "germane.engine.engine.open_format",
        "germane.engine.engine.nonce",
        "germane.stages.write.layout.Format.write",
        "germane.engine.fallback.inject",
        "germane.catalog.profiles.Catalog.find",
    ],
)
@warped
async def test_where_not_even_the_directive_can_be_written_the_messages_come_back(part: str) -> None:
    """L3: the very objects, nothing added."""
    germane, asked = engine(), request()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, failing)
        context, _ = await answered(germane, scoped(), asked)
    assert context.messages == list(asked.raw)
    assert context.messages[0] is asked.raw[0]
    assert (context.added, context.system, context.items, context.metadata.memory_ids) == ("", None, (), ())
    assert context.metadata.fallback_reason == "assembly_error:ZeroDivisionError"
    assert context.metadata.degradation_level == 3
    assert context.metadata.total_tokens_injected == 0
    assert CANARY not in said(context)


@pytest.mark.requirement("ENGINE-2", "ENGINE-8")
@pytest.mark.parametrize(("module", "stage"), [(selection, "score"), (selection, "pack")])
@warped
async def test_a_stage_that_takes_too_long_is_noticed_right_after_it(module: ModuleType, stage: str) -> None:
    """The deadline is looked at between the stages: the directive alone, in time for the caller to go on."""
    spent = 0.0
    slow = getattr(module, stage)

    def steady() -> float:
        return asyncio.get_running_loop().time() + spent

    def dawdling(*args: Any, **options: Any) -> Any:
        nonlocal spent
        spent += 0.050
        return slow(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, stage, dawdling)
        context, _ = await answered(engine(clock=Clock(now=lambda: MOMENT, steady=steady)), scoped())
    assert context.metadata.fallback_reason == "assembly_timeout"
    assert (context.metadata.degradation_level, context.items) == (2, ())
    assert DIRECTIVE in context.added
    assert [name for name, _ in context.metadata.timings][-1] == stage


@pytest.mark.requirement("ENGINE-2")
@pytest.mark.parametrize("point", POINTS[:8])
@warped
async def test_cancelling_the_call_cancels_it_and_leaves_nothing_running(point: str) -> None:
    """Cancellation is the caller's; it isn't answered with a context."""
    germane, stored = broken(point, Hang())
    call = asyncio.ensure_future(germane.assemble(request(scope=stored.scope), stored, DEFAULT))
    await asyncio.sleep(0.001)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(1)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert len(germane.abandoned) == 0


@pytest.mark.requirement("ENGINE-2", "ENGINE-3")
@warped
async def test_what_a_source_raised_before_the_call_was_cancelled_is_in_no_log() -> None:
    """asyncio logs exceptions that nobody looked at, text and all."""
    logged: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: logged.append(told))
    hung = faulty(faulty(scoped(), Raise(ValueError(CANARY)), "memories.search"), Hang(), "events.search")
    call = asyncio.ensure_future(engine().assemble(request(), hung, DEFAULT))
    await asyncio.sleep(0.001)
    call.cancel()
    await asyncio.wait([call])
    await asyncio.sleep(1)
    del call
    gc.collect()
    assert not logged


@pytest.mark.requirement("ENGINE-2")
@pytest.mark.parametrize("leaving", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("point", ["memories.search", "ask.CurrentDirective", "ask.AllowedIds", "revision", "embed_now"])
def test_an_interpreter_exit_propagates_from_the_store(point: str, leaving: type[BaseException]) -> None:
    """Whoever presses Ctrl-C gets out."""
    germane, stored = broken(point, Raise(leaving))
    with pytest.raises(leaving):
        run(germane.assemble(request(), stored, DEFAULT))


@pytest.mark.requirement("ENGINE-2")
@pytest.mark.parametrize("leaving", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_an_interpreter_exit_propagates_from_a_stage(leaving: type[BaseException]) -> None:
    """Scoring is no place to swallow it."""

    def exiting(*_: object) -> None:
        raise leaving

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("germane.engine.selection.score", exiting)
        with pytest.raises(leaving):
            run(engine().assemble(request(), scoped(), DEFAULT))


@pytest.mark.requirement("ENGINE-2")
@warped
async def test_no_task_is_left_after_two_hundred_time_outs() -> None:
    """Everything abandoned comes to its end."""
    germane = engine(Hashed(quick=False))
    hung = scoped()
    for point in POINTS[:6]:
        hung = faulty(hung, Hang(), point)
    for number in range(200):
        context, seconds = await answered(germane, hung, request(f"question {number}?"))
        assert seconds <= 0.048
        assert context.messages[-1]["content"] == f"question {number}?"  # type: ignore[index]
    await asyncio.sleep(1)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert len(germane.abandoned) == 0


class Stubborn:
    """Won't be cancelled."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def gather(self, *_: object) -> tuple[()]:
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                continue
        return ()


@pytest.mark.requirement("GATHER-2", "ENGINE-2")
@warped
async def test_sources_that_ignore_their_cancellation_are_shed_when_too_many_are_left() -> None:
    """The bounded set of the abandoned is the limit of what they can cost."""
    stubborn = Stubborn()
    germane = engine(sources={"memories": lambda _: stubborn}, abandoned=Abandoned(max_per_name=5))
    answers = [await answered(germane, scoped(), request(f"question {number}?")) for number in range(8)]
    left = len(germane.abandoned)
    stubborn.released.set()
    await asyncio.sleep(1)
    context = answers[-1][0]
    assert left == 5
    assert all(seconds <= 0.041 and DIRECTIVE in context.added for context, seconds in answers)
    assert (statuses(context)["memories"].status, statuses(context)["memories"].reason) == ("skipped", "shed")
    assert len(germane.abandoned) == 0


@pytest.mark.requirement("GATHER-1", "GATHER-2")
@warped
async def test_a_registered_source_that_cannot_be_made_is_a_source_that_failed() -> None:
    """Its factory's error is its own."""
    plan = replace(DEFAULT.sources[0], name="mine", limit=5)
    strategy = replace(DEFAULT, sources=(*DEFAULT.sources, plan))
    context = await engine(sources={"mine": failing}).assemble(request(), scoped(), strategy)
    assert statuses(context)["mine"].reason == "ZeroDivisionError"
    assert context.metadata.degradation_level == 1
    assert {item.id for item in context.items} == {MEMORY.id, MESSAGE.id}
