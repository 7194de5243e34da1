"""Recorded in one session, asked in another: the answer is in the context, and everything about it is told."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from germane import Agent, Context, Germane, Strategies
from germane.dialects.registry import dialect
from germane.models.embedders.distilled import Distilled
from germane.types.message import Message, Wire
from support.calendar import Calendar
from support.oracle import oracle
from support.stories import ASKED, MODELS, QUESTION, TALK, ask, ids, texts, told

STRATEGIES = ("default", "verbose", "compact", "composite")


@pytest.fixture
async def knowing(agent: Agent) -> Agent:
    await agent.directive("Answer in one sentence.")
    await agent.remember("Prefers e-mail to phone calls", kind="preference")
    return await told(agent)


@pytest.mark.requirement("ENGINE-1")
@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_what_was_said_in_one_session_answers_a_question_in_another(knowing: Agent, strategy: str, provider: str) -> None:
    """Whatever the strategy writes and whichever provider it is shaped for."""
    context = await ask(knowing, model=MODELS[provider], strategy=strategy)
    assert context.provider == provider
    assert "m1" in ids(context)
    assert "called Biscuit" in context.added
    assert context.trace.strategy == strategy


@pytest.mark.requirement("INJECT-2a")
async def test_for_openai_the_first_message_is_germanes_and_system_is_the_same_text(knowing: Agent) -> None:
    """The caller's own follow, the very same objects."""
    context = await knowing.assemble(ASKED, model="gpt-4o", session="s2", strategy="compact", deadline=None)
    assert context.messages[0] == {"role": "system", "content": context.system}
    assert context.system == context.added
    assert context.messages[1] is ASKED[0]


@pytest.mark.requirement("INJECT-2a")
async def test_unless_told_otherwise_only_the_directive_is_first_and_the_rest_is_beside_the_question(knowing: Agent) -> None:
    """So that the beginning of the prompt stays as it is; the caller's own are the very same objects."""
    context = await knowing.assemble(ASKED, model="gpt-4o", session="s2", deadline=None)
    first, late, question = context.messages
    assert first == {"role": "system", "content": context.system}
    assert "Answer in one sentence." in str(context.system)
    assert "Biscuit" not in str(context.system)
    assert "called Biscuit" in str(late)
    assert question is ASKED[0]


@pytest.mark.requirement("INJECT-2a")
@pytest.mark.parametrize("provider", ["openai-responses", "anthropic", "gemini"])
async def test_elsewhere_system_holds_germanes_text_and_then_the_callers_own(knowing: Agent, provider: str) -> None:
    """`.messages` has no system role; `provider=` goes before the model's."""
    messages = [{"role": "system", "content": "You are a vet."}, *ASKED]
    context = await knowing.assemble(
        messages, model="gpt-4o", provider=provider, session="s2", strategy="compact", deadline=None
    )
    system = str(context.system)
    assert context.provider == provider
    assert system.index("Biscuit") < system.index("You are a vet.")
    assert [dict(message)["role"] for message in context.messages if not isinstance(message, Message)] == ["user"]


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize("model", MODELS.values())
async def test_every_context_goes_out_to_every_provider(knowing: Agent, model: str) -> None:
    """What each `to_…` returns is valid and says the same."""
    context = await ask(knowing, model=model, strategy="compact")
    openai, anthropic, gemini = context.to_openai(), context.to_anthropic(), context.to_gemini()
    responses = context.to_openai_responses()
    wires = {
        "openai": Wire(messages=openai),
        "openai-responses": Wire(messages=responses["input"], system=responses["instructions"]),
        "anthropic": Wire(messages=anthropic["messages"], system=anthropic["system"]),
        "gemini": Wire(messages=gemini["contents"], system=gemini["system_instruction"]["parts"][0]["text"]),
    }
    for provider, wire in wires.items():
        assert dialect(provider).problems(wire) == ()
        assert context.added in str(wire.messages[0]["content"] if wire.system is None else wire.system)
        assert QUESTION in str(wire.messages[-1])


@pytest.mark.requirement("INJECT-7")
async def test_what_google_genai_takes_holds_the_callers_own_config(knowing: Agent, agent: Agent) -> None:
    """The system instruction joins it, in a new dict; without one nothing is added. The REST body is as it was."""
    mine = {"temperature": 0}
    context = await ask(knowing, model="gemini-2.5-flash")
    body, given = context.to_gemini(), context.to_google_genai(mine)
    assert given == {"contents": body["contents"], "config": {**mine, "system_instruction": body["system_instruction"]}}
    assert mine == {"temperature": 0}
    bare = await agent.assemble([{"role": "user", "content": "hm"}], model="gemini-2.5-flash", strategy="default", max_tokens=0)
    assert bare.to_google_genai() == {"contents": bare.to_gemini()["contents"], "config": {}}
    assert bare.to_openai_responses() == {"input": [{"role": "user", "content": "hm"}]}


@pytest.mark.requirement("FORMAT-6")
async def test_each_item_tells_what_it_is_and_where_it_comes_from(knowing: Agent) -> None:
    """Id, source, text, tokens, score and the caller's own message id."""
    context = await ask(knowing, strategy="verbose")
    item = next(item for item in context.items if item.provenance.message_id == "m1")
    assert item.source == "messages"
    assert item.text == TALK[0]["content"]
    assert item.tokens > oracle("o200k")(item.text)
    assert 0 < item.score <= 1
    assert item.provenance.session == "s1"
    assert f'id="{item.id}"' in context.added


@pytest.mark.requirement("INJECT-2a")
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_items_stand_in_rendered_order(knowing: Agent, strategy: str) -> None:
    """And nothing else is in the text."""
    context = await ask(knowing, strategy=strategy)
    places = [context.added.index(item.handle) for item in context.items]
    assert places == sorted(places)
    assert len(places) >= 3


@pytest.mark.requirement("INJECT-3")
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_the_numbers_of_the_metadata_are_true(knowing: Agent, strategy: str) -> None:
    """Counted by another tokenizer, what was injected is what was said to be."""
    context = await ask(knowing, strategy=strategy)
    said, budget = context.metadata, context.trace.budget
    assert budget is not None
    assert said.directive_injected
    assert said.memories_injected == len(context.items) == len(said.memory_ids)
    assert said.memory_ids == tuple(item.id for item in context.items)
    assert oracle("o200k")(context.added) <= said.total_tokens_injected <= oracle("o200k")(context.added) + 2
    assert said.context_window_used == 100 * (budget.messages + said.total_tokens_injected) // 128_000
    assert (said.was_truncated, said.fallback_reason, said.degradation_level) == (False, "", 0)
    assert {report.name for report in said.sources} >= {plan.name for plan in Strategies().find(strategy).sources}


@pytest.mark.requirement("INJECT-3", "PACK-3")
async def test_what_is_available_counts_what_did_not_fit_and_the_context_says_so(knowing: Agent) -> None:
    """Distinct candidates above the floor, in or out."""
    context = await ask(knowing, max_tokens=140, strategy="verbose")
    out = [one for one in context.trace.left_out if one.reason == "budget"]
    assert context.metadata.was_truncated
    assert context.metadata.total_tokens_injected <= 140
    assert context.metadata.memories_available == len(context.items) + len(out) == 5


@pytest.mark.requirement("ENGINE-5", "SCORE-6")
async def test_explain_names_every_candidate_in_or_out(knowing: Agent) -> None:
    """With its source, the parts of its score, its tokens and why it was left out."""
    context = await ask(knowing, max_tokens=140, strategy="verbose")
    lines = context.explain().splitlines()
    for item in context.trace.chosen:
        assert [line for line in lines if line.startswith("in") and item.id in line and f"{item.tokens} tokens" in line]
    for left in context.trace.left_out:
        assert [line for line in lines if line.startswith("out") and left.id in line and line.endswith(left.reason)]
    for scored in [*(one.scored for one in context.trace.chosen), *(one.scored for one in context.trace.left_out)]:
        assert any(line.startswith("     ") and line.strip().rstrip("…") in scored.candidate.text for line in lines)
    assert lines[-2].startswith("in: it went into the prompt")
    assert len(context.trace.chosen) + len(context.trace.left_out) == 5
    assert all("relevance" in line and "recency" in line for line in lines if line.startswith(("in ", "out ")))


@pytest.mark.requirement("ENGINE-5")
async def test_reading_an_explanation_changes_no_counter(knowing: Agent) -> None:
    """Only assembling counts."""
    context = await ask(knowing)
    for _ in range(3):
        context.explain()
    await knowing._parts.retrievals.flush()  # what closing does
    (memory,) = [one for one in (await knowing.memories.list()).memories if not one.derived_from]
    assert memory.retrieval_count == 1


def essence(context: Context) -> tuple[object, ...]:
    return (context.messages, context.system, context.items, context.metadata.memory_ids, context.trace.left_out)


@pytest.mark.requirement("ENGINE-8")
@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_the_same_store_request_and_time_give_the_same_bytes(
    knowing: Agent, germane: Germane, calendar: Calendar, tmp_path: Path, strategy: str
) -> None:
    """Again at once, and from a copy opened later, whatever the clock says by then."""
    at = calendar.moment + timedelta(days=3)
    await germane.backup(tmp_path / "copy.db")
    first = essence(await ask(knowing, strategy=strategy, at=at, session=None))
    assert essence(await ask(knowing, strategy=strategy, at=at, session=None)) == first
    one, two = [await ask(knowing, strategy=strategy, at=at) for _ in range(2)]
    assert (one.messages, one.system, one.added) == (two.messages, two.system, two.added)
    calendar.advance(hours=5)
    async with Germane.open(tmp_path / "copy.db", embedder=Distilled(), clock=calendar.clock) as copy:
        agent = copy.agent("support", org="acme", user="caroline")
        assert essence(await ask(agent, strategy=strategy, at=at, session=None)) == first


@pytest.mark.requirement("ENGINE-6")
async def test_the_same_request_within_the_deadline_is_answered_alike_and_with_objects_of_its_own(knowing: Agent) -> None:
    """A remembered answer is written into each request anew."""
    await knowing.warm()
    one, two = [await ask(knowing, deadline=0.048, strategy="compact") for _ in range(2)]
    assert one.messages == two.messages or max(one.metadata.degradation_level, two.metadata.degradation_level) > 0
    assert one.messages is not two.messages
    assert one.messages[0] is not two.messages[0]


async def test_nothing_known_leaves_the_messages_as_they_are(agent: Agent) -> None:
    """No empty system message (INJECT-1)."""
    context = await agent.assemble(ASKED, model="gpt-4o", deadline=None)
    assert context.messages == ASKED
    assert context.messages[0] is ASKED[0]
    assert (context.system, context.added, context.items) == (None, "", ())
    assert context.metadata.total_tokens_injected == 0


async def test_an_empty_conversation_with_a_query_gets_what_answers_it(knowing: Agent) -> None:
    """`query` stands in for the last user message."""
    context = await knowing.assemble([], model="gpt-4o", query=QUESTION, deadline=None)
    assert TALK[0]["content"] in texts(context)
