"""A store that hangs costs a few requests their time, the others nothing; everybody has the directive, and what comes back is
used again at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from germane.api.strategies import DEFAULT
from germane.engine.admission import AdmissionQueue, Overloaded
from germane.engine.breakers import Breakers
from germane.engine.engine import Engine
from germane.kinds.memories.directive import Directive
from germane.stores.contract import ScopedStore
from germane.types.context import Context
from germane.types.request import Request
from germane.types.scope import Scope
from germane_testing.builders import Hashed
from germane_testing.faults import Fault, Garbage, Hang, Raise, Slow, faulty
from germane_testing.time_warp import warped
from support.calendar import Opening
from support.scoped_stores import DIRECTIVE, MEMORY, MESSAGE, Kept, engine, idle, keep_result, request, scoped

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
    *("ask.StandingBlocks", "blocks.search", "revision", "ask.ListMemories", "ask.TellingClauses", "ask.LineMarks"),
)
ANN, BO = Scope(user="ann"), Scope(user="bo")


def failing(fault: Fault, *methods: str, of: ScopedStore | None = None) -> ScopedStore:
    return faulty(of or scoped(), fault, *(methods or STORE))


async def asked(germane: Engine, stored: ScopedStore, **fields: Any) -> tuple[Context, float]:
    """The same question never twice, and each with a result that is kept, so that the store is asked for its revision; what it
    took beside."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    question: Request = request(f"question {began} {id(fields)}?", **{"scope": stored.scope} | fields)
    keep_result(germane, question)
    context = await germane.assemble(question, stored, DEFAULT)
    assert context.messages[-1] is question.raw[-1]
    return context, loop.time() - began


async def until_open(germane: Engine, stored: ScopedStore) -> None:
    for _ in range(45):
        await asked(germane, stored)


def told(context: Context) -> dict[str, str]:
    return {report.name: f"{report.status}:{report.reason}" for report in context.metadata.sources}


def rung(context: Context) -> tuple[int, str]:
    return context.metadata.degradation_level, context.metadata.fallback_reason


@pytest.mark.requirement("ENGINE-2", "ENGINE-4")
@warped
async def test_a_store_that_hangs_costs_the_first_requests_their_time_and_the_next_nothing() -> None:
    """Each of them at most its deadline, once; all have the directive, with the reason."""
    germane, hung = engine(), failing(Hang())
    await asked(germane, scoped())
    for number in range(24):
        context, seconds = await asked(germane, hung)
        assert DIRECTIVE in context.added
        if number < 20:
            assert rung(context) == (2, "assembly_timeout")
            assert seconds == pytest.approx(0.040)
        else:
            assert rung(context) == (2, "assembly_error:BreakerOpen")
            assert seconds == 0
    names = ("structured", "blocks", "profile", "memories", "archive", "messages", "directive")
    assert told(context) == dict.fromkeys(names, "skipped:breaker") | {
        "continuity": "skipped:no_session",
        "tasks": "skipped:no_session",
        "embedding": "skipped:breaker",
        "days": "skipped:no_day",
        "outline": "skipped:no_overview",
    }


@pytest.mark.requirement("ENGINE-2", "ENGINE-4")
@pytest.mark.parametrize("fault", [Raise(OSError), Garbage(42), Raise(asyncio.CancelledError)], ids=repr)
@warped
async def test_a_store_that_fails_at_once_is_left_alone_too(fault: Fault) -> None:
    germane, broken = engine(), failing(fault)
    await asked(germane, scoped())
    reasons = [rung((await asked(germane, broken))[0]) for _ in range(7)]
    assert [level for level, _ in reasons] == [2] * 7
    assert reasons[0][1] in ("assembly_error:OSError", "assembly_error:TypeError", "assembly_error:CancelledError")
    assert reasons[-1][1] == "assembly_error:BreakerOpen"


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("began", [0.0, 0.3, 0.9, 1.02, 5.5])
@warped
async def test_two_seconds_after_the_fault_everything_is_there_again(began: float) -> None:
    """Whenever it ended, with a question each tenth of a second; while it lasts one a second waits in vain."""
    germane, hung = engine(), failing(Hang())
    await asked(germane, scoped())
    await until_open(germane, hung)
    loop = asyncio.get_running_loop()
    ends, waited = loop.time() + began, 0
    while loop.time() < ends:
        _, seconds = await asked(germane, hung)
        waited += seconds > 0
        await asyncio.sleep(0.1)
    assert waited <= began / 0.9 + 1
    for _ in range(13):
        context, _ = await asked(germane, scoped())
        await asyncio.sleep(0.1)
    assert rung(context) == (0, "")
    assert {one.condition for one in germane.state().breakers} == {"closed"}


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_an_embedder_that_hangs_is_waited_for_no_more() -> None:
    """Keywords answer at once."""
    germane = engine(faulty(Hashed(quick=False), Hang(), "embed"))
    await until_open(germane, scoped())
    context, seconds = await asked(germane, scoped())
    assert (seconds, rung(context)) == (0, (1, ""))
    assert {item.id for item in context.items} == {MEMORY.id, MESSAGE.id}
    assert told(context)["embedding"] == "skipped:breaker"


@pytest.mark.requirement("ENGINE-3", "ENGINE-4", "PACK-8")
@warped
async def test_a_gate_that_hangs_is_not_waited_for_and_lets_nothing_through() -> None:
    """What can't be asked isn't allowed."""
    germane, hung = engine(), failing(Hang(), "ask.AllowedIds")
    for number in range(20):
        context, seconds = await asked(germane, hung)
        assert (context.items, DIRECTIVE in context.added) == ((), True)
        assert seconds == pytest.approx(0.046 if number < 18 else 0)
    assert rung(context) == (2, "assembly_error:BreakerOpen")


@pytest.mark.requirement("ENGINE-4", "ENGINE-6")
@warped
async def test_a_revision_that_cannot_be_read_costs_the_cache_and_soon_no_time() -> None:
    """And nothing is taken from the cache meanwhile: it could be of any age. A request that isn't known doesn't ask."""
    germane, hung, began = engine(), failing(Hang(), "revision"), asyncio.get_running_loop().time()
    assert rung(await germane.assemble(request("Another question?"), hung, DEFAULT)) == (0, "")
    assert asyncio.get_running_loop().time() == began
    same = request()
    assert not (await germane.assemble(same, scoped(), DEFAULT)).metadata.cached
    assert (await germane.assemble(same, scoped(), DEFAULT)).metadata.cached
    took = [(await asked(germane, hung))[1] for _ in range(80)]
    assert sum(took) == pytest.approx(0.76, abs=0.011)
    assert took[-3:] == [0] * 3
    context = await germane.assemble(same, hung, DEFAULT)
    assert (context.metadata.cached, rung(context)) == (False, (0, ""))


@pytest.mark.requirement("ENGINE-4", "ENGINE-6", "PACK-8")
@pytest.mark.parametrize(("method", "name"), [("revision", "revision"), ("ask.AllowedIds", "gate")])
@pytest.mark.parametrize("rubbish", ["7", None, [1]], ids=repr)
@warped
async def test_rubbish_is_no_answer_to_a_small_question_either(method: str, name: str, rubbish: object) -> None:
    """Nothing is remembered by it, nothing allowed, and the breaker is told."""
    germane, broken = engine(), failing(Garbage(rubbish), method)
    keep_result(germane, request())
    for _ in range(5):
        context = await germane.assemble(request(), broken, DEFAULT)
        assert not context.metadata.cached
        assert rung(context) == ((0, "") if name == "revision" else (2, "assembly_error:TypeError"))
    assert {one.source: one.condition for one in germane.state().breakers}[name] == "open"


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("deadline", [0.008, 0.015])
@warped
async def test_callers_in_a_hurry_blame_nobody(deadline: float) -> None:
    """A source that had no time to answer has not failed."""
    germane, slow = engine(), failing(Slow(0.012))
    for _ in range(20):
        await asked(germane, slow, deadline=deadline)
    assert rung((await asked(germane, slow))[0])[1] != "assembly_error:BreakerOpen"
    assert not [one for one in germane.state().breakers if one.condition != "closed"]


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_callers_that_go_away_and_sources_with_nothing_to_do_blame_nobody() -> None:
    """Cancelled in the middle, or asked for nothing."""
    germane, hung = engine(), failing(Hang())
    for _ in range(20):
        call = asyncio.ensure_future(germane.assemble(request(), hung, DEFAULT))
        await asyncio.sleep(0.030)
        call.cancel()
        await asyncio.wait([call])
        await germane.assemble(request(query=" "), scoped(), DEFAULT)
    assert {one.condition for one in germane.state().breakers} <= {"closed"}
    assert rung((await asked(germane, scoped()))[0]) == (0, "")


@pytest.mark.requirement("ENGINE-4", "SCOPE-2")
@warped
async def test_one_users_damaged_partition_takes_no_source_from_another() -> None:
    germane = engine()
    damaged, sound = failing(Raise(OSError), of=Kept(scope=ANN)), Kept(scope=BO)
    for _ in range(20):
        await asked(germane, damaged)
        assert rung((await asked(germane, sound))[0]) == (0, "")
    for _ in range(20):
        context, _ = await asked(germane, damaged)
    assert rung(context) == (2, "assembly_error:BreakerOpen")
    assert rung((await asked(germane, sound))[0]) == (0, "")


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_of_a_store_that_hangs_for_all_the_first_few_tell_the_others() -> None:
    """The next user waits for nothing, having never asked before."""
    germane = engine()
    for number in range(24):
        scope = Scope(user=f"user {number}")
        _, seconds = await asked(germane, failing(Hang(), of=Kept(scope=scope)))
        assert (seconds > 0) == (number < 20)


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_whoever_waits_for_everything_asks_all_the_same() -> None:
    """No deadline, no breaker."""
    germane = engine()
    await until_open(germane, failing(Raise(OSError)))
    context, _ = await asked(germane, scoped(), deadline=None)
    assert rung(context) == (0, "")


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_every_answer_has_the_directive_read_last_whatever_hangs() -> None:
    """Timed out, with breakers open, refused, and after an error of germane's own."""
    germane, hung = engine(admission=idle(1)), failing(Hang())
    await asked(germane, scoped())
    answers = [context for context, _ in await asyncio.gather(*(asked(germane, hung) for _ in range(40)))]
    answers += [(await asked(germane, hung))[0] for _ in range(30)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("germane.engine.engine.read", lambda _: 1 / 0)
        answers.append((await asked(germane, hung))[0])
    assert {rung(context) for context in answers} >= {
        *((2, "assembly_timeout"), (2, "shed"), (2, "assembly_error:BreakerOpen"), (2, "assembly_error:ZeroDivisionError")),
    }
    assert all(DIRECTIVE in context.added and context.metadata.directive_injected for context in answers)
    assert germane.state().shed > 0


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_a_scope_asked_for_the_first_time_while_the_store_hangs_goes_without_and_is_told() -> None:
    """L3: nothing of it is known here."""
    germane, hung = engine(), failing(Hang())
    for _ in range(7):
        context, _ = await asked(germane, hung)
        assert (context.metadata.degradation_level, context.added) == (3, "")
        assert any("none is known of this scope yet" in warning for warning in context.trace.warnings)
    context, _ = await asked(engine(), failing(Hang(), "ask.CurrentDirective"))
    assert context.items
    assert any("none is known of this scope yet" in warning for warning in context.trace.warnings)


@pytest.mark.requirement("ENGINE-4", "OPS-2")
@warped
async def test_a_directive_that_another_process_changed_is_used_from_the_next_reading_on() -> None:
    """And it is the one that stands in from then."""
    germane = engine()
    await asked(germane, scoped())
    changed = faulty(scoped(), Garbage(Directive("Answer in two words.")), "ask.CurrentDirective")
    for stored in (changed, failing(Hang())):
        context, _ = await asked(germane, stored)
        assert "Answer in two words." in context.added
        assert DIRECTIVE not in context.added


@pytest.mark.requirement("ENGINE-4", "OPS-2")
async def test_of_two_on_one_file_each_has_the_others_directive_in_its_next_answer(opening: Opening) -> None:
    """Also where the same question is in its cache."""
    async with opening() as one, opening() as two:
        for text in ("Answer in one sentence.", "Answer in two words.", ""):
            await one.agent().directive(text)
            for _ in range(2):
                context = await two.agent().assemble([{"role": "user", "content": "What?"}], model="gpt-4o")
                assert context.metadata.directive_injected == bool(text)
                assert text in context.added


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("way", ["set", "read", "warmed"])
async def test_a_directive_is_known_once_it_was_set_read_or_warmed(opening: Opening, way: str) -> None:
    """Before the first question, then, should the store hang from now on; in another process too."""
    async with opening() as before:
        await before.agent().directive(DIRECTIVE)
    async with opening() as germane:
        agent = germane.agent()
        await {"set": lambda: agent.directive(DIRECTIVE), "read": agent.directive, "warmed": agent.warm}[way]()
        context, _ = await asked(germane._open.engine, failing(Hang(), of=agent._scoped(agent.scope)))
        assert DIRECTIVE in context.added


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_a_strategy_without_a_directive_gets_none_in_any_fallback() -> None:
    germane = engine()
    await asked(germane, scoped())
    silent = replace(DEFAULT, sources=tuple(plan for plan in DEFAULT.sources if plan.name != "directive"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("germane.engine.engine.read", lambda _: 1 / 0)
        context = await germane.assemble(request(), scoped(), silent)
    assert (context.added, context.metadata.degradation_level) == ("", 2)


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_after_five_hundred_time_outs_no_task_is_left() -> None:
    """Of no source, gate, revision or embedder; all were counted."""
    germane = engine(faulty(Hashed(quick=False), Hang(), "embed"), breakers=Breakers(failures=10**9))
    hung = failing(Hang())
    for _ in range(500):
        _, seconds = await asked(germane, hung)
        assert seconds <= 0.048
    await asyncio.sleep(1)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert germane.state().abandoned == 0
    assert germane.state().abandoned_total >= 500 * 6


@pytest.mark.requirement("OPS-1")
@warped
async def test_its_state_tells_who_works_and_waits() -> None:
    germane, slow = engine(admission=idle(1)), failing(Slow(0.011))
    calls = [asyncio.ensure_future(asked(germane, slow)) for _ in range(3)]
    await asyncio.sleep(0.001)
    state = germane.state(read_only=True)
    assert (state.working, state.waiting, state.shed, state.read_only) == (1, 2, 0, True)
    await asyncio.wait(calls)
    state = germane.state()
    assert (state.working, state.waiting) == (0, 0)


@pytest.mark.requirement("OPS-1", "ENGINE-6")
@warped
async def test_its_state_and_each_answer_tell_what_came_from_the_cache() -> None:
    germane, same = engine(), request()
    found = [(await germane.assemble(same, scoped(), DEFAULT)).metadata for _ in range(3)]
    assert [metadata.cached for metadata in found] == [False, True, True]
    assert found[1].sources == found[0].sources
    assert (germane.state().cache_hits, germane.state().cache_misses) == (2, 1)


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_a_turn_refused_raises_nothing_to_the_caller() -> None:
    """`Overloaded` is between the engine and its turns."""

    class Full(AdmissionQueue):
        async def acquire(self, *_: object) -> Any:
            raise Overloaded

    context, _ = await asked(engine(admission=Full()), scoped())
    assert rung(context) == (2, "shed")
