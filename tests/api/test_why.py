"""Why: what an assembly did with one stored thing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest

from germane import Filters, Germane, InvalidInput
from germane.api.agent import Agent
from germane.api.strategies import DEFAULT
from germane.api.verbs.build import BUILD
from germane.types.candidate import Reason
from germane.types.context import Context
from germane.types.reports import LEFT_OUT_REASONS, Outcome, Why
from germane.types.strategy import SourcePlan
from germane_testing.builders import Hashed

pytestmark = pytest.mark.requirement("CLI-2")

ASK = [{"role": "user", "content": "When does the ferry to Skye leave?"}]


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    async with Germane.open(tmp_path / "germane.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        agent = germane.agent(user="anna")
        await agent.remember("The ferry to Skye leaves at seven")
        yield agent


async def assembled(agent: Agent, **options: Any) -> Context:
    return await agent.assemble(options.pop("messages", ASK), **{"model": "gpt-4o", "deadline": None} | options)


async def asked(agent: Agent, id: str, **options: Any) -> Why:
    return await agent.why(id, await assembled(agent, **options))


async def test_what_went_in_is_told_with_rank_and_tokens(agent: Agent) -> None:
    """By its id and by the beginning of it."""
    (memory,) = (await agent.memories.list()).memories
    for name in (memory.id, memory.id[:8]):
        found = await asked(agent, name)
        assert (found.id, found.outcome, found.rank) == (memory.id, "injected", 1)
        assert found.tokens
        assert found.probability


async def test_a_candidate_that_was_left_out_has_the_traces_reason(agent: Agent) -> None:
    """And a sentence for each reason."""
    memory = await agent.remember("The ferry to Skye has a restaurant on deck two")
    found = await asked(agent, memory.id, max_tokens=1)
    assert (found.outcome, found.reason) == ("left_out", "budget")
    assert set(LEFT_OUT_REASONS) == set(get_args(Reason))


async def test_a_search_that_ended_before_it_tells_rank_and_probability(agent: Agent) -> None:
    """The source's limit was below its rank."""
    ids = [(await agent.remember(f"The ferry to Skye leaves at {n}, on day {n}")).id for n in range(5)]
    shallow = replace(DEFAULT, sources=(SourcePlan(name="memories", limit=2),))
    found = [await asked(agent, id, strategy=shallow) for id in ids]
    below = [one for one in found if one.outcome == "not_reached"]
    assert sorted(one.rank or 0 for one in below) == [3, 4, 5, 6]
    assert all(one.reason == "depth" and one.probability and "of 6 memories" in one.text for one in below)
    bees = await agent.remember("Grandmother kept bees")
    assert (await asked(agent, bees.id, strategy=shallow)).outcome == "not_reached"


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        (Filters(sensitivities=("public",)), "sensitivities"),
        (Filters(kinds=("fact",)), "kinds"),
        (Filters(tags=("x",)), "tags"),
        (Filters(event_types=("user_message",)), "event_types"),
        (Filters(session="s9"), "session"),
        (Filters(until=datetime(2020, 1, 1, tzinfo=UTC)), "until"),
        (Filters(since=datetime(2999, 1, 1, tzinfo=UTC)), "since"),
    ],
)
async def test_the_filter_that_kept_it_out_is_named(agent: Agent, filters: Filters, reason: str) -> None:
    """The first one that it doesn't pass."""
    (memory,) = (await agent.memories.list()).memories
    found = await asked(agent, memory.id, filters=filters)
    assert (found.outcome, found.reason) == ("filtered", reason)


async def test_what_isnt_valid_at_the_time_is_told_with_its_end(agent: Agent) -> None:
    """Superseded, expired, and not valid yet."""
    old = await agent.remember("six", kind="fact", key="ferry")
    new = await agent.remember("seven", kind="fact", key="ferry")
    found = await asked(agent, old.id)
    assert (found.outcome, found.reason, found.at) == ("ended", "superseded", new.valid_from)
    assert new.id in found.text
    now = datetime.now(UTC)
    later = await agent.remember("The ferry moves", valid_from=now + timedelta(days=1), expires_at=now + timedelta(days=2))
    assert (await asked(agent, later.id)).reason == "valid_from"
    assert (await asked(agent, later.id, at=now + timedelta(days=3))).reason == "expires_at"


async def test_what_the_request_holds_isnt_injected_again(agent: Agent) -> None:
    """By its text or by the caller's message id."""
    await agent.record([{**ASK[0], "id": "q1"}], session="s1")
    assert (await asked(agent, "q1")).outcome == "in_request"


async def test_what_was_forgotten_is_told_with_when_who_and_why(agent: Agent) -> None:
    """From the tombstone, which holds no content."""
    (memory,) = (await agent.memories.list()).memories
    await agent.forget([memory.id], by="operator", reason="asked to")
    found = await asked(agent, memory.id)
    assert (found.outcome, found.reason) == ("forgotten", "asked to")
    assert "by operator: asked to" in found.text
    assert found.at is not None


async def test_a_source_that_didnt_answer_and_one_that_isnt_planned(agent: Agent) -> None:
    """The reason is the source's status, or the strategy."""
    await agent.record([{"role": "user", "content": "Is there a bus?", "id": "m1"}], session="s1")
    only = replace(DEFAULT, sources=(SourcePlan(name="memories"),))
    assert (await asked(agent, "m1", strategy=only)).reason == "strategy"
    said = replace(DEFAULT, sources=(SourcePlan(name="messages"),))
    context = await assembled(agent, messages=[{"role": "user", "content": " "}], strategy=said)
    assert (await agent.why("m1", context)).reason == "skipped:no_query"
    short = await assembled(agent, window=10)
    assert (await agent.why("m1", short)).reason == "messages_exceed_window"


@pytest.mark.requirement("SCOPE-3")
async def test_absent_and_forbidden_look_the_same(agent: Agent, tmp_path: Path) -> None:
    """Another user's memory is absent, forgotten or not."""
    context = await assembled(agent)
    async with Germane.open(tmp_path / "germane.db", embedder=Hashed(), warm=False, freeze=False) as germane:
        ben = germane.agent(user="ben")
        memory = await ben.remember("his")
        absent = await agent.why("0" * 36, context)
        assert await agent.why(memory.id, context) == replace(
            absent, id=memory.id, text=absent.text.replace("0" * 36, memory.id)
        )
        await ben.forget([memory.id])
        assert (await agent.why(memory.id, context)).outcome == "absent"


async def test_bad_arguments_are_refused(agent: Agent) -> None:
    """With the argument's name."""
    context = await assembled(agent)
    for id, given, said in ((5, context, "id must be"), ("x" * 300, context, "id has"), ("x", {}, "context must be")):
        with pytest.raises(InvalidInput, match=said):
            await agent.why(id, given)  # type: ignore[arg-type]


def test_every_outcome_is_documented() -> None:
    """An outcome is a code that programs compare."""
    assert len(get_args(Outcome)) == 11


@pytest.mark.requirement("ENGINE-5", "TASK-2", "GRAPH-6")
async def test_tasks_relations_patterns_and_documents_are_answered_for(agent: Agent) -> None:
    """In the context and outside it; what another user has is absent."""
    for name in ("Caroline", "Acme"):
        await agent.graph.add("thing", name)
    relation = await agent.graph.relate("Caroline", "works_at", "Acme")
    pattern = await agent.graph.patterns.learn("Ring the bell", keywords=("bell",))
    task = await agent.tasks.push("Write to Caroline", session="s")
    await agent.documents.ingest(text="The crane of berth 4 is blue. " * 3, source="crane.txt")
    document = (await agent.documents.list()).documents[0].session
    ask: list[dict[str, Any]] = [
        {"role": "user", "content": "Where does Caroline work, and what colour is the crane of berth 4?"}
    ]
    context = await agent.assemble(ask, model="gpt-4o", session="s", strategy="compact", deadline=None)
    told = {id: await agent.why(id, context) for id in (task.id, document, relation.id, pattern.id)}
    assert told[task.id].outcome == told[document].outcome == "injected"
    assert told[relation.id].outcome == told[pattern.id].outcome == "not_searched"
    full = await agent.assemble(ask, model="gpt-4o", session="s", strategy=BUILD, deadline=None)
    assert (await agent.why(relation.id, full)).outcome == "injected"
    assert (await agent.why(pattern.id, full)).outcome == "not_reached"
    coding = await agent.assemble(ask, model="gpt-4o", session="s", strategy="coding", deadline=None)
    assert (await agent.why(task.id, coding)).outcome == "injected"
    assert (await agent.why("nothing", full)).outcome == "absent"
