"""Sources run in parallel under one deadline: how long each is waited for, and what the reports say."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from germane.kinds.memories.directive import Directive
from germane.stages.gather.gather import Abandoned
from germane.stages.gather.source import BusySource, Skipped
from germane.stores.contract import StillLoading
from germane.types.strategy import SourcePlan
from germane_testing.builders import an_event, candidate
from germane_testing.faults import Hang, Raise, Slow, faulty
from germane_testing.time_warp import warped
from support.gather_stubs import (
    AnsweringSource,
    EventsStub,
    RecordedAttempt,
    SlowEmbedder,
    UncancellableSource,
    asking,
    gathered,
    report,
    scoped,
)

TEA, MILK, RAIN = candidate("tea", id="tea"), candidate("milk", id="milk"), candidate("rain", id="rain")


def now() -> float:
    return asyncio.get_running_loop().time()


def ids(answer: Any) -> set[str]:
    return {one.id for one in answer.candidates}


@pytest.mark.requirement("GATHER-1")
@warped
async def test_sources_run_side_by_side() -> None:
    """Three that take 10 ms each take 10 ms."""
    found = await gathered({name: AnsweringSource(candidate(name), after=0.010) for name in ("a", "b", "history")})
    assert now() == pytest.approx(0.010)
    assert len(found.candidates) == 3
    assert [(one.status, one.found, round(one.latency, 3)) for one in found.reports if one.name != "embedding"] == [
        ("ok", 1, 0.010)
    ] * 3


@pytest.mark.requirement("GATHER-2")
@warped
async def test_when_time_is_up_what_is_there_is_used_and_the_rest_abandoned() -> None:
    """To the moment: 40 ms, not a hanging source's."""
    slow = AnsweringSource(RAIN, after=9.0)
    abandoned = Abandoned()
    found = await gathered({"a": AnsweringSource(TEA, after=0.039), "b": slow}, abandoned=abandoned)
    assert now() == pytest.approx(0.040)
    assert ids(found) == {"tea"}
    assert (report(found, "a").status, report(found, "b").status, report(found, "b").found) == ("ok", "timeout", 0)
    await asyncio.sleep(0.001)
    assert (slow.cancelled, len(abandoned)) == (1, 0)


@pytest.mark.requirement("GATHER-2")
@pytest.mark.parametrize("within", [0.001, 0.029, 0.5])
@warped
async def test_the_deadline_is_whatever_is_given(within: float) -> None:
    await gathered({"a": AnsweringSource(TEA, after=60.0)}, within=within)
    assert now() == pytest.approx(within)


@pytest.mark.requirement("GATHER-2")
@warped
async def test_a_deadline_that_has_passed_waits_for_nobody() -> None:
    found = await gathered({"a": AnsweringSource(TEA, after=1.0)}, within=-1.0)
    assert now() == 0
    assert report(found, "a").status == "timeout"


@pytest.mark.requirement("GATHER-1")
@warped
async def test_a_source_may_have_a_time_of_its_own() -> None:
    """It is given up at 5 ms; the others have theirs."""
    plans = (SourcePlan(name="a", timeout=0.005), SourcePlan(name="b"))
    found = await gathered({"a": AnsweringSource(TEA, after=0.010), "b": AnsweringSource(MILK, after=0.020)}, *plans)
    assert now() == pytest.approx(0.020)
    assert ids(found) == {"milk"}
    assert report(found, "a").status == "timeout"


@pytest.mark.requirement("GATHER-1")
@warped
async def test_no_source_gives_more_than_its_limit() -> None:
    """Whatever it answers; and a limit of nothing doesn't ask it at all."""
    talkative, mute = AnsweringSource(*(candidate(f"{number}") for number in range(9))), AnsweringSource(MILK)
    found = await gathered({"a": talkative, "b": mute}, SourcePlan(name="a", limit=3), SourcePlan(name="b", limit=0))
    assert [one.text for one in found.candidates] == ["0", "1", "2"]
    assert mute.asked == []


@pytest.mark.requirement("GATHER-2")
@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ValueError("secret"), "error", "ValueError"),
        (StillLoading(), "skipped", "warming"),
        (Skipped("no_query"), "skipped", "no_query"),
        (asyncio.CancelledError(), "error", "CancelledError"),
    ],
)
@pytest.mark.parametrize("name", ["history", "mine"])
@warped
async def test_a_source_that_fails_takes_no_other_down(error: BaseException, status: str, reason: str, name: str) -> None:
    """Its report says how, without content; whether it waits for the query's vector or not."""
    found = await gathered({name: AnsweringSource(error=error), "b": AnsweringSource(TEA)})
    assert ids(found) == {"tea"}
    assert (report(found, name).status, report(found, name).reason) == (status, reason)
    assert report(found, "b").status == "ok"


@pytest.mark.requirement("GATHER-2")
@pytest.mark.parametrize("rubbish", ["tea", 7, {"tea": 1}, TEA, an_event("tea")], ids=lambda value: type(value).__name__)
@warped
async def test_an_answer_that_is_no_candidates_is_none(rubbish: object) -> None:
    found = await gathered({"a": AnsweringSource(raw=rubbish), "b": AnsweringSource(raw=[TEA, "rubbish", None])})
    assert ids(found) == {"tea"}
    assert (report(found, "a").status, report(found, "a").reason) == ("error", "garbage")


@warped
async def test_a_source_that_nobody_knows_is_told() -> None:
    """A name misspelt in a strategy is not passed over in silence."""
    found = await gathered({"a": AnsweringSource(TEA)}, "a", "mesages")
    assert (report(found, "mesages").status, report(found, "mesages").reason) == ("skipped", "unknown")


@pytest.mark.requirement("GATHER-2")
@warped
async def test_without_a_deadline_everything_is_waited_for() -> None:
    """Own time-outs and a slow embedder included."""
    source = AnsweringSource(TEA, after=3600.0)
    found = await gathered({"a": source}, SourcePlan(name="a", timeout=0.001), within=None, embedder=SlowEmbedder(60.0))
    assert ids(found) == {"tea"}
    assert source.asked[0].vector is not None
    assert now() == pytest.approx(3660.0)


@pytest.mark.requirement("GATHER-2")
@warped
async def test_a_source_that_ignores_its_cancellation_costs_a_place_and_nothing_else() -> None:
    """Counted and bounded by name; when its places are gone it is shed, and the others go on."""
    stubborn, abandoned = UncancellableSource(), Abandoned(max_per_name=3)
    for _ in range(5):
        found = await gathered({"a": stubborn, "b": AnsweringSource(TEA)}, abandoned=abandoned)
        assert ids(found) == {"tea"}
    assert len(abandoned) == 3
    assert (report(found, "a").status, report(found, "a").reason) == ("skipped", "shed")
    stubborn.released.set()
    await asyncio.sleep(0.001)
    assert len(abandoned) == 0


@pytest.mark.requirement("GATHER-2")
@warped
async def test_after_many_time_outs_nothing_is_left_over() -> None:
    """No task, whatever hung: sources, the directive, the embedder, the names of speakers."""
    abandoned = Abandoned()
    hanging = scoped(lambda: asyncio.sleep(60))
    mute = faulty(scoped(), Hang(), "events.speakers")
    for turn in range(200):
        on = (hanging, mute)[turn % 2]
        await gathered(
            {"a": AnsweringSource(after=9.0)}, "directive", "a", on=on, embedder=SlowEmbedder(9.0), abandoned=abandoned
        )
    await asyncio.sleep(0.001)
    assert len(abandoned) == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.requirement("GATHER-2")
@warped
async def test_a_caller_that_is_cancelled_takes_its_sources_with_it() -> None:
    """The cancellation goes on to the caller, what it began is given up."""
    source, embedder, abandoned = AnsweringSource(TEA, after=9.0), SlowEmbedder(9.0), Abandoned()
    call = asyncio.create_task(
        gathered({"history": source, "messages": AnsweringSource()}, embedder=embedder, abandoned=abandoned)
    )
    await asyncio.sleep(0.010)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await asyncio.sleep(0.001)
    assert (source.cancelled, embedder.cancelled, len(abandoned)) == (1, 1, 0)


@pytest.mark.requirement("GATHER-1")
@warped
async def test_the_directive_is_read_beside_the_others_and_is_no_candidate() -> None:
    found = await gathered(
        {"a": AnsweringSource(TEA, after=0.01)}, "directive", "a", on=scoped(lambda: asyncio.sleep(0.01, Directive("Be kind.")))
    )
    assert now() == pytest.approx(0.010)
    assert (found.directive, ids(found)) == (Directive("Be kind."), {"tea"})
    assert report(found, "directive").status == "ok"


@pytest.mark.requirement("GATHER-2")
@pytest.mark.parametrize("fault", [Hang(), Raise(OSError), Slow(0.041)])
@warped
async def test_a_directive_that_cannot_be_had_in_time_is_none_not_empty(fault: Any) -> None:
    """So that the last known one can stand in."""
    found = await gathered({"a": AnsweringSource(TEA)}, "directive", "a", on=faulty(scoped(), fault, "ask.CurrentDirective"))
    assert found.directive is None
    assert ids(found) == {"tea"}
    assert (await gathered({"a": AnsweringSource(TEA)})).directive == Directive()


@pytest.mark.requirement("GATHER-2", "SIG-0")
@warped
async def test_a_slow_embedder_is_passed_over_and_keywords_answer() -> None:
    """After 20 ms the sources go on without a vector, and the report says why there is none."""
    source = AnsweringSource(TEA, after=0.005)
    found = await gathered({"messages": source}, embedder=SlowEmbedder(0.5))
    assert now() == pytest.approx(0.025)
    assert source.asked[0].vector is None
    assert ids(found) == {"tea"}
    assert (report(found, "embedding").status, report(found, "embedding").reason) == ("skipped", "slow_embedder")


@pytest.mark.requirement("GATHER-2", "SIG-0")
@warped
async def test_with_little_time_a_slow_embedder_gets_half_of_it() -> None:
    """Keywords are not given up for a vector that won't come."""
    found = await gathered({"messages": AnsweringSource(TEA, after=0.005)}, embedder=SlowEmbedder(0.5), within=0.012)
    assert ids(found) == {"tea"}
    assert report(found, "embedding").reason == "slow_embedder"


@pytest.mark.requirement("GATHER-2")
@pytest.mark.parametrize("fault", [Hang(), Raise(OSError)])
@warped
async def test_names_that_cannot_be_read_cost_the_vector_not_the_search(fault: Any) -> None:
    found = await gathered({"messages": AnsweringSource(TEA)}, on=faulty(scoped(), fault, "events.speakers"))
    assert ids(found) == {"tea"}
    assert report(found, "embedding").status in ("timeout", "error")


@pytest.mark.requirement("SIG-0")
@warped
async def test_searching_sources_get_the_vector_and_the_others_do_not_wait_for_it() -> None:
    late, early = AnsweringSource(TEA), AnsweringSource(MILK)
    found = await gathered({"messages": late, "recent": early}, embedder=SlowEmbedder(0.010))
    assert early.asked[0].vector is None
    assert late.asked[0].vector is not None
    assert late.asked[0].model == found.query.model == SlowEmbedder(0).identity
    assert now() == pytest.approx(0.010)


@pytest.mark.requirement("ENGINE-4", "SIG-0")
@warped
async def test_nothing_is_embedded_for_sources_that_do_not_look_at_it() -> None:
    """Early ones, such as aren't asked, and such as there isn't the time for."""
    embedder = SlowEmbedder(9.0)
    found = await gathered({"history": AnsweringSource(TEA), "messages": BusySource()}, embedder=embedder)
    assert (now(), ids(found)) == (0, {"tea"})
    assert [(one.name, one.reason) for one in found.reports] == [("history", ""), ("messages", "busy")]

    def refuse(name: str) -> Any:
        raise Skipped("breaker")

    found = await gathered({"messages": AnsweringSource(TEA)}, embedder=embedder, start_attempt=refuse)
    assert [(one.name, one.status, one.reason) for one in found.reports] == [("messages", "skipped", "breaker")]


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize(
    ("source", "plan", "within", "verdict"),
    [
        (AnsweringSource(TEA), {}, 0.040, True),
        (AnsweringSource(error=OSError()), {}, 0.001, False),
        (AnsweringSource(raw="rubbish"), {}, 0.040, False),
        (AnsweringSource(after=9.0), {}, 0.040, False),
        (AnsweringSource(after=9.0), {}, 0.009, None),
        (AnsweringSource(after=9.0), {"timeout": 0.005}, 0.040, False),
        (AnsweringSource(error=StillLoading(), after=0.020), {}, 0.040, None),
        (AnsweringSource(error=Skipped("no_query"), after=0.020), {}, 0.040, None),
    ],
    ids=["answered", "failed", "rubbish", "late", "no time", "its own limit", "warming", "nothing to do"],
)
@warped
async def test_each_attempt_is_reported_to_the_breaker_with_its_result(
    source: Any, plan: Any, within: float, verdict: bool | None
) -> None:
    """A source that hadn't the time, or had nothing to do, has neither done its work nor failed."""
    attempts = {"history": RecordedAttempt()}
    await gathered({"history": source}, SourcePlan(name="history", **plan), within=within, start_attempt=attempts.__getitem__)
    assert attempts["history"].reported == [verdict]


@warped
async def test_a_query_without_words_has_no_vector_and_that_is_no_fault() -> None:
    found = await gathered({"messages": AnsweringSource(TEA)}, query=asking("  "))
    assert found.query.vector is None
    assert (report(found, "embedding").status, report(found, "embedding").reason) == ("skipped", "no_vector")


@warped
async def test_names_of_speakers_are_left_out_of_the_vector_only() -> None:
    """The query's words stay as they were."""
    on = scoped(events=EventsStub(names=("Ann Lee",)))
    found = await gathered({"messages": AnsweringSource(TEA)}, on=on, query=asking("what tea does Ann drink"))
    plain = await gathered({"messages": AnsweringSource(TEA)}, query=asking("what tea does  drink"))
    assert found.query.text == "what tea does Ann drink"
    assert found.query.vector is not None
    assert plain.query.vector is not None
    assert np.allclose(found.query.vector, plain.query.vector)


@warped
async def test_the_same_finds_come_whatever_order_sources_finish_in() -> None:
    one = await gathered({"a": AnsweringSource(TEA, after=0.001), "b": AnsweringSource(MILK, after=0.002)})
    two = await gathered({"a": AnsweringSource(TEA, after=0.002), "b": AnsweringSource(MILK, after=0.001)})
    assert one.candidates == two.candidates
    assert replace(one.query, vector=None) == replace(two.query, vector=None)
