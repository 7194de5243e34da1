"""`agent.update_context`: one more event in a built context, without the faults of the third seed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from germane import Agent, Filters, Germane, InvalidInput, NotFound
from germane.models.tokenizers import open_tokenizer
from germane.types.context import BuiltContext
from germane_testing.builders import MOMENT
from support.examples import examples

LATER = MOMENT + timedelta(days=9_999)
COUNT = open_tokenizer("o200k").count
TALK = [
    {"id": f"m{number}", "role": "user", "content": f"The greyhound Biscuit ate {number} {what} in the kitchen today."}
    for number, what in enumerate(("apples", "shoes", "hats", "books", "lamps", "cups", "rugs", "chairs"), 2)
]
QUESTION = "What did the greyhound eat?"


async def prepared(agent: Agent, max_tokens: int = 200, **options: Any) -> BuiltContext:
    await agent.record(TALK, session="s1")
    return await agent.build(QUESTION, session="s2", max_tokens=max_tokens, deadline=None, **options)


async def said(agent: Agent, text: str, id: str = "new") -> str:
    return (await agent.record([{"id": id, "role": "user", "content": text}], session="s2")).added[0]


def measured(built: BuiltContext) -> bool:
    return built.token_count == COUNT(built.content) <= built.max_tokens


@pytest.mark.requirement("ENGINE-7")
async def test_the_event_comes_first_and_the_text_is_written_anew(agent: Agent) -> None:
    """The seed's text stays as it was."""
    built = await prepared(agent, 400)
    id = await said(agent, "The vet says that Biscuit is fine.")
    updated = await agent.update_context(built, id)
    assert updated.components[0].source == id
    assert updated.components[0].type == "recent"
    assert "The vet says that Biscuit is fine." in updated.content
    assert measured(updated)
    assert {one.source for one in updated.components[1:]} == {one.source for one in built.components}
    assert not updated.truncated
    assert updated.attribution[updated.components[0].handle] == id
    assert await agent.update_context(built, await agent.find(id)) == updated  # type: ignore[arg-type]


@pytest.mark.requirement("ENGINE-7")
async def test_as_many_as_needed_go_and_those_with_the_lowest_scores(agent: Agent) -> None:
    """The seed drops one, the one with the highest score, and calls the budget the count."""
    built = await prepared(agent, 280)
    scores = {one.source: one.relevance_score for one in built.components}
    assert len(scores) > 4
    updated = await agent.update_context(built, await said(agent, "The vet wrote: " + "he is fine and well, " * 24))
    kept = {one.source for one in updated.components[1:]}
    gone = scores.keys() - kept
    assert len(gone) >= 2
    assert max(scores[id] for id in gone) <= min(scores[id] for id in kept)
    assert measured(updated)
    assert updated.token_count < updated.max_tokens
    assert updated.truncated


@pytest.mark.requirement("ENGINE-7")
async def test_the_same_event_is_there_once(agent: Agent) -> None:
    """However often it is added; and one that was found already is not doubled."""
    built = await prepared(agent, 300)
    id = await said(agent, "The vet says that Biscuit is fine.")
    once = await agent.update_context(built, id)
    assert await agent.update_context(once, id) == once
    known = built.components[-1].source
    again = await agent.update_context(built, known)
    assert [one.source for one in again.components].count(known) == 1
    assert len(again.components) == len(built.components)
    assert again.components[0].source == known


@pytest.mark.requirement("ENGINE-7")
@pytest.mark.parametrize("shorten", ["excerpt", "summary", "breadcrumb", "none"])
async def test_an_event_larger_than_the_budget_is_shortened(agent: Agent, shorten: str) -> None:
    """To half of it, so that not everything else has to go."""
    built = await prepared(agent, 200, strategy={"shorten": shorten})
    id = await said(agent, "The vet writes. " + " ".join(f"On day {n} the dog was seen by doctor {n}." for n in range(99)))
    updated = await agent.update_context(built, id)
    assert updated.components[0].source == id
    assert 0 < updated.components[0].share < 1
    assert len(updated.components) > 1
    assert measured(updated)
    assert updated.truncated
    assert await agent.update_context(updated, id) == updated


@pytest.mark.requirement("ENGINE-7")
async def test_where_nothing_of_the_event_fits_the_context_stays_and_says_so(agent: Agent) -> None:
    """Nothing is dropped for nothing."""
    built = await prepared(agent, 30)
    id = await said(agent, "The vet writes. " + "On no day was the dog seen by any doctor. " * 60)
    updated = await agent.update_context(built, id)
    assert updated.note == "the event doesn't fit into 30 tokens, not even shortened"
    assert (updated.content, updated.components) == (built.content, built.components)
    assert await agent.update_context(updated, id) == updated


@pytest.mark.requirement("ENGINE-7")
@pytest.mark.requirement("GATHER-4")
@pytest.mark.parametrize(
    "filters",
    [
        Filters(exclude=frozenset({"new"})),
        Filters(sensitivities=("public",)),
        Filters(event_types=("assistant_message",)),
        Filters(kinds=("fact",)),
        Filters(tags=("dog",)),
        Filters(session="s1"),
        Filters(task="t1"),
        Filters(since=LATER),
        Filters(until=LATER - 2 * timedelta(days=9_999)),
    ],
)
async def test_what_the_filters_exclude_is_not_added(agent: Agent, filters: Filters) -> None:
    """An update is no way around them."""
    built = await prepared(agent, 300, filters=filters)
    updated = await agent.update_context(built, await said(agent, "The vet says that Biscuit is fine."))
    assert updated.note == "the filters of this context don't allow the event"
    assert updated.content == built.content


@pytest.mark.requirement("GATHER-6")
async def test_what_was_said_after_the_time_asked_about_is_not_added(agent: Agent) -> None:
    """It isn't known then."""
    built = await prepared(agent, 300, at=LATER - 2 * timedelta(days=9_999))
    updated = await agent.update_context(built, await said(agent, "The vet says that Biscuit is fine."))
    assert updated.note == "the filters of this context don't allow the event"


@pytest.mark.requirement("ENGINE-7")
@pytest.mark.requirement("PACK-8")
async def test_what_was_forgotten_since_is_gone_with_the_next_update(agent: Agent) -> None:
    """Also where the event itself can't be added."""
    built = await prepared(agent, 300)
    gone = built.components[0]
    id = await said(agent, "The vet says that Biscuit is fine.")
    await agent.forget([gone.source])
    updated = await agent.update_context(built, id)
    assert gone.content not in updated.content
    refused = await agent.update_context(replace(built, filters=Filters(exclude=frozenset({id}))), id)
    assert refused.note
    assert gone.content not in refused.content
    assert {one.source for one in refused.components} == {one.source for one in built.components} - {gone.source}
    with pytest.raises(NotFound):
        await agent.update_context(built, gone.source)


@pytest.mark.requirement("SCOPE-3")
async def test_nothing_crosses_scopes(germane: Germane, agent: Agent) -> None:
    """Neither another user's event nor another user's context."""
    built = await prepared(agent)
    bob = germane.agent("support", org="acme", user="bob")
    theirs = await said(bob, "Bob's secret.")
    with pytest.raises(NotFound):
        await agent.update_context(built, theirs)
    with pytest.raises(NotFound):
        await agent.update_context(built, await bob.find(theirs))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="another org, agent or user"):
        await bob.update_context(built, theirs)
    for wrong in (None, "x", 3):
        with pytest.raises(InvalidInput):
            await agent.update_context(wrong, "id")  # type: ignore[arg-type]
    memory = await agent.remember("Biscuit is grey")
    with pytest.raises(InvalidInput, match="is a memory"):
        await agent.update_context(built, memory.id)


async def test_additional_context_stays_through_updates_to_the_last(agent: Agent) -> None:
    """It is required: everything else goes before."""
    built = await prepared(agent, 160, additional_context="The user is on the phone.")
    for number in range(6):
        built = await agent.update_context(
            built, await said(agent, f"Visit {number} at the vet: " + "fine " * 40, f"n{number}")
        )
        assert measured(built)
    assert "The user is on the phone." in built.content
    assert "Visit 5" in built.content
    assert "Visit 0" not in built.content


@pytest.mark.requirement("ENGINE-7")
@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 260), st.lists(st.integers(0, 7), min_size=1, max_size=4), st.integers(1, 40))
async def test_updates_keep_to_the_budget_and_are_idempotent(agent: Agent, budget: int, order: list[int], times: int) -> None:
    """Whatever is added, in any order."""
    if not (await agent.stats()).messages:
        await agent.record(TALK, session="s1")
    long = await agent.record([{"id": f"l{times}", "role": "user", "content": "A long day. " * times}], session="s3")
    ids = [one.id for one in (await agent.messages("s1")).messages]
    built = await agent.build(QUESTION, session="s2", max_tokens=budget, deadline=None)
    for id in [*(ids[index] for index in order), *long.added]:
        built = await agent.update_context(built, id)
        assert built.token_count == (COUNT(built.content) if built.content else 0) <= budget
        assert await agent.update_context(built, id) == built
