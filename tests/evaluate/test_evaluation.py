"""Evaluation: from labelled conversations to figures, end to end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from germane import Clock, InvalidInput, UnknownName
from germane.api.agent import Agent
from germane.api.strategies import COMPACT
from germane.settings.settings import Settings
from germane_eval import Dataset, Report, evaluate
from germane_eval import passes as asking
from germane_eval.dataset import Question, Stated
from germane_testing.builders import Hashed
from support.small_talk import chat, chosen, dataset

pytestmark = pytest.mark.requirement("EVAL-1")

NOW = datetime(2026, 3, 1, tzinfo=UTC)


async def measured(data: Dataset, **options: object) -> Report:
    """Few turns without need, where any are asked."""
    if not options.get("quick"):
        options = {"turns": 6, **options}
    given = {"embedder": Hashed(), "budgets": (60, 400), "ks": (1, 5), "clock": Clock(now=lambda: NOW)}
    return await evaluate(data, **given | options)  # type: ignore[arg-type]


async def test_what_is_easy_to_find_is_found() -> None:
    """Every fact is among the first five and whole within 400 tokens, by either clock."""
    report = await measured(dataset(), quick=True)
    assert {answered.clock for answered in report.answered} == {"end+1h", "today"}
    for clock in report.run.clocks:
        assert report.figure("every", 400, clock=clock).mean == 1.0
        assert report.figure("every_at", 5, clock=clock).mean == 1.0
        assert report.figure("contained", 400, clock=clock).mean == 1.0
    assert report.faults == ()


async def test_the_report_says_what_was_measured_with_what() -> None:
    """The report has all that is needed to repeat the run."""
    run = (await measured(dataset(), quick=True, limit=2, relevance=None)).run
    assert (run.dataset, run.format, run.conversations, run.messages, run.questions, run.asked) == (
        "talks",
        "requests",
        1,
        24,
        3,
        2,
    )
    assert (run.strategy, run.embedder, run.tokenizer, run.date) == ("compact", "hashed/16", "o200k", NOW)
    assert run.resampled == "questions"
    assert run.warnings == ()


async def test_all_that_is_added_stays_within_each_budget() -> None:
    """Each result has the number of its tokens."""
    report = await measured(dataset(), quick=True)
    assert all(shown.tokens <= shown.budget for answered in report.answered for shown in answered.shown)
    assert any(shown.tokens for answered in report.answered for shown in answered.shown)


async def test_an_answer_over_its_budget_is_no_figure_but_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken budget raises; it must not disappear in a mean."""
    real = asking.Asker._assemble

    async def generous(self: asking.Asker, *given: object) -> object:
        context = await real(self, *given)  # type: ignore[arg-type]
        return replace(context, metadata=replace(context.metadata, total_tokens_injected=401))

    monkeypatch.setattr(asking.Asker, "_assemble", generous)
    with pytest.raises(AssertionError, match="401 tokens"):
        await measured(dataset(), quick=True)


async def test_what_scores_below_the_floor_has_no_rank() -> None:
    """A search wouldn't return it either."""
    report = await measured(dataset(), quick=True, strategy=replace(COMPACT, name="stern", floor=0.999))
    assert {answered.ranks for answered in report.answered} == {(None,)}


async def test_latency_and_prefix_reuse_are_measured_unless_it_is_to_be_quick() -> None:
    """The quantiles are of timed assemblies, and the prompts are replayed turn by turn."""
    report = await measured(dataset(), budgets=(400,), clocks=["end+1h"])
    assert report.latency[0].count == 3
    assert 0 < report.latency[0].p50 <= report.latency[0].p99
    assert sum(report.latency[0].levels) == pytest.approx(1)
    assert report.reuse is not None
    assert report.reuse.calls == 9
    assert 0 < report.reuse.share < 1
    assert 0 < report.reuse.own < 1
    quick = await measured(dataset(), budgets=(400,), clocks=["end+1h"], quick=True)
    assert (quick.latency, quick.reuse) == ((), None)
    assert (quick.turns, quick.cost) == ((), None)
    assert report.cost is not None
    assert report.cost.own < report.cost.whole_cached <= report.cost.whole


async def test_the_amount_is_measured_without_a_budget_at_the_first_clock() -> None:
    """By default with the strategy's own effort."""
    report = await measured(dataset(), quick=True, budgets=(60,))
    amount = report.amount()
    assert (amount.count, amount.fraction, amount.every) == (3, 1.0, 1.0)
    assert amount.tokens > 60
    assert amount.dollars == pytest.approx(amount.tokens * 2.5 / 1000)
    assert {len(answered.unlimited) for answered in report.answered if answered.clock == "end+1h"} == {1}
    assert {len(answered.unlimited) for answered in report.answered if answered.clock == "today"} == {0}
    with pytest.raises(KeyError):
        report.amount("high")


async def test_the_price_may_be_of_the_settings() -> None:
    """A model without a price has no dollars."""
    own = Settings(prices={"house-model": {"input": 7.0}})
    for settings, each in ((own, 7.0), (Settings(), None)):
        amount = (await measured(dataset(), quick=True, limit=1, model="house-model", settings=settings)).amount()
        assert amount.dollars == (None if each is None else pytest.approx(amount.tokens * each / 1000))


async def test_every_effort_is_asked_and_reaches_the_assembly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and numbers; questions within a budget get none."""
    asked: list[tuple[object, object]] = []
    real = Agent.assemble

    async def noting(self: Agent, *given: object, **named: object) -> object:
        asked.append((named.get("max_tokens"), named.get("effort")))
        return await real(self, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Agent, "assemble", noting)
    report = await measured(dataset(), quick=True, budgets=(400,), efforts=("low", 2.5), limit=1, clocks=["end+1h"])
    assert [amount.effort for amount in report.amounts] == ["low", "2.5"]
    assert asked[1:] == [(400, None), (None, "low"), (None, 2.5)]


async def test_turns_without_need_are_asked_in_the_stores_of_the_conversations() -> None:
    """They are spread over the conversations, and counted by kind and language."""
    report = await measured(dataset(chat("one"), chat("two")), budgets=(400,), quick=True, without_need=True, turns=40)
    assert [answer.conversation for answer in report.asked_turns].count("one") == 20
    assert report.turns[0].count == len(report.asked_turns) == 40
    assert 0 < report.turns[0].share <= 1
    assert {figure.by for figure in report.turns} == {"all", "kind", "language"}
    unasked = await measured(dataset(), budgets=(400,), clocks=["end+1h"], without_need=False)
    assert (unasked.turns, unasked.asked_turns) == ((), ())


async def test_what_is_pinned_is_no_item_of_a_turn_without_need() -> None:
    """Pinned memories go into every request by the caller's wish."""
    pinned = Stated(id="t1", text="Answer in French", kind="preference", given={"pinned": True})
    talk = replace(chat(sessions=1, each=1), memories=[pinned])
    report = await measured(
        dataset(talk),
        budgets=(400,),
        quick=True,
        without_need=True,
        turns=6,
        strategy=replace(COMPACT, name="stern", floor=0.999),
    )
    assert all(answer.tokens > 0 for answer in report.asked_turns)
    assert report.turns[0].share == 0.0


async def test_replaying_changes_nothing_of_what_is_found() -> None:
    """The agent holds the same messages in the end."""
    fields = {"budgets": (200, 400), "clocks": ["end+1h"], "deadline": None}
    whole, quick = await measured(dataset(), **fields), await measured(dataset(), quick=True, **fields)
    assert [one.ranks for one in whole.answered] == [one.ranks for one in quick.answered]
    assert whole.figures == quick.figures


async def test_a_stated_memory_holds_from_the_beginning_of_the_conversation_however_it_is_heard() -> None:
    """Also where the whole conversation is replayed, so that nothing is said before the memories are kept."""
    talk = chat(sessions=1)
    asked = Question(id="one/q9", text="Which tea is preferred?", evidence=frozenset(["t1"]))
    talk = replace(talk, memories=[Stated(id="t1", text="Prefers Darjeeling tea")], questions=[asked])
    for quick in (True, False):
        report = await measured(dataset(talk), clocks=["end+1h"], quick=quick)
        assert report.figure("every", 400).mean == 1.0


async def test_what_was_superseded_is_told_as_stale() -> None:
    """The question is stale where only the superseded message is shown."""
    talk = chat(sessions=1)
    asked = Question(
        id="one/q9",
        text="What is the greyhound called?",
        evidence=frozenset(["m0-7"]),
        superseded=frozenset(["m0-0"]),
    )
    report = await measured(dataset(replace(talk, questions=[asked])), budgets=(60,), clocks=["end+1h"], quick=True)
    assert report.figure("stale", 60).mean == 1.0


async def test_progress_ends_where_it_said_it_would() -> None:
    """The total of messages, calls and answers is counted beforehand."""
    steps: list[tuple[int, int]] = []
    data = dataset(chat("one"), chat("two", assisted=False), replace(chat("three"), memories=[Stated(id="t1", text="Tea")]))
    await measured(data, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (steps[-1][1], steps[0][1])
    assert steps == sorted(steps)


async def test_a_strategy_can_be_ones_own_and_a_wrong_one_is_named() -> None:
    """`evaluate` takes strategies as `assemble` does."""
    report = await measured(dataset(), quick=True, strategy=replace(COMPACT, name="mine"))
    assert report.run.strategy == "mine"
    with pytest.raises(UnknownName, match="fast"):
        await measured(dataset(), quick=True, strategy="fast")


async def test_an_unknown_model_is_warned_of() -> None:
    """The report warns that the token counts are estimates."""
    run = (await measured(dataset(), quick=True, model="house-model")).run
    assert "house-model" in run.warnings[0]
    assert "estimate" in run.tokenizer


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"budgets": ()}, "budgets"),
        ({"ks": (0,)}, "ks"),
        ({"clocks": ["soon"]}, "soon"),
        ({"clocks": []}, "clocks"),
        ({"budgets": [True]}, "budgets"),
        ({"efforts": ["much"]}, "effort"),
        ({"turns": 0}, "turns"),
    ],
)
async def test_bad_arguments_are_refused_by_name(options: dict[str, object], said: str) -> None:
    """Arguments are checked before a store is opened."""
    with pytest.raises(InvalidInput, match=said):
        await measured(dataset(), **options)


def test_the_stand_ins_are_what_the_tests_take_them_for() -> None:
    """A chosen item's message is its own unless another is named."""
    assert chosen("a").provenance.message_id == "a"
