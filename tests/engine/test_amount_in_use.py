"""How much is added: nothing where nothing is needed, what is worth its tokens, and the whole budget where it was given."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import pytest_asyncio

from germane import Agent, Cap, Context, Germane, Shares
from germane.api.strategies import COMPACT, DEFAULT, derive
from germane.clock import Clock
from germane.engine.assembly import Assembly
from germane.types.budget import price_of_effort
from support.oracle import oracle
from support.scoped_stores import request
from support.stories import ask, texts, told

pytestmark = pytest.mark.asyncio(loop_scope="module")
SMALL_TALK = ["hi", "thanks, that helps", "ok", "Write a haiku about autumn.", "How do I sort a list in Python?"]
SEARCHING = derive(DEFAULT, {"name": "searching", "sources": {"profile": {"limit": 0}}})
"""The default without what always stands: how much of what is searched for goes in."""
PINNED = "Metric units, always"
DIARY = "On trip {} my greyhound Biscuit ran along the beach number {} near the harbour."
QUESTION = "Where did Biscuit run on trip 17?"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def knowing(shared: Germane) -> Agent:
    """A directive, a pinned memory, sixty messages alike and four of another talk."""
    agent = shared.agent("support", user="caroline")
    await agent.directive("Answer in one sentence.")
    await agent.remember(PINNED, pinned=True)
    await agent.record([{"role": "user", "content": DIARY.format(trip, trip)} for trip in range(60)], session="diary")
    return await told(agent)


async def asked(agent: Agent, question: str, **options: Any) -> Context:
    """In no session: each answer stands alone."""
    return await ask(agent, question, **{"session": None, "strategy": SEARCHING} | options)


def lines(context: Context, start: str) -> list[str]:
    return [line for line in context.explain().splitlines() if line.startswith(start)]


@pytest.mark.requirement("NEED-1", "NEED-2")
@pytest.mark.parametrize("effort", [None, "high", 100])
@pytest.mark.parametrize("question", SMALL_TALK)
async def test_what_needs_no_memory_gets_none(knowing: Agent, question: str, effort: Any) -> None:
    """The directive and what is pinned stay; the metadata, the trace and the explanation say why."""
    context = await asked(knowing, question, effort=effort)
    assert texts(context) == [PINNED]
    assert "Answer in one sentence." in context.added
    assert {one.reason for one in context.trace.left_out} <= {"not_needed", "price"}
    said, need = context.metadata, context.trace.need
    assert need is not None
    assert not need.met
    assert (said.need, said.need_threshold) == (need.probability, need.threshold)
    assert lines(context, "need ") == [
        f"need {need.probability:.3f}, threshold 0.13: nothing that was searched for goes in (not_needed)"
    ]


@pytest.mark.requirement("NEED-1")
async def test_a_pinned_memory_that_a_search_finds_too_makes_nothing_else_needed(agent: Agent) -> None:
    """It stays, and says nothing of what the request needs."""
    await told(agent)
    await agent.remember("The user writes all lists in metric units, always", pinned=True)
    context = await asked(agent, "Write a list of ten colours.")
    assert texts(context) == ["The user writes all lists in metric units, always"]
    assert context.metadata.need is not None
    assert context.metadata.need < 0.13


@pytest.mark.requirement("NEED-1", "ENGINE-2")
async def test_memories_go_in_where_all_that_a_search_reads_is_pinned(agent: Agent) -> None:
    """What else it found isn't worth reading, so that no text of it is there to judge the need by."""
    pinned = [f"The user drinks green tea number {number} every morning and loves tea" for number in range(14)]
    for text in pinned:
        await agent.remember(text, kind="preference", pinned=True)
    for number in range(120):
        await agent.remember(f"Note {number}: the meeting moved to room {number}, near the tea house", kind="note")
    context = await asked(agent, "What tea does the user drink in the morning?")
    assert (context.metadata.fallback_reason, context.metadata.degradation_level) == ("", 0)
    assert context.trace.unread
    assert set(texts(context)) >= set(pinned)


@pytest.mark.requirement("NEED-2")
async def test_what_would_have_gone_in_is_told(knowing: Agent) -> None:
    """By id, with its tokens; the same question goes in where the threshold is lower."""
    question = "How do I sort a list in Python?"
    left_out = (await asked(knowing, question, effort=100)).trace.left_out
    withheld = {one.id for one in left_out if one.reason == "not_needed"}
    assert withheld
    assert all(one.tokens for one in left_out if one.reason == "not_needed")
    open_to_all = derive(SEARCHING, {"name": "open", "need": 1e-9})
    context = await asked(knowing, question, effort=100, strategy=open_to_all)
    assert withheld == {item.id for item in context.items} - {item.id for item in context.items if item.text == PINNED}


@pytest.mark.requirement("NEED-1", "NEED-2")
async def test_a_strategy_without_a_threshold_says_nothing_of_need(knowing: Agent) -> None:
    """And adds to anything."""
    context = await asked(knowing, "hi", strategy="compact")
    assert (context.metadata.need, context.metadata.need_threshold) == (None, None)
    assert len(context.items) > 1
    assert lines(context, "need ") == []


@pytest.mark.requirement("AMOUNT-1", "NEED-1")
async def test_a_question_gets_what_is_worth_its_tokens(knowing: Agent) -> None:
    """The answer and some more, not everything that would fit."""
    context = await asked(knowing, "What is my greyhound called?")
    assert context.metadata.need is not None
    assert context.metadata.need > 0.5
    assert "I adopted a greyhound called Biscuit last week." in texts(context)
    assert {one.reason for one in context.trace.left_out} == {"price"}
    assert len(context.items) < len((await asked(knowing, "What is my greyhound called?", strategy="compact")).items)
    cut = context.trace.cut
    assert cut is not None
    chosen = [item for item in context.items if not item.scored.candidate.required]
    assert all(cut.price.pays(item.score, item.tokens) for item in chosen)


@pytest.mark.requirement("AMOUNT-2")
async def test_a_higher_effort_adds_more(knowing: Agent) -> None:
    """Never less, and at some step more; each within the cap, counted by another tokenizer."""
    contexts = [await asked(knowing, QUESTION, effort=effort) for effort in (0.01, "low", "medium", "high", 100)]
    tokens = [context.metadata.total_tokens_injected for context in contexts]
    assert tokens == sorted(tokens)
    assert tokens[0] < tokens[1] < tokens[3] <= tokens[4]
    assert all(oracle("o200k")(context.added) <= 8_000 for context in contexts)
    ids = [set(context.metadata.memory_ids) for context in contexts]
    assert all(fewer <= more for fewer, more in pairwise(ids))


@pytest.mark.requirement("AMOUNT-2")
async def test_the_explanation_says_where_the_cut_was(knowing: Agent) -> None:
    """The price, and what the next item would have cost and brought: less than it has to."""
    context = await asked(knowing, QUESTION, effort="low")
    cut = context.trace.cut
    assert cut is not None
    assert cut.nearest is not None
    assert cut.nearest.tokens is not None
    assert cut.nearest.id not in context.metadata.memory_ids
    gain, due = cut.price.gain(cut.nearest.scored.score), cut.price.per_token * cut.nearest.tokens
    assert gain < due
    (line,) = lines(context, "price ")
    assert line.startswith(
        f"price {price_of_effort('low'):.1e} of what is missing a token; {cut.price.expected:.2f} relevant items"
    )
    assert line.endswith(
        f"#{cut.nearest.scored.rank}, would bring {gain:.2%} for {cut.nearest.tokens} tokens, which have to bring {due:.2%}"
    )
    assert lines(await asked(knowing, QUESTION, strategy="compact"), "price ") == []


@pytest.mark.requirement("AMOUNT-1", "BUD-5")
@pytest.mark.parametrize("strategy", ["default", "compact"])
@pytest.mark.parametrize("max_tokens", [300, 700, 1_200])
async def test_a_fixed_budget_is_still_filled(knowing: Agent, max_tokens: int, strategy: str) -> None:
    """Up to what the next message would cost, where there is need."""
    context = await asked(knowing, QUESTION, max_tokens=max_tokens, strategy=strategy)
    assert max_tokens - 60 < context.metadata.total_tokens_injected <= max_tokens
    assert context.trace.cut is None
    assert {one.reason for one in context.trace.left_out} - {"already_shown", "duplicate"} == {"budget"}


@pytest.mark.requirement("AMOUNT-1")
@pytest.mark.parametrize(
    ("strategy", "effort", "max_tokens", "expected"),
    [
        (DEFAULT, None, None, price_of_effort("medium")),
        (DEFAULT, None, 500, None),
        (DEFAULT, "high", None, price_of_effort("high")),
        (DEFAULT, "high", 500, price_of_effort("high")),
        (DEFAULT, 2, 0, price_of_effort("medium") / 2),
        (COMPACT, None, None, None),
        (COMPACT, None, 500, None),
        (COMPACT, "low", None, price_of_effort("low")),
        (COMPACT, "low", 500, price_of_effort("low")),
        (replace(COMPACT, effort="low"), None, None, price_of_effort("low")),
        (replace(COMPACT, effort="low"), None, 500, None),
        (replace(COMPACT, effort="low"), "high", None, price_of_effort("high")),
    ],
)
async def test_the_calls_effort_counts_before_its_budget_and_its_budget_before_the_strategys_effort(
    strategy: Any, effort: Any, max_tokens: int | None, expected: float | None
) -> None:
    """None: the budget is used up."""
    assembly = Assembly(request(effort=effort, max_tokens=max_tokens), strategy, Clock())
    assert assembly.price == expected
    assert assembly.cap == (strategy.cap if max_tokens is None else max_tokens)


@pytest.mark.requirement("AMOUNT-1")
async def test_budget_cap_and_shares_bound_what_is_worth_its_tokens(knowing: Agent) -> None:
    """As before."""
    free = await asked(knowing, QUESTION, effort=100)
    assert free.metadata.total_tokens_injected > 400
    bounded = await asked(knowing, QUESTION, effort=100, max_tokens=300)
    capped = await asked(knowing, QUESTION, effort=100, strategy=derive(SEARCHING, {"name": "capped", "cap": 300}))
    assert 200 < bounded.metadata.total_tokens_injected <= 300
    assert texts(capped) == texts(bounded)
    shared = replace(SEARCHING, name="shared", shares=Shares(kinds={"conversation": Cap(items=2)}))
    few = await asked(knowing, QUESTION, effort=100, strategy=shared)
    assert len([item for item in few.items if item.category == "conversation"]) == 2


@pytest.mark.requirement("AMOUNT-3")
async def test_gathering_reaches_as_deep_as_the_budget_could_use(knowing: Agent) -> None:
    """All of sixty messages alike go in where there is room, in both strategies; with a hundred, a narrow budget looks less
    far."""
    for strategy in ("default", "compact"):
        wide = await asked(knowing, QUESTION, max_tokens=4_000, strategy=strategy)
        assert len([item for item in wide.items if item.provenance.session == "diary"]) == 60
        assert "below_floor" not in {one.reason for one in wide.trace.left_out}
    more = [{"role": "user", "content": DIARY.format(number, number)} for number in range(60, 100)]
    await knowing.record(more, session="more")
    for strategy in ("default", "compact"):
        wide = await asked(knowing, QUESTION, max_tokens=4_000, strategy=strategy)
        narrow = await asked(knowing, QUESTION, max_tokens=150, strategy=strategy)
        assert narrow.metadata.memories_available < wide.metadata.memories_available


@pytest.mark.requirement("AMOUNT-4")
async def test_the_running_sessions_own_messages_compete_with_all_others(knowing: Agent) -> None:
    """None of them goes in because it is of this session; its last exchange alone comes back."""
    here = await asked(knowing, "What is my greyhound called?", session="diary")
    back = [item for item in here.items if item.source == "continuity"]
    assert [item.text for item in back] == [DIARY.format(59, 59)]
    assert {"history", "recent"}.isdisjoint(
        source for item in here.items for source in (item.source, *item.scored.candidate.also)
    )
    small_talk = await asked(knowing, "hi", session="diary")
    assert {item.text for item in small_talk.items} <= {PINNED, DIARY.format(59, 59)}
