"""Scope contract: the tests of `StoreContract` about the store as a whole: scopes, looking through it, forgetting, exports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import pytest

from germane.errors import GermaneError, InvalidInput, StoreUnavailable
from germane.extraction.llm.queue import ReleaseClaims
from germane.kinds.events.reads import (
    EventsById,
    EventsByMessageId,
    ListEvents,
    ListSessions,
    PutEvent,
    RecentEvents,
    ReservePositions,
    SeenEvents,
    SessionLength,
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
from germane.kinds.memories.conflicts import ContradictionRecord
from germane.kinds.memories.directive import CurrentDirective, Directive, ListDirectives, SetDirective
from germane.kinds.memories.reads import (
    ConflictsBetween,
    CountFeedback,
    EndMemory,
    FactsOnKey,
    Forget,
    ForgetOwner,
    IdsInUse,
    IdUse,
    ListMemories,
    PinnedMemories,
    PutMemory,
    PutTombstones,
    RecordedConflicts,
    RestoreConflict,
    SeenMemories,
    Select,
    Selection,
)
from germane.stores.contract import ScopedStore, Scrubs, Store
from germane.transfer.contents import Contents, Owned, Owner, Reach, SessionRecord, StoredDirective
from germane.types.candidate import Provenance
from germane.types.inventory import AgentSummary, OrgSummary, Stats, Tombstone, UserSummary
from germane.types.plan import Decision, Plan, Read, read, store_change
from germane.types.query import EVERY_SENSITIVITY, Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, a_memory, an_event, asking, question, writing

# Isolation between scopes, and several handles.


ALL = EVERY_SENSITIVITY
LATER = NOON + timedelta(days=1)
AGENT, ANNA, BEN = Scope(), Scope(user="anna"), Scope(user="ben")


async def found(scoped: ScopedStore, words: str, **filters: Any) -> list[str]:
    """The texts of all memories and events that a keyword search finds, sorted."""
    asked = question(words, **filters)
    memories = (await scoped.memories.search(asked, 50, keywords=True, vectors=False, wait=True)).hits
    events = (await scoped.events.search(asked, 50, keywords=True, vectors=False, wait=True)).hits
    return sorted([hit.thing.text for hit in memories] + [hit.thing.text for hit in events])


class ScopeContract:
    """Tests of scopes and handles. Inherit `StoreContract`, which has them all."""

    @pytest.fixture
    def opening(self) -> Callable[[], Store]:
        """A function that opens the store under test; override it."""
        raise NotImplementedError("give the fixture `opening`")

    @pytest.fixture
    async def store(self, opening: Callable[[], Store]) -> AsyncIterator[Store]:
        """A new store."""
        store = opening()
        yield store
        await store.close()

    @pytest.fixture
    def scoped(self, store: Store) -> ScopedStore:
        """The new store within the scope of an agent."""
        return store.within(AGENT)

    @pytest.mark.requirement("SCOPE-1", "SCOPE-2", "SCOPE-3")
    async def test_a_scope_sees_the_agents_and_its_own(self, store: Store) -> None:
        """A scope never sees data of another user, agent or org. Absent and forbidden ids give the same result."""
        scopes = (AGENT, ANNA, BEN, Scope(agent="other"), Scope(org="other"), Scope(org="other", agent="other", user="anna"))
        things = {}
        for n, scope in enumerate(scopes):
            memory, event = a_memory(f"cat m{n}", user=scope.user), an_event(f"cat e{n}", user=scope.user)
            things[scope] = (memory, event)
            await store.within(scope).commit(writing(PutMemory(memory), PutEvent(event)))
        ids = [thing.id for pair in things.values() for thing in pair]
        for scope in scopes:
            scoped = store.within(scope)
            seen = [pair for other, pair in things.items() if other == scope or (other == AGENT and scope in (ANNA, BEN))]
            assert await found(scoped, "cat") == sorted(thing.text for pair in seen for thing in pair)
            assert set(await scoped.ask(SeenMemories(ids))) == {memory for memory, _ in seen}
            assert {event.id for event in await scoped.ask(SeenEvents(ids))} == {event.id for _, event in seen}
            assert await scoped.ask(AllowedIds(ids, LATER, ALL)) == {thing.id for pair in seen for thing in pair}
            assert len((await scoped.ask(ListMemories(Filters(), at=LATER, limit=99))).memories) == len(seen)
            assert (
                len((await scoped.ask(ListSessions(9))).sessions)
                == len(await scoped.ask(RecentEvents(99, filters=ALL)))
                == len(seen)
            )

    @pytest.mark.requirement("SCOPE-1", "SCOPE-2")
    async def test_a_scope_changes_only_its_own(self, store: Store) -> None:
        """A scope can't forget, end or replace data of others. The agent's scope may forget the data of a user that it
        names."""
        agent, anna, ben = (store.within(scope) for scope in (AGENT, ANNA, BEN))
        shared, hers = a_memory("cat shared"), a_memory("cat hers", user="anna")
        await agent.commit(writing(PutMemory(shared)))
        await anna.commit(writing(PutMemory(hers)))
        everything = Forget(memory_ids=(shared.id, hers.id), at=LATER)
        await ben.commit(writing(everything, CountFeedback((hers.id,), helpful=True)))
        for memory in (shared, hers):
            with pytest.raises(GermaneError):
                await ben.commit(writing(EndMemory(id=memory.id, at=LATER)))
            with pytest.raises(GermaneError):
                await ben.commit(writing(PutMemory(replace(a_memory("cat his", user="ben"), id=memory.id))))
        assert await ben.commit(asking(Select(user="anna"))) == Selection()
        assert set(await anna.ask(SeenMemories([shared.id, hers.id]))) == {shared, hers}

        def leaving() -> Plan[None]:
            found = yield from read(Select(user="anna", everything=True))
            return Decision((Forget(memory_ids=(*found.memory_ids, "absent"), at=LATER),), None)

        await agent.commit(leaving())
        assert await anna.ask(SeenMemories([shared.id, hers.id])) == (shared,)

    @pytest.mark.requirement("MEM-5", "SCOPE-2")
    @pytest.mark.parametrize("helpful", [True, False])
    async def test_what_is_agent_wide_is_judged_by_the_agent_as_a_whole(self, store: Store, helpful: bool) -> None:
        """Feedback from a user's scope doesn't count for agent-wide memories, nor for those of other users."""
        agent, anna, ben = (store.within(scope) for scope in (AGENT, ANNA, BEN))
        shared, hers = a_memory("cat shared"), a_memory("cat hers", user="anna")
        await agent.commit(writing(PutMemory(shared)))
        verdict = CountFeedback((shared.id, hers.id, "absent"), helpful)
        await ben.commit(writing(verdict))  # who owns nothing here yet
        await anna.commit(writing(PutMemory(hers)))
        await ben.commit(writing(PutMemory(a_memory("cat his", user="ben")), verdict))
        assert set(await anna.ask(SeenMemories([shared.id, hers.id]))) == {shared, hers}
        for scoped, counted in ((anna, hers), (agent, shared)):
            await scoped.commit(writing(verdict))
            (now,) = await anna.ask(SeenMemories([counted.id]))
            assert (now.helpful, now.harmful) == (int(helpful), int(not helpful))
        (now,) = await anna.ask(SeenMemories([hers.id]))
        assert now.helpful + now.harmful == 1

    @pytest.mark.requirement("SCOPE-2", "MEM-3")
    async def test_a_cursor_is_good_for_the_listing_that_gave_it_only(self, store: Store) -> None:
        """A cursor of another scope or other filters, and a shortened or changed cursor, raise `InvalidInput`."""
        for user in (None, "anna", "ben"):
            memories = [a_memory(f"cat {n}", user=user, created_at=NOON + timedelta(n)) for n in range(4)]
            await store.within(Scope(user=user)).commit(writing(*map(PutMemory, memories)))
        anna, later = store.within(ANNA), LATER + timedelta(9)
        cursor = (await anna.ask(ListMemories(ALL, at=later, limit=2))).cursor
        assert cursor is not None
        assert len((await anna.ask(ListMemories(ALL, at=later + timedelta(9), limit=9, cursor=cursor))).memories) == 6
        strangers = (AGENT, BEN, Scope(user="anna", org="other"), Scope(user="anna", agent="other"))
        tries = [(scope, ALL, cursor) for scope in strangers]
        tries += [(ANNA, replace(ALL, **change), cursor) for change in ({"kinds": ("note",)}, {"exclude": frozenset("x")})]
        tries += [(ANNA, ALL, wrong) for wrong in (cursor[:-1], cursor[1:], f"{cursor}A", f"{cursor}=", "", "é")]
        for index, char in enumerate(cursor):
            tries.append((ANNA, ALL, cursor[:index] + ("A" if char != "A" else "B") + cursor[index + 1 :]))
        for scope, filters, given in tries:
            with pytest.raises(InvalidInput, match="begin again"):
                await store.within(scope).ask(ListMemories(filters, at=later, limit=2, cursor=given))

    @pytest.mark.requirement("SCOPE-1")
    async def test_one_session_id_of_two_users_is_two_sessions(self, store: Store) -> None:
        """A session id of one user gives no access to the other user's session."""
        anna, ben = store.within(ANNA), store.within(BEN)
        await anna.commit(writing(PutEvent(an_event("hers", user="anna", message_id="m"))))
        assert await ben.commit(asking(SessionLength("s1"))) == 0
        assert await ben.commit(asking(EventsByMessageId("s1", ("m",)))) == {}
        await ben.commit(writing(PutEvent(an_event("his", user="ben", message_id="m"))))
        assert [event.text for event in await anna.ask(RecentEvents(9, session="s1", filters=ALL))] == ["hers"]

    @pytest.mark.requirement("OPS-2", "FORMAT-4")
    async def test_two_handles_see_each_others_writes_and_forgettings(self, store: Store, opening: Callable[[], Store]) -> None:
        """Changes of one handle are visible to the next call of the other. Both handles return the same nonce key."""
        second = opening()
        here, there = store.within(AGENT), second.within(AGENT)
        memory, event = a_memory("cat one"), an_event("cat two")
        await here.commit(writing(PutMemory(memory)))
        assert await found(there, "cat") == ["cat one"]
        await there.commit(writing(PutEvent(event)))
        assert await found(here, "cat") == ["cat one", "cat two"]
        assert await here.revision() == await there.revision()
        await here.commit(writing(Forget(memory_ids=(memory.id,), event_ids=(event.id,), at=LATER)))
        assert await found(there, "cat") == []
        assert len(await store.ask(NonceKey())) == 32
        assert await store.ask(NonceKey()) == await second.ask(NonceKey())
        await second.close()

    async def test_a_closed_store_says_so(self, opening: Callable[[], Store]) -> None:
        """`close` is idempotent; every later call raises `StoreUnavailable`."""
        store = opening()
        scoped = store.within(AGENT)
        await store.close()
        await store.close()
        with pytest.raises(StoreUnavailable):
            await scoped.commit(writing(PutMemory(a_memory())))
        with pytest.raises(StoreUnavailable):
            await scoped.ask(SeenMemories(["x"]))


# Looking through a store: counts, users, pages, ids by prefix.


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


# Exports, and restoring what was exported.


_ACME = Scope(org="acme")


async def dumped(store: Store, reach: Reach | None = None) -> list[Any]:
    """All that a dump yields."""
    portions = cast("Any", store.dump(Reach() if reach is None else reach))
    async with aclosing(portions):
        return [thing async for portion in portions for thing in portion]


class TransferContract:
    """Tests of dumps and of what restoring needs. Inherit `StoreContract`, which has them all."""

    @pytest.mark.requirement("MEM-3", "SCOPE-2")
    async def test_a_dump_holds_everything_in_order(self, store: Store) -> None:
        """By owner; of each the directive, the memories in the order in which they were stored, the sessions with their
        messages by position, the tombstones. The owners of a reach are exactly those that it covers."""
        old, new = a_memory("old"), a_memory("new", pinned=True, retrieval_count=3)
        said = [an_event(text, session="s", position=place)._replace(user="anna") for place, text in ((0, "a"), (4, "b"))]
        gone = a_memory("gone", user="anna")
        await store.within(AGENT).commit(writing(SetDirective("Be kind", "d"), PutMemory(new), PutMemory(old)))
        await store.within(ANNA).commit(writing(*map(PutEvent, said), PutMemory(gone)))
        await store.within(ANNA).commit(writing(Forget(memory_ids=(gone.id,), at=LATER, by="me", reason="asked")))
        await store.within(_ACME).commit(writing(PutMemory(a_memory("apart"))))
        contents, *things = await dumped(store, Reach(org="default", agent="default", user="anna"))
        assert contents == Contents(directives=1, memories=2, sessions=1, messages=2, tombstones=1, latest=LATER)
        agents, annas = Owner("default", "default", None), Owner("default", "default", "anna")
        assert [thing.owner for thing in things] == [agents] * 3 + [annas] * 4
        assert [thing.thing for thing in things[:3]] == [StoredDirective("Be kind", "d"), new, old]
        record, first, second, stone = (thing.thing for thing in things[3:])
        assert record == SessionRecord(id="s", next=5, length=2, started_at=said[0].created_at, last_at=said[1].created_at)
        assert [event._replace(session_started_at=None, session_number=None) for event in (first, second)] == said
        assert stone == Tombstone(id=gone.id, what="memory", at=LATER, by="me", reason="asked")
        assert (await dumped(store, Reach(org="default", agent="default", user="ben")))[1:] == things[:3]
        assert len(await dumped(store, Reach(org="acme"))) == 2
        assert (await dumped(store))[1:] == [*(await dumped(store, Reach(org="acme")))[1:], *things]

    @pytest.mark.requirement("MEM-3", "MEM-4")
    async def test_a_contradiction_is_dumped_and_restored_as_it_is(self, store: Store) -> None:
        """Between its memories and the sessions, with how it was resolved; what is recorded of the pair already stays."""
        one, two, three = (a_memory(text, user="anna") for text in ("one", "two", "three"))
        record = ContradictionRecord(
            id="c", reason="number", older=one.id, newer=two.id, created_at=NOON, resolved_at=LATER, kept="both"
        )
        anna, pairs = store.within(ANNA), ((one.id, two.id), (two.id, three.id))
        kept = [PutMemory(memory, restored=True) for memory in (one, two, three)]
        assert await anna.commit(asking(ConflictsBetween(pairs, ("c",)))) == RecordedConflicts()
        await anna.commit(writing(*kept, RestoreConflict(record), PutEvent(an_event(user="anna"))))
        await anna.commit(writing(RestoreConflict(replace(record, id="d", resolved_at=None, kept=None))))
        contents, *things = await dumped(store)
        assert contents.contradictions == 1
        assert [type(thing.thing) for thing in things[2:5]] == [type(one), ContradictionRecord, SessionRecord]
        assert things[3].thing == record
        found = await anna.commit(asking(ConflictsBetween(pairs, ("c", "d"))))
        assert found == RecordedConflicts(frozenset({pairs[0]}), frozenset({"c"}))
        others = await store.within(BEN).commit(asking(ConflictsBetween(pairs, ("c",))))
        assert not others.pairs
        await anna.commit(writing(Forget(memory_ids=(two.id,), at=LATER)))
        assert (await dumped(store))[0].contradictions == 0

    async def test_a_dump_is_of_one_moment(self, store: Store) -> None:
        """What is written after its first step isn't in it, and what is forgotten then still is."""
        events = [an_event(f"turn {n}", position=n) for n in range(700)]
        scoped = store.within(AGENT)
        await scoped.commit(writing(*map(PutEvent, events)))
        portions = cast("Any", store.dump(Reach()))
        async with aclosing(portions):
            found = list(await anext(portions))
            await scoped.commit(writing(PutMemory(a_memory("later")), Forget(event_ids=(events[-1].id,), at=LATER)))
            async for portion in portions:
                assert len(portion) <= 1000
                found += portion
        assert [thing.thing.id for thing in found[2:]] == [event.id for event in events]

    async def test_a_dump_ends_with_its_store(self, opening: Callable[[], Store]) -> None:
        """Closing the store ends a dump that somebody reads slowly: its next step raises."""
        store = opening()
        await store.within(AGENT).commit(writing(*(PutEvent(an_event(position=n)) for n in range(700))))
        portions = cast("Any", store.dump(Reach()))
        await anext(portions)
        await store.close()
        with pytest.raises(StoreUnavailable):
            await anext(portions)

    @pytest.mark.requirement("MEM-3")
    async def test_what_a_forgotten_owner_had_stays_forgotten(self, store: Store) -> None:
        """A whole store's dump ends with the tombstones of owners that are gone, without their names."""
        memory = a_memory("gone", user="anna")
        await store.within(ANNA).commit(writing(PutMemory(memory)))
        await store.within(ANNA).commit(writing(ForgetOwner(at=LATER, by="anna")))
        contents, last = await dumped(store)
        assert contents.tombstones == 1
        assert last.owner == Owner(None, None, None)
        assert (last.thing.id, last.thing.by) == (memory.id, "")

    @pytest.mark.requirement("MEM-3", "SCOPE-2")
    async def test_ids_in_use_are_told(self, store: Store) -> None:
        """Ids of what is forgotten, whoever had it, and of what others have; apart from these the scope's own, by kind."""
        mine, theirs, shared, gone = (a_memory(f"cat {n}", user=user) for n, user in enumerate(("anna", "ben", None, "ben")))
        said = an_event("cat", user="ben")
        await store.within(AGENT).commit(writing(PutMemory(shared)))
        await store.within(BEN).commit(writing(PutMemory(theirs), PutMemory(gone), PutEvent(said)))
        await store.within(BEN).commit(writing(Forget(memory_ids=(gone.id,), at=LATER)))
        asked = IdsInUse((mine.id, theirs.id, shared.id, gone.id, said.id, "absent"))
        elsewhere = frozenset({theirs.id, shared.id, said.id})
        assert await store.within(ANNA).commit(asking(asked)) == IdUse(frozenset({gone.id}), elsewhere)
        await store.within(ANNA).commit(writing(PutMemory(mine)))
        assert await store.within(ANNA).commit(asking(asked)) == IdUse(frozenset({gone.id}), elsewhere, {mine.id: "memory"})
        assert await store.within(ANNA).commit(asking(EventsById((said.id,)))) == {}
        found = await store.within(BEN).commit(asking(EventsById((said.id, "absent"))))
        assert [(id, event.text) for id, event in found.items()] == [(said.id, "cat")]

    @pytest.mark.requirement("MEM-3")
    async def test_tombstones_of_another_store_are_kept(self, store: Store) -> None:
        """For an owner, or for none; a tombstone that is here already stays as it is."""
        stones = [Tombstone(id=f"t{n}", what=what, at=NOON) for n, what in enumerate(("memory", "message"))]  # type: ignore[arg-type]
        anna = store.within(ANNA)
        await anna.commit(writing(PutTombstones(tombstones=tuple(stones))))
        again = (replace(stones[0], by="another"), Tombstone(id="t2", what="memory", at=LATER))
        await anna.commit(writing(PutTombstones(tombstones=again, ownerless=True)))
        things = (await dumped(store))[1:]
        nobody, owner = Owner(None, None, None), Owner("default", "default", "anna")
        assert things == [Owned(owner, stones[0]), Owned(owner, stones[1]), Owned(nobody, again[1])]
        assert (await anna.commit(asking(IdsInUse(("t0", "t1", "t2"))))).forgotten == {"t0", "t1", "t2"}

    async def test_what_only_a_plan_may_ask_is_refused_outside(self, store: Store) -> None:
        """As is a read that the store doesn't know, within a plan too."""

        class Unknown(Read[None]):
            __slots__ = ()

        scoped = store.within(ANNA)
        for unasked in (Select(everything=True), IdsInUse(("x",)), SessionLength("s1"), Unknown()):
            with pytest.raises(InvalidInput):
                await scoped.ask(unasked)
        with pytest.raises(InvalidInput):
            await scoped.commit(asking(Unknown()))

    async def test_reserved_positions_arent_used_again(self, store: Store) -> None:
        """The session's next event gets the reserved position, unless it is further on already."""
        scoped = store.within(AGENT)
        await scoped.commit(writing(PutEvent(an_event()), ReservePositions(session="s1", next=7)))
        assert await scoped.commit(asking(SessionLength("s1"))) == 7
        await scoped.commit(writing(ReservePositions(session="s1", next=3), ReservePositions(session="absent", next=3)))
        assert await scoped.commit(asking(SessionLength("s1"))) == 7
        assert await scoped.commit(asking(SessionLength("absent"))) == 0

    async def test_a_plan_reads_the_directives_apart(self, store: Store) -> None:
        """The agent's isn't its users'."""
        await store.within(AGENT).commit(writing(SetDirective("Be kind")))
        for scope in (AGENT, ANNA):
            assert await store.within(scope).commit(asking(CurrentDirective())) == Directive("Be kind", "")
