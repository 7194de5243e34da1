"""Looking through a scope in the library: pages, ids by their beginning, counts, and what a scope never sees."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from germane import Filters, Germane, InvalidInput, Memory, NotFound, Scope, StoreUnavailable
from germane_testing.builders import Hashed

pytestmark = pytest.mark.requirement("CLI-2")

TALK = [{"role": "user", "content": f"Box {n} is here", "id": f"m{n}"} for n in range(5)]


@pytest.fixture
async def germane(tmp_path: Path) -> AsyncIterator[Germane]:
    async with Germane.open(tmp_path / "germane.db", embedder=Hashed(), warm=False, freeze=False) as opened:
        yield opened


async def test_a_memory_is_read_changed_and_traced_by_the_beginning_of_its_id(germane: Germane) -> None:
    """All but the last character stands for the id in get, update and versions."""
    agent = germane.agent(user="anna")
    first = await agent.remember("Vienna", kind="fact", key="city")
    second = await agent.remember("Graz", kind="fact", key="city")
    assert (await agent.memories.get(first.id[:-1])).text == "city: Vienna"
    assert [one.id for one in await agent.memories.versions(second.id[:-1])] == [first.id, second.id]
    assert (await agent.memories.update(second.id[:-1], confidence=0.5)).confidence == 0.5


async def test_a_beginning_that_several_have_names_them_and_no_content(germane: Germane) -> None:
    """The error lists ids of the scope, five at most."""
    anna, ben = germane.agent(user="anna"), germane.agent(user="ben")
    secrets = [await anna.remember(f"secret {n}") for n in range(7)]
    his = await ben.remember("his own secret")
    with pytest.raises(InvalidInput, match="more than 5 things") as error:
        await anna.memories.get(secrets[0].id[:4])
    assert len(re.findall(r"[0-9a-f]{8}-[0-9a-f]{4}-7", str(error.value))) == 5
    assert "secret" not in str(error.value)
    assert his.id not in str(error.value)
    assert (await ben.memories.get(his.id[:4])).id == his.id


@pytest.mark.parametrize("name", ["zzzz", "01", "0000", "01a2%", "nobody's id", "0" * 40])
async def test_what_nothing_has_is_not_found(germane: Germane, name: str) -> None:
    """`NotFound`, with a hint unless the id is whole."""
    agent = germane.agent()
    await agent.remember("tea")
    for asked in (agent.find, agent.memories.get, agent.memories.versions):
        with pytest.raises(NotFound, match="no memory") as error:
            await asked(name)
        assert ("four or more" in str(error.value)) == (len(name) < 36)


@pytest.mark.requirement("SCOPE-3")
async def test_a_thing_is_found_by_id_beginning_or_message_id_in_its_scope_only(germane: Germane) -> None:
    """`find` returns memories and messages; another user's are absent."""
    anna, ben = germane.agent(user="anna"), germane.agent(user="ben")
    memory = await anna.remember("tea")
    added = (await anna.record(TALK, session="s1")).added
    found = await anna.find(memory.id)
    assert isinstance(found, Memory)
    assert found.text == "tea"
    assert (await anna.find("m3")).text == "Box 3 is here"
    assert (await anna.find(added[2][:-1])).id == added[2]
    for name in (memory.id, memory.id[:-1], "m3", added[2]):
        with pytest.raises(NotFound):
            await ben.find(name)
    await anna.record(TALK, session="s2")
    with pytest.raises(InvalidInput, match="stands for 2 things"):
        await anna.find("m3")


async def test_forgetting_takes_whole_ids_only(germane: Germane) -> None:
    """A message id of the caller's may look like the beginning of an id: what can't be undone isn't guessed."""
    agent = germane.agent()
    memory = await agent.remember("tea")
    assert not await agent.forget([memory.id[:8]])
    assert await agent.forget([memory.id])


async def test_messages_sessions_and_counts_of_a_scope(germane: Germane) -> None:
    """Pages go through everything once, and the figures agree with them."""
    agent = germane.agent("support", org="acme", user="anna")
    for session in ("s1", "s2"):
        await agent.record(TALK, session=session)
    first = await agent.messages(limit=7)
    second = await agent.messages(limit=7, cursor=first.cursor)
    assert second.cursor is None
    assert len({one.id for one in (*first.messages, *second.messages)}) == 10
    assert [one.message_id for one in (await agent.messages("s1")).messages] == ["m4", "m3", "m2", "m1", "m0"]
    assert (await agent.messages("s9")).messages == ()
    assert [(one.id, one.length) for one in (await agent.sessions()).sessions] == [("s2", 5), ("s1", 5)]
    found = await agent.stats()
    assert (found.messages, found.sessions, found.users) == (10, 2, None)
    wide = germane.agent("support", org="acme")
    assert [(one.user, one.messages) for one in (await wide.users()).users] == [("anna", 10)]
    assert [(one.agent, one.users) for one in (await germane.agents("acme")).agents] == [("support", 1)]
    assert (await germane.agents()).agents == ()
    assert [(one.org, one.agents, one.users) for one in (await germane.orgs()).orgs] == [("acme", 1, 1)]


@pytest.mark.requirement("SCOPE-2")
async def test_the_owner_of_an_id_is_told_within_its_org_only(germane: Germane) -> None:
    """For the operator: also of what was forgotten."""
    memory = await germane.agent("support", org="acme", user="anna").remember("tea")
    for _ in range(2):
        assert await germane.owner(memory.id, org="acme") == Scope(org="acme", agent="support", user="anna")
        assert await germane.owner(memory.id) is None
        await germane.agent("support", org="acme", user="anna").forget([memory.id])


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"limit": 0}, "limit must be"),
        ({"limit": 1001}, "limit must be"),
        ({"limit": True}, "limit must be"),
        ({"cursor": "x"}, "cursor isn't one"),
        ({"cursor": 5}, "cursor must be a string"),
    ],
)
async def test_a_bad_page_is_refused_by_every_listing(germane: Germane, bad: dict[str, Any], said: str) -> None:
    """With the name of the argument."""
    agent = germane.agent()
    listings = (agent.messages(**bad), agent.sessions(**bad), agent.users(**bad), agent.memories.list(**bad))
    for asked in (*listings, germane.agents(**bad), germane.orgs(**bad)):
        with pytest.raises(InvalidInput, match=said):
            await asked


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"filters": Filters(kinds=("fact",))}, "filters names kinds or tags, which messages don't have"),
        ({"filters": Filters(tags=("x",))}, "filters names kinds or tags, which messages don't have"),
        ({"filters": Filters(session="s2")}, "the two differ"),
        ({"filters": {"session": "s2"}}, "filters must be a Filters"),
        ({"whole": 1}, "whole must be"),
    ],
)
async def test_bad_arguments_of_messages_are_refused(germane: Germane, bad: dict[str, Any], said: str) -> None:
    """With the name of the argument."""
    with pytest.raises(InvalidInput, match=said):
        await germane.agent().messages("s1", **bad)


async def test_unknown_kinds_and_sensitivities_are_refused_with_the_known_ones(germane: Germane) -> None:
    """A mistyped kind doesn't look like an empty store."""
    with pytest.raises(InvalidInput, match="fact, preference, procedure, behavior, episode, note"):
        await germane.agent().memories.list(Filters(kinds=("notes",)))
    with pytest.raises(InvalidInput, match="public, private, sensitive"):
        Filters(sensitivities=("secret",))  # type: ignore[arg-type]


async def test_a_user_lists_no_users(germane: Germane) -> None:
    """The scope of a user sees no other."""
    with pytest.raises(InvalidInput, match="without a user"):
        await germane.agent(user="anna").users()


async def test_open_can_be_awaited(tmp_path: Path) -> None:
    """`await` opens as `async with` does; the caller closes."""
    germane = await Germane.open(tmp_path / "germane.db", embedder=Hashed(), warm=False, freeze=False)
    memory = await germane.agent().remember("tea")
    await germane.close()
    with pytest.raises(StoreUnavailable, match=r"await Germane\.open"):
        germane.agent()
    async with await Germane.open(tmp_path / "germane.db", embedder=Hashed(), warm=False, freeze=False) as again:
        assert (await again.agent().find(memory.id)).text == "tea"


async def test_handles_say_what_they_are_and_hold_no_content(germane: Germane, tmp_path: Path) -> None:
    """The path and whether it is open; the scope."""
    assert repr(germane) == f"<Germane {str(tmp_path / 'germane.db')!r} open>"
    assert repr(Germane.open("a.db")) == "<Germane 'a.db' not open>"
    agent = germane.agent("support", org="acme", user="anna")
    assert (repr(agent), repr(agent.memories)) == ("<Agent acme/support/anna>", "<AgentMemories acme/support/anna>")


async def test_pinned_memories_dont_crowd_out_what_recall_looks_for(germane: Germane) -> None:
    """Results go by relevance: a pinned memory is among them where it answers the question."""
    agent = germane.agent()
    for n in range(20):
        await agent.remember(f"Pinned rule number {n} about invoices", pinned=True)
    await agent.remember("The ferry to Skye leaves at seven")
    await agent.remember("The ferry has no lift", pinned=True)
    found = [hit.candidate.text for hit in await agent.search("When does the ferry leave?", 2)]
    assert sorted(found) == ["The ferry has no lift", "The ferry to Skye leaves at seven"]
