"""Consolidate: the memories of a scope are brought within a storage budget, and nothing else is touched."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from germane import Agent, Germane, InvalidInput
from germane.kinds.memories.value import Memory
from germane_testing.builders import MOMENT
from support.calendar import Opening

pytestmark = pytest.mark.requirement("MEM-6")
PLACES = ("Leith", "Lisbon", "Vienna", "Bergen", "Toledo", "Kyoto", "Quito", "Tartu")


async def lived(agent: Agent, episodes: int = 40) -> list[Memory]:
    """Episodes of many days, and one memory of each other kind."""
    made = [
        await agent.remember(
            f"Walked through {PLACES[day % 8]} for {day} hours. Then slept for a long time and dreamt of {PLACES[day % 7]}.",
            kind="episode",
            occurred_at=MOMENT - timedelta(days=1000 - day),
            tags=[PLACES[day % 8]],
        )
        for day in range(episodes)
    ]
    made.append(await agent.remember(kind="fact", key="home", value="Leith"))
    made.append(await agent.remember("Prefers e-mail to phone calls", kind="preference"))
    made.append(await agent.remember("Wear a helmet on the building site", kind="behavior", pinned=True))
    made.append(await agent.remember("Send a label, then refund", kind="procedure"))
    return made


async def kept(agent: Agent) -> list[Memory]:
    return list((await agent.memories.list(limit=1000)).memories)


async def test_the_oldest_episodes_become_notes_with_their_ids_and_first_sentences(agent: Agent) -> None:
    """Within the budget; the report names each, and what it says is true."""
    made = await lived(agent)
    report = await agent.consolidate(max_memories=30)
    (group,) = report.compressed
    assert group.ids == tuple(memory.id for memory in made[:16])
    note = await agent.memories.get(group.note)
    assert (note.kind, note.provenance.refs, note.tags) == ("note", group.ids, tuple(sorted(PLACES)))
    assert "2023-06-14: Walked through Leith for 0 hours.\n" in note.text
    assert "dreamt" not in note.text
    assert report.before.memories == 44
    assert report.after.memories == len(await kept(agent)) == 29
    assert (report.after.kinds["episode"], report.after.kinds["note"], report.fits, report.scrubbed) == (24, 1, True, True)
    assert report.after.bytes < report.before.bytes


async def test_a_dry_run_tells_the_same_and_changes_nothing(agent: Agent) -> None:
    """But for the ids of notes, and bytes, which are estimated."""
    await lived(agent)
    before = await kept(agent)
    planned = await agent.consolidate(max_memories=3, dry_run=True)
    assert await kept(agent) == before
    done = await agent.consolidate(max_memories=3)
    assert (planned.dry_run, planned.evicted, planned.after.kinds) == (True, done.evicted, done.after.kinds)
    assert {memory.kind for memory in await kept(agent)} == {"preference", "behavior", "fact"}


async def test_duplicates_are_merged_with_all_that_was_counted(agent: Agent) -> None:
    """Tags of both, the stricter sensitivity; the others are forgotten."""
    one = await agent.remember("The staging database is reset every night", tags=["ops"], confidence=0.9)
    two = await agent.remember("The staging database is reset every night!", tags=["db"], sensitivity="sensitive")
    await agent.feedback([one.id, two.id])
    report = await agent.consolidate(max_memories=1)
    assert [(group.kept, group.ids) for group in report.merged] == [(one.id, (two.id,))]
    (memory,) = await kept(agent)
    assert (memory.tags, memory.sensitivity, memory.helpful, memory.confidence) == (("db", "ops"), "sensitive", 2, 0.9)


async def test_a_dropped_vector_is_not_made_again_and_keywords_find_the_text(opening: Opening) -> None:
    """Also after the store was opened again."""
    async with opening() as germane:
        agent = germane.agent(user="caroline")
        memory = await agent.remember("Prefers e-mail to phone calls", kind="preference")
        report = await agent.consolidate(max_bytes=500)
        assert report.vectors_dropped == (memory.id,)
    async with opening() as germane:
        agent = germane.agent(user="caroline")
        assert await germane.reembed() == 0
        assert [hit.id for hit in await agent.search("phone calls")] == [memory.id]
        assert (await agent.consolidate(max_bytes=10, dry_run=True)).vectors_dropped == ()


async def test_messages_other_users_and_what_is_pinned_are_never_touched(agent: Agent, germane: Germane) -> None:
    """A budget of nothing leaves all of these, and says that it isn't kept."""
    other = germane.agent("support", org="acme", user="melanie")
    theirs = await other.remember("Walked", kind="episode")
    await agent.record([{"role": "user", "content": "I walked"}], session="s")
    pinned = await agent.remember("Ran", kind="episode", pinned=True)
    await agent.remember("Swam", kind="episode")
    report = await agent.consolidate(max_memories=0, max_bytes=0)
    assert (report.fits, [memory.id for memory in await kept(agent)]) == (False, [pinned.id])
    assert [memory.id for memory in await kept(other)] == [theirs.id]
    assert len([one async for one in agent.export() if one["type"] == "message"]) == 1
    assert "Swam" not in [hit.candidate.text for hit in await agent.search("Swam")]


@pytest.mark.parametrize("given", [{}, {"max_memories": -1}, {"max_bytes": 1.5}, {"max_memories": True}])
async def test_a_budget_that_cannot_be_kept_is_refused(agent: Agent, given: dict[str, Any]) -> None:
    """Before anything is read."""
    with pytest.raises(InvalidInput):
        await agent.consolidate(**given)
