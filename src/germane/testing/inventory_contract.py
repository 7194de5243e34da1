"""Inventory contract: the tests of `StoreContract` about looking through a store: counts, users, pages, ids by prefix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.events.operations import PutEvent
from germane.memories.operations import EndMemory, Forget, PutMemory, SetDirective
from germane.store import ScopedStore, Store
from germane.testing.scope_contract import AGENT, ALL, ANNA, BEN, LATER
from germane.testing.stored import NOON, a_memory, an_event, writing
from germane.types.candidate import Provenance
from germane.types.inventory import AgentSummary, OrgSummary, Stats, Tombstone, UserSummary
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["InventoryContract"]


async def all_pages(page: Callable[..., Any], field: str, **arguments: Any) -> list[Any]:
    """The entries of all pages of a listing, two a page."""
    found, cursor = [], None
    while True:
        got = await page(**arguments, limit=2, cursor=cursor)
        assert len(getattr(got, field)) <= 2
        found += getattr(got, field)
        if (cursor := got.cursor) is None:
            return found


class InventoryContract:
    """Tests of looking through a store. Inherit `StoreContract`, which has them all."""

    @pytest.mark.requirement("CLI-2")
    async def test_messages_come_page_by_page_newest_first(self, scoped: ScopedStore) -> None:
        """Over sessions that overlap in time, pages neither skip nor repeat an event, also where times are equal."""
        events = [
            an_event(f"{session}{n}", session=session, position=n, created_at=NOON + timedelta(seconds=n // 2 + begins))
            for session, begins in (("a", 0), ("b", 1), ("c", 40))
            for n in range(5)
        ]
        await scoped.journal.commit(writing(*map(PutEvent, events)))
        found = await all_pages(scoped.events.page, "messages", filters=ALL)
        assert sorted(event.text for event in found) == sorted(event.text for event in events)
        assert [event.created_at for event in found] == sorted((event.created_at for event in events), reverse=True)
        told = await all_pages(scoped.events.page, "messages", filters=replace(ALL, session="b"))
        assert [event.text for event in told] == ["b4", "b3", "b2", "b1", "b0"]
        early = await all_pages(scoped.events.page, "messages", filters=replace(ALL, until=NOON))
        assert [event.text for event in early] == ["a1", "a0"]
        assert await all_pages(scoped.events.page, "messages", filters=replace(ALL, kinds=("fact",))) == []

    async def test_a_listing_cuts_long_messages_where_asked(self, scoped: ScopedStore) -> None:
        """By default a listing has whole texts; without `whole`, a long text is cut to a passage."""
        text = "word " * 4000
        await scoped.journal.commit(writing(PutEvent(an_event(text))))
        assert (await scoped.events.page(ALL, limit=1)).messages[0].text == text
        (cut,) = (await scoped.events.page(ALL, limit=1, whole=False)).messages
        assert cut.passage is not None
        assert len(cut.text) < len(text)

    @pytest.mark.requirement("CLI-2")
    async def test_sessions_come_page_by_page_latest_first(self, scoped: ScopedStore) -> None:
        """Pages neither skip nor repeat a session."""
        events = [an_event(session=f"s{n}", created_at=NOON + timedelta(days=n // 2)) for n in range(5)]
        await scoped.journal.commit(writing(*map(PutEvent, events)))
        found = await all_pages(scoped.events.sessions, "sessions")
        assert [session.id for session in found] == ["s4", "s3", "s2", "s1", "s0"]

    @pytest.mark.requirement("CLI-2", "SCOPE-2")
    async def test_the_agent_lists_its_users_and_a_user_lists_nobody(self, store: Store) -> None:
        """A user without anything stored isn't listed, nor is a user of another agent or org."""
        others = (Scope(user="eve", org="other"), Scope(user="eve", agent="other"))
        for scope in (ANNA, BEN, *others, AGENT):
            kept = [PutMemory(a_memory(f"{n}", user=scope.user)) for n in range(2)]
            await store.within(scope).journal.commit(writing(*kept, PutEvent(an_event(user=scope.user))))
        await store.within(Scope(user="dora")).journal.commit(writing(SetDirective("Be kind")))
        gone = a_memory(user="carl")
        await store.within(Scope(user="carl")).journal.commit(writing(PutMemory(gone)))
        await store.within(Scope(user="carl")).journal.commit(writing(Forget(memory_ids=(gone.id,), at=LATER)))
        found = await all_pages(store.within(AGENT).inventory.users, "users")
        assert [user.user for user in found] == ["anna", "ben", "dora"]
        assert found[0] == UserSummary(user="anna", memories=2, messages=1, sessions=1, last_at=NOON)
        assert found[2] == UserSummary(user="dora")
        assert (await store.within(ANNA).inventory.users(9)).users == ()

    @pytest.mark.requirement("CLI-2", "SCOPE-2")
    async def test_an_org_lists_its_agents(self, store: Store) -> None:
        """Agent-wide and users' data are counted together; another org's agents aren't listed."""
        for scope in (AGENT, ANNA, Scope(agent="b", user="anna"), Scope(agent="c"), Scope(org="other", agent="d")):
            await store.within(scope).journal.commit(writing(PutMemory(a_memory(user=scope.user))))
        found = await all_pages(store.agents, "agents", org=AGENT.org)
        assert found == [
            AgentSummary(agent=AGENT.agent, users=1, memories=2),
            AgentSummary(agent="b", users=1, memories=1),
            AgentSummary(agent="c", memories=1),
        ]
        assert (await store.agents("nobody", 9)).agents == ()

    @pytest.mark.requirement("CLI-2")
    async def test_a_store_lists_its_orgs(self, store: Store) -> None:
        """With what their agents and users have; a user of two agents counts twice."""
        assert (await store.orgs(9)).orgs == ()
        for scope in (AGENT, ANNA, Scope(agent="b", user="anna"), Scope(org="other", agent="d"), Scope(org="third")):
            await store.within(scope).journal.commit(writing(PutMemory(a_memory(user=scope.user))))
        await store.within(ANNA).journal.commit(writing(PutEvent(an_event(user="anna"))))
        assert await all_pages(store.orgs, "orgs") == [
            OrgSummary(org=AGENT.org, agents=2, users=2, memories=3, messages=1),
            OrgSummary(org="other", agents=1, memories=1),
            OrgSummary(org="third", agents=1, memories=1),
        ]

    @pytest.mark.requirement("CLI-2", "SCOPE-1")
    async def test_what_a_scope_sees_is_counted(self, store: Store) -> None:
        """A user's figures have the agent-wide data too, and nothing of other users."""
        agent, anna, ben = (store.within(scope) for scope in (AGENT, ANNA, BEN))
        assert await agent.inventory.stats(at=LATER) == Stats(users=0)
        fact = a_memory("tea", "fact", user="anna")
        hers = (PutMemory(fact), PutMemory(a_memory("a", user="anna", pinned=True)), PutEvent(an_event("hé", user="anna")))
        await anna.journal.commit(writing(*hers))
        await anna.journal.commit(writing(EndMemory(id=fact.id, at=NOON + timedelta(hours=1))))
        await agent.journal.commit(writing(PutMemory(a_memory("b", created_at=NOON - timedelta(days=1)))))
        await ben.journal.commit(writing(PutMemory(a_memory("c", user="ben")), PutEvent(an_event("c", user="ben"))))
        found = await anna.inventory.stats(at=LATER)
        assert (found.memories, found.ended, found.pinned, found.messages, found.sessions) == ({"note": 2}, 1, 1, 1, 1)
        assert (found.users, found.pending_vectors) == (None, 0)
        assert (found.oldest, found.newest) == (NOON - timedelta(days=1), NOON)
        assert found.text_bytes > len("hé".encode()) + 3
        wide = await agent.inventory.stats(at=LATER)
        assert (wide.memories, wide.messages, wide.users) == ({"note": 1}, 0, 2)

    @pytest.mark.requirement("CLI-2")
    async def test_what_was_extracted_is_counted_by_what_found_it(self, store: Store) -> None:
        """Rules by their names and a language model; not what has ended, nor words in other fields of the provenance."""
        rule, llm, other = (Provenance(metadata={"extracted": name}) for name in ("home", "llm", "home"))
        plain = Provenance(channel="extracted", metadata={"note": {"extracted": "llm"}})
        origins = {"a": rule, "b": llm, "c": rule, "d": plain, "e": Provenance()}
        kept = [PutMemory(replace(a_memory(text, user="anna"), provenance=origin)) for text, origin in origins.items()]
        ended = replace(a_memory("f", user="anna"), provenance=other)
        change = EndMemory(id=ended.id, at=NOON + timedelta(hours=1))
        await store.within(ANNA).journal.commit(writing(*kept, PutMemory(ended)))
        await store.within(ANNA).journal.commit(writing(change))
        assert (await store.within(ANNA).inventory.stats(at=LATER)).extracted == {"llm": 1, "rules": 2}
        assert (await store.within(BEN).inventory.stats(at=LATER)).extracted == {}

    @pytest.mark.requirement("CLI-2", "SCOPE-3")
    async def test_an_id_is_found_by_its_beginning_within_the_scope(self, store: Store) -> None:
        """Ids of another scope are no candidates; `limit` bounds the candidates."""
        anna, ben = store.within(ANNA), store.within(BEN)
        memories = [a_memory(f"{n}", user="anna", id=f"01a2b3c4-0000-7000-8000-00000000000{n}") for n in range(3)]
        event = an_event(user="anna", id="01a2b3c4-0000-7000-8000-100000000000", message_id="m1")
        other = an_event(user="anna", session="s2", message_id="m1")
        await anna.journal.commit(writing(*map(PutMemory, memories), PutEvent(event), PutEvent(other)))
        ids = tuple(memory.id for memory in memories)
        assert await anna.inventory.ids("01a2", 9, domain="memories") == ids
        assert len(await anna.inventory.ids("01a2", 2, domain="memories")) == 2
        assert await anna.inventory.ids(ids[1], 9, domain="memories") == (ids[1],)
        assert event.id in await anna.inventory.ids("01a2b3c4", 9, domain="events")
        assert await anna.inventory.ids("01a_", 9, domain="memories") == ()
        assert await ben.inventory.ids("01a2", 9, domain="memories") == ()
        assert sorted(await anna.inventory.said_as("m1", 9)) == sorted((event.id, other.id))
        assert len(await anna.inventory.said_as("m1", 1)) == 1
        assert await ben.inventory.said_as("m1", 9) == ()

    @pytest.mark.requirement("CLI-2", "SCOPE-3")
    async def test_a_tombstone_and_an_owner_are_found_by_the_whole_id(self, store: Store) -> None:
        """A tombstone is visible within the scope only; the owner within the org only, also after the forgetting."""
        anna, ben = store.within(ANNA), store.within(BEN)
        memory, event = a_memory(user="anna"), an_event(user="anna")
        await anna.journal.commit(writing(PutMemory(memory), PutEvent(event)))
        assert await anna.inventory.tombstone(memory.id) is None
        for _ in range(2):
            for id in (memory.id, event.id):
                assert await store.owner(ANNA.org, id) == (ANNA.agent, "anna")
                assert await store.owner("other", id) is None
            gone = Forget(memory_ids=(memory.id,), event_ids=(event.id,), at=LATER, by="op", reason="asked")
            await anna.journal.commit(writing(gone))
        stone = await anna.inventory.tombstone(memory.id)
        assert stone == Tombstone(id=memory.id, what="memory", at=LATER, by="op", reason="asked")
        assert await anna.inventory.tombstone(event.id) == replace(stone, id=event.id, what="message")
        assert await ben.inventory.tombstone(memory.id) is None

    @pytest.mark.requirement("SCOPE-2")
    async def test_a_cursor_of_another_listing_is_refused(self, store: Store) -> None:
        """Cursors of memories, messages, sessions, users, agents and orgs can't be exchanged, nor used in another scope."""
        for user in ("anna", "ben", None):
            things = [
                one
                for n in range(2)
                for one in (PutMemory(a_memory(f"{n}", user=user)), PutEvent(an_event(session=f"s{n}", user=user)))
            ]
            await store.within(Scope(user=user)).journal.commit(writing(*things))
        for agent in ("b", "c"):
            await store.within(Scope(agent=agent)).journal.commit(writing(PutMemory(a_memory())))
        await store.within(Scope(org="other")).journal.commit(writing(PutMemory(a_memory())))
        scoped = store.within(AGENT)

        async def page(what: str, cursor: str | None = None, of: ScopedStore = scoped) -> str | None:
            match what:
                case "memories":
                    found = (await of.memories.list(Filters(), at=LATER, limit=1, cursor=cursor)).cursor
                case "messages":
                    found = (await of.events.page(Filters(), limit=1, cursor=cursor)).cursor
                case "sessions":
                    found = (await of.events.sessions(1, cursor)).cursor
                case "users":
                    found = (await of.inventory.users(1, cursor)).cursor
                case "agents":
                    found = (await store.agents(AGENT.org, 1, cursor)).cursor
                case _:
                    found = (await store.orgs(1, cursor)).cursor
            return found

        listings = ("memories", "messages", "sessions", "users", "agents", "orgs")
        cursors = {what: await page(what) for what in listings}
        assert all(cursors.values())
        for what in listings:
            await page(what, cursors[what])
            for other in listings:
                if other != what:
                    with pytest.raises(InvalidInput, match="begin again"):
                        await page(what, cursors[other])
            if what not in ("agents", "orgs"):
                with pytest.raises(InvalidInput, match="begin again"):
                    await page(what, cursors[what], store.within(ANNA))
