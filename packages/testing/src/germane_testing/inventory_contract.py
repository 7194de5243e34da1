"""Inventory contract: the tests of `StoreContract` about what a scope holds: listed, counted, found by ids, forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.extraction.llm.queue import ReleaseClaims
from germane.kinds.events.reads import (
    ListEvents,
    ListSessions,
    PutEvent,
    RecentEvents,
    SeenEvents,
)
from germane.kinds.inventory import (
    AllowedIds,
    IdsBeginning,
    IdsSaidAs,
    ListAgents,
    ListOrgs,
    ListUsers,
    OwnerOf,
    ScopeStats,
    TombstoneOf,
)
from germane.kinds.keys.reads import ListKeys, NonceKey
from germane.kinds.memories.directive import CurrentDirective, Directive, ListDirectives, SetDirective
from germane.kinds.memories.reads import (
    EndMemory,
    FactsOnKey,
    Forget,
    ForgetOwner,
    ListMemories,
    PinnedMemories,
    PutMemory,
    SeenMemories,
    Select,
    Selection,
)
from germane.stores.contract import ScopedStore, Scrubs, Store
from germane.types.candidate import Provenance
from germane.types.inventory import AgentSummary, OrgSummary, Stats, Tombstone, UserSummary
from germane.types.plan import store_change
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, a_memory, an_event, asking, writing
from germane_testing.scope_contract import AGENT, ALL, ANNA, BEN, LATER, found


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
        await scoped.commit(writing(*map(PutEvent, events)))
        found = await all_pages(lambda **page: scoped.ask(ListEvents(**page)), "messages", filters=ALL)
        assert sorted(event.text for event in found) == sorted(event.text for event in events)
        assert [event.created_at for event in found] == sorted((event.created_at for event in events), reverse=True)
        told = await all_pages(lambda **page: scoped.ask(ListEvents(**page)), "messages", filters=replace(ALL, session="b"))
        assert [event.text for event in told] == ["b4", "b3", "b2", "b1", "b0"]
        early = await all_pages(lambda **page: scoped.ask(ListEvents(**page)), "messages", filters=replace(ALL, until=NOON))
        assert [event.text for event in early] == ["a1", "a0"]
        assert (
            await all_pages(lambda **page: scoped.ask(ListEvents(**page)), "messages", filters=replace(ALL, kinds=("fact",)))
            == []
        )

    async def test_a_listing_cuts_long_messages_where_asked(self, scoped: ScopedStore) -> None:
        """By default a listing has whole texts; without `whole`, a long text is cut to a passage."""
        text = "word " * 4000
        await scoped.commit(writing(PutEvent(an_event(text))))
        assert (await scoped.ask(ListEvents(ALL, limit=1))).messages[0].text == text
        (cut,) = (await scoped.ask(ListEvents(ALL, limit=1, whole=False))).messages
        assert cut.passage is not None
        assert len(cut.text) < len(text)

    @pytest.mark.requirement("CLI-2")
    async def test_sessions_come_page_by_page_latest_first(self, scoped: ScopedStore) -> None:
        """Pages neither skip nor repeat a session."""
        events = [an_event(session=f"s{n}", created_at=NOON + timedelta(days=n // 2)) for n in range(5)]
        await scoped.commit(writing(*map(PutEvent, events)))
        found = await all_pages(lambda **page: scoped.ask(ListSessions(**page)), "sessions")
        assert [session.id for session in found] == ["s4", "s3", "s2", "s1", "s0"]

    @pytest.mark.requirement("CLI-2", "SCOPE-2")
    async def test_the_agent_lists_its_users_and_a_user_lists_nobody(self, store: Store) -> None:
        """A user without anything stored isn't listed, nor is a user of another agent or org."""
        others = (Scope(user="eve", org="other"), Scope(user="eve", agent="other"))
        for scope in (ANNA, BEN, *others, AGENT):
            kept = [PutMemory(a_memory(f"{n}", user=scope.user)) for n in range(2)]
            await store.within(scope).commit(writing(*kept, PutEvent(an_event(user=scope.user))))
        await store.within(Scope(user="dora")).commit(writing(SetDirective("Be kind")))
        gone = a_memory(user="carl")
        await store.within(Scope(user="carl")).commit(writing(PutMemory(gone)))
        await store.within(Scope(user="carl")).commit(writing(Forget(memory_ids=(gone.id,), at=LATER)))
        found = await all_pages(lambda **page: store.within(AGENT).ask(ListUsers(**page)), "users")
        assert [user.user for user in found] == ["anna", "ben", "dora"]
        assert found[0] == UserSummary(user="anna", memories=2, messages=1, sessions=1, last_at=NOON)
        assert found[2] == UserSummary(user="dora")
        assert (await store.within(ANNA).ask(ListUsers(9))).users == ()

    @pytest.mark.requirement("SCOPE-2")
    async def test_no_scope_reaches_what_belongs_to_the_store(self, store: Store) -> None:
        """Neither a read nor a plan of a scope reaches keys or other scopes, and outside of a scope no read of one is
        answered."""
        scoped: Any = store.within(AGENT)
        whole: Any = store
        for foreign in (ListKeys(), ListOrgs(9), ListAgents(AGENT.org, 9), ListDirectives(9), NonceKey()):
            with pytest.raises(InvalidInput):
                await scoped.ask(foreign)
            with pytest.raises(InvalidInput):
                await scoped.commit(asking(foreign))
        with pytest.raises(InvalidInput):
            await scoped.commit(store_change(ReleaseClaims("a")))
        with pytest.raises(InvalidInput):
            await whole.ask(CurrentDirective())
        with pytest.raises(InvalidInput):
            await whole.commit(asking(CurrentDirective()))
        with pytest.raises(InvalidInput):
            await whole.commit(writing(SetDirective("Be kind")))
        assert await scoped.ask(CurrentDirective()) == Directive()

    @pytest.mark.requirement("CLI-2", "SCOPE-2")
    async def test_an_org_lists_its_agents(self, store: Store) -> None:
        """Agent-wide and users' data are counted together; another org's agents aren't listed."""
        for scope in (AGENT, ANNA, Scope(agent="b", user="anna"), Scope(agent="c"), Scope(org="other", agent="d")):
            await store.within(scope).commit(writing(PutMemory(a_memory(user=scope.user))))
        found = await all_pages(lambda **page: store.ask(ListAgents(AGENT.org, **page)), "agents")
        assert found == [
            AgentSummary(agent=AGENT.agent, users=1, memories=2),
            AgentSummary(agent="b", users=1, memories=1),
            AgentSummary(agent="c", memories=1),
        ]
        assert (await store.ask(ListAgents("nobody", 9))).agents == ()

    @pytest.mark.requirement("CLI-2")
    async def test_a_store_lists_its_orgs(self, store: Store) -> None:
        """With what their agents and users have; a user of two agents counts twice."""
        assert (await store.ask(ListOrgs(9))).orgs == ()
        for scope in (AGENT, ANNA, Scope(agent="b", user="anna"), Scope(org="other", agent="d"), Scope(org="third")):
            await store.within(scope).commit(writing(PutMemory(a_memory(user=scope.user))))
        await store.within(ANNA).commit(writing(PutEvent(an_event(user="anna"))))
        assert await all_pages(lambda **page: store.ask(ListOrgs(**page)), "orgs") == [
            OrgSummary(org=AGENT.org, agents=2, users=2, memories=3, messages=1),
            OrgSummary(org="other", agents=1, memories=1),
            OrgSummary(org="third", agents=1, memories=1),
        ]

    @pytest.mark.requirement("CLI-2", "SCOPE-1")
    async def test_what_a_scope_sees_is_counted(self, store: Store) -> None:
        """A user's figures have the agent-wide data too, and nothing of other users."""
        agent, anna, ben = (store.within(scope) for scope in (AGENT, ANNA, BEN))
        assert await agent.ask(ScopeStats(LATER)) == Stats(users=0)
        fact = a_memory("tea", "fact", user="anna")
        hers = (PutMemory(fact), PutMemory(a_memory("a", user="anna", pinned=True)), PutEvent(an_event("hé", user="anna")))
        await anna.commit(writing(*hers))
        await anna.commit(writing(EndMemory(id=fact.id, at=NOON + timedelta(hours=1))))
        await agent.commit(writing(PutMemory(a_memory("b", created_at=NOON - timedelta(days=1)))))
        await ben.commit(writing(PutMemory(a_memory("c", user="ben")), PutEvent(an_event("c", user="ben"))))
        found = await anna.ask(ScopeStats(LATER))
        assert (found.memories, found.ended, found.pinned, found.messages, found.sessions) == ({"note": 2}, 1, 1, 1, 1)
        assert (found.users, found.pending_vectors) == (None, 0)
        assert (found.oldest, found.newest) == (NOON - timedelta(days=1), NOON)
        assert found.text_bytes > len("hé".encode()) + 3
        wide = await agent.ask(ScopeStats(LATER))
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
        await store.within(ANNA).commit(writing(*kept, PutMemory(ended)))
        await store.within(ANNA).commit(writing(change))
        assert (await store.within(ANNA).ask(ScopeStats(LATER))).extracted == {"llm": 1, "rules": 2}
        assert (await store.within(BEN).ask(ScopeStats(LATER))).extracted == {}

    @pytest.mark.requirement("CLI-2", "SCOPE-3")
    async def test_an_id_is_found_by_its_beginning_within_the_scope(self, store: Store) -> None:
        """Ids of another scope are no candidates; `limit` bounds the candidates."""
        anna, ben = store.within(ANNA), store.within(BEN)
        memories = [a_memory(f"{n}", user="anna", id=f"01a2b3c4-0000-7000-8000-00000000000{n}") for n in range(3)]
        event = an_event(user="anna", id="01a2b3c4-0000-7000-8000-100000000000", message_id="m1")
        other = an_event(user="anna", session="s2", message_id="m1")
        await anna.commit(writing(*map(PutMemory, memories), PutEvent(event), PutEvent(other)))
        ids = tuple(memory.id for memory in memories)
        assert await anna.ask(IdsBeginning("01a2", 9, "memories")) == ids
        assert len(await anna.ask(IdsBeginning("01a2", 2, "memories"))) == 2
        assert await anna.ask(IdsBeginning(ids[1], 9, "memories")) == (ids[1],)
        assert event.id in await anna.ask(IdsBeginning("01a2b3c4", 9, "events"))
        assert await anna.ask(IdsBeginning("01a_", 9, "memories")) == ()
        assert await ben.ask(IdsBeginning("01a2", 9, "memories")) == ()
        assert sorted(await anna.ask(IdsSaidAs("m1", 9))) == sorted((event.id, other.id))
        assert len(await anna.ask(IdsSaidAs("m1", 1))) == 1
        assert await ben.ask(IdsSaidAs("m1", 9)) == ()

    @pytest.mark.requirement("CLI-2", "SCOPE-3")
    async def test_a_tombstone_and_an_owner_are_found_by_the_whole_id(self, store: Store) -> None:
        """A tombstone is visible within the scope only; the owner within the org only, also after the forgetting."""
        anna, ben = store.within(ANNA), store.within(BEN)
        memory, event = a_memory(user="anna"), an_event(user="anna")
        await anna.commit(writing(PutMemory(memory), PutEvent(event)))
        assert await anna.ask(TombstoneOf(memory.id)) is None
        for _ in range(2):
            for id in (memory.id, event.id):
                assert await store.ask(OwnerOf(ANNA.org, id)) == (ANNA.agent, "anna")
                assert await store.ask(OwnerOf("other", id)) is None
            gone = Forget(memory_ids=(memory.id,), event_ids=(event.id,), at=LATER, by="op", reason="asked")
            await anna.commit(writing(gone))
        stone = await anna.ask(TombstoneOf(memory.id))
        assert stone == Tombstone(id=memory.id, what="memory", at=LATER, by="op", reason="asked")
        assert await anna.ask(TombstoneOf(event.id)) == replace(stone, id=event.id, what="message")
        assert await ben.ask(TombstoneOf(memory.id)) is None

    @pytest.mark.requirement("SCOPE-2")
    async def test_a_cursor_of_another_listing_is_refused(self, store: Store) -> None:
        """Cursors of memories, messages, sessions, users, agents and orgs can't be exchanged, nor used in another scope."""
        for user in ("anna", "ben", None):
            things = [
                one
                for n in range(2)
                for one in (PutMemory(a_memory(f"{n}", user=user)), PutEvent(an_event(session=f"s{n}", user=user)))
            ]
            await store.within(Scope(user=user)).commit(writing(*things))
        for agent in ("b", "c"):
            await store.within(Scope(agent=agent)).commit(writing(PutMemory(a_memory())))
        await store.within(Scope(org="other")).commit(writing(PutMemory(a_memory())))
        scoped = store.within(AGENT)

        async def page(what: str, cursor: str | None = None, of: ScopedStore = scoped) -> str | None:
            match what:
                case "memories":
                    found = (await of.ask(ListMemories(Filters(), at=LATER, limit=1, cursor=cursor))).cursor
                case "messages":
                    found = (await of.ask(ListEvents(Filters(), limit=1, cursor=cursor))).cursor
                case "sessions":
                    found = (await of.ask(ListSessions(1, cursor))).cursor
                case "users":
                    found = (await of.ask(ListUsers(1, cursor))).cursor
                case "agents":
                    found = (await store.ask(ListAgents(AGENT.org, 1, cursor))).cursor
                case _:
                    found = (await store.ask(ListOrgs(1, cursor))).cursor
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


# Selecting and forgetting.


class ForgetContract:
    """Tests of forgetting. Inherit `StoreContract`, which has them all."""

    @pytest.mark.requirement("MEM-3")
    async def test_what_is_forgotten_is_found_nowhere(self, scoped: ScopedStore) -> None:
        """No read returns forgotten data. Forgetting is idempotent, and a session ends with its last event."""
        memory, event = a_memory("cat secret", "fact", tags=("t",)), an_event("cat turn", name="Ana", message_id="m")
        await scoped.commit(writing(PutMemory(memory), PutEvent(event)))
        assert len(await found(scoped, "cat")) == 2
        gone = Forget(memory_ids=(memory.id,), event_ids=(event.id,), at=LATER, by="op", reason="asked")
        for _ in range(2):
            await scoped.commit(writing(gone))
            assert await found(scoped, "cat") == []
            assert await scoped.ask(SeenMemories([memory.id])) == ()
            assert await scoped.ask(SeenEvents([event.id])) == ()
            assert await scoped.ask(AllowedIds([memory.id, event.id], LATER, ALL)) == frozenset()
            assert await scoped.ask(PinnedMemories(("drink",), ("t",), at=LATER, filters=ALL)) == ()
            assert await scoped.ask(RecentEvents(5, filters=ALL)) == ()
            assert (await scoped.ask(ListSessions(5))).sessions == ()
            assert await scoped.events.speakers() == ()
            assert await scoped.commit(asking(FactsOnKey("drink", NOON))) == ()

    @pytest.mark.requirement("MEM-3")
    async def test_forgetting_an_owner_takes_all_the_owner_has_and_nothing_of_others(self, store: Store) -> None:
        """Forgetting an owner removes directive and sessions too, and scrubbing succeeds. Forgetting an absent owner is no
        error."""
        agent, anna = store.within(AGENT), store.within(ANNA)
        for scoped in (agent, anna):
            user = scoped.scope.user
            kept = (PutMemory(a_memory("cat", user=user)), PutEvent(an_event("cat", user=user)), SetDirective("Be kind"))
            await scoped.commit(writing(*kept))
        before = await anna.revision()
        for user in (ANNA.user, ANNA.user, "nobody"):
            await agent.commit(writing(ForgetOwner(user=user, at=LATER)))
            assert not isinstance(agent, Scrubs) or await agent.scrub() == ""
            assert await found(anna, "cat") == ["cat", "cat"]
            assert (await anna.ask(CurrentDirective())).text == "Be kind"
            assert len((await anna.ask(ListSessions(5))).sessions) == 1
        assert await anna.revision() > before
        await anna.commit(writing(ForgetOwner(user=None, at=LATER)))
        assert len(await found(anna, "cat")) == 2
        await agent.commit(writing(ForgetOwner(at=LATER)))
        assert (await found(anna, "cat"), (await anna.ask(CurrentDirective())).text) == ([], "")

    @pytest.mark.requirement("MEM-3")
    async def test_a_selection_meets_every_criterion(self, scoped: ScopedStore) -> None:
        """Criteria are germane's or the caller's ids, key, tag and session. Without a criterion nothing is selected."""
        fact = a_memory("one", "fact", key="k", tags=("t",), provenance=Provenance(session="s1"))
        note = a_memory("two", tags=("t",))
        events = [an_event("three", message_id="m1"), an_event("four", session="s2", message_id="m2")]
        await scoped.commit(writing(PutMemory(fact), PutMemory(note), *map(PutEvent, events)))

        async def select(**criteria: Any) -> Selection:
            return await scoped.commit(asking(Select(**criteria)))

        assert await select() == Selection()
        assert await select(everything=True) == Selection(memory_ids=(fact.id, note.id), event_ids=(events[0].id, events[1].id))
        assert await select(ids=(note.id, "m2")) == Selection(memory_ids=(note.id,), event_ids=(events[1].id,))
        assert await select(key="k") == Selection(memory_ids=(fact.id,))
        assert await select(tag="t") == Selection(memory_ids=(fact.id, note.id))
        assert await select(session="s1") == Selection(memory_ids=(fact.id,), event_ids=(events[0].id,))
        assert await select(tag="t", session="s2") == Selection()
