"""Review: near-duplicates are shown once, and what contradicts is recorded for a person to decide."""

from __future__ import annotations

import pytest

from germane import Agent, Germane, InvalidInput, NotFound
from germane.kinds.memories.conflicts import Contradiction
from support.calendar import Calendar
from support.stories import ask

SAID = "The staging database is reset every night by the platform team"


async def only(agent: Agent) -> Contradiction:
    (conflict,) = await agent.memories.review()
    return conflict


@pytest.mark.requirement("MEM-4")
async def test_of_near_duplicates_the_best_is_shown_and_the_others_are_named(agent: Agent) -> None:
    """Reason `duplicate`; all of them are kept and listed."""
    kept = [await agent.remember(text) for text in (SAID, f"{SAID}!", SAID.replace("reset every night", "every night reset"))]
    context = await ask(agent, "When is the staging database reset?", strategy="verbose", session=None)
    assert len(context.items) == 1
    assert {out.id: out.reason for out in context.trace.left_out} == {
        memory.id: "duplicate" for memory in kept if memory.id != context.items[0].id
    }
    assert len((await agent.memories.list()).memories) == 3


@pytest.mark.requirement("MEM-4")
async def test_near_duplicates_that_contradict_are_both_shown_and_recorded(agent: Agent) -> None:
    """Nobody but a person can tell which of the two holds."""
    one = await agent.remember("The budget for the kitchen is 12,000 euros")
    two = await agent.remember("The budget for the kitchen is 15,000 euros")
    context = await ask(agent, "What is the budget for the kitchen?", strategy="verbose", session=None)
    assert {item.id for item in context.items} == {one.id, two.id}
    conflict = await only(agent)
    assert (conflict.reason, conflict.older.id, conflict.newer.id) == ("number", one.id, two.id)


@pytest.mark.requirement("MEM-4")
async def test_two_values_at_once_the_last_one_counts_and_the_other_can_be_restored(agent: Agent, calendar: Calendar) -> None:
    """As when two clients supersede the same fact; keeping the older one says that the newer was never true."""
    calendar.advance(days=1)
    older = await agent.remember(kind="fact", key="home", value="Leith")
    newer = await agent.remember(kind="fact", key="home", value="Oslo")
    conflict = await only(agent)
    assert (conflict.reason, conflict.older.id, conflict.newer.id) == ("same_time", older.id, newer.id)
    done = await agent.memories.resolve(conflict.id, keep=older.id)
    assert (done.kept, await agent.memories.review()) == (older.id, ())
    assert (await agent.memories.resolve(conflict.id, keep=older.id)).resolved_at == done.resolved_at
    assert [memory.id for memory in (await agent.memories.list()).memories] == [older.id]
    assert (await agent.memories.get(newer.id)).superseded_by == older.id
    assert {memory.id for memory in await agent.memories.versions(older.id)} == {older.id, newer.id}


async def test_a_fact_that_ends_a_pinned_one_is_recorded(agent: Agent, calendar: Calendar) -> None:
    """However much later it is stated. Keeping the newer one changes nothing else."""
    pinned = await agent.remember(kind="fact", key="home", value="Leith", pinned=True)
    calendar.advance(days=30)
    newer = await agent.remember(kind="fact", key="home", value="Oslo")
    conflict = await only(agent)
    assert (conflict.reason, conflict.older.id) == ("pinned", pinned.id)
    await agent.memories.resolve(conflict.id, keep=newer.id)
    assert [memory.id for memory in (await agent.memories.list()).memories] == [newer.id]


async def test_a_fact_that_supersedes_in_its_time_is_no_conflict(agent: Agent, calendar: Calendar) -> None:
    """The timeline says which value holds when."""
    await agent.remember(kind="fact", key="home", value="Leith")
    calendar.advance(days=1)
    await agent.remember(kind="fact", key="home", value="Oslo")
    assert await agent.memories.review() == ()


async def test_keeping_both_changes_neither_and_one_ends_the_other(agent: Agent) -> None:
    """For texts that differ."""
    texts = ("Is allergic to peanuts and carries medicine", "Is not allergic to peanuts and carries medicine")
    one, two = [await agent.remember(text) for text in texts]
    first = await only(agent)
    await agent.memories.resolve(first.id, keep="both")
    assert len((await agent.memories.list()).memories) == 2
    with pytest.raises(InvalidInput, match="resolved before"):
        await agent.memories.resolve(first.id, keep=one.id)
    await agent.forget([two.id])
    three = await agent.remember(texts[1])
    await agent.memories.resolve((await only(agent)).id, keep=three.id)
    assert [memory.id for memory in (await agent.memories.list()).memories] == [three.id]


async def test_only_a_side_of_ones_own_conflict_can_be_kept(agent: Agent, germane: Germane) -> None:
    """Other ids are refused; another user doesn't see the conflict."""
    await agent.remember(kind="fact", key="home", value="Leith")
    await agent.remember(kind="fact", key="home", value="Oslo")
    conflict = await only(agent)
    other_user = germane.agent("support", org="acme", user="melanie")
    with pytest.raises(InvalidInput, match="is none of"):
        await agent.memories.resolve(conflict.id, keep="neither")
    assert await other_user.memories.review() == ()
    for who, id in ((agent, "none"), (other_user, conflict.id)):
        with pytest.raises(NotFound):
            await who.memories.resolve(id, keep="both")


@pytest.mark.requirement("MEM-4")
async def test_what_was_made_from_a_superseded_fact_is_stale_until_it_is_updated(agent: Agent, calendar: Calendar) -> None:
    """It counts half, and the explanation names it."""
    home = await agent.remember(kind="fact", key="home", value="Leith")
    note = await agent.remember("The way to work takes ten minutes by bus", derived_from=[home.id], confidence=0.8)
    assert note.derived_from == (home.id,)
    calendar.advance(days=30)
    await agent.remember(kind="fact", key="home", value="Oslo")
    assert (await agent.memories.get(note.id)).stale_since == calendar.moment
    context = await ask(agent, "How long is the way to work by bus?", strategy="verbose", session=None)
    (item,) = [item for item in context.items if item.id == note.id]
    assert item.scored.candidate.confidence == 0.4
    assert "stale since" in context.explain()
    updated = await agent.memories.update(note.id, "The way to work takes two hours by train")
    assert (updated.stale_since, (await agent.memories.get(note.id)).stale_since) == (None, None)


async def test_a_circle_of_derivations_is_refused(agent: Agent) -> None:
    """With a message that says what to do, before anything is written."""
    one = await agent.remember("One")
    two = await agent.remember("Two", derived_from=[one.id])
    with pytest.raises(InvalidInput, match="derive from itself"):
        await agent.memories.update(one.id, derived_from=[two.id])
    assert (await agent.memories.get(one.id)).derived_from == ()
