"""Scope contract: the tests of `StoreContract` about scopes: what each sees and changes, and several handles on one store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from germane.errors import GermaneError, InvalidInput, StoreUnavailable
from germane.kinds.events.reads import (
    EventsByMessageId,
    ListSessions,
    PutEvent,
    RecentEvents,
    SeenEvents,
    SessionLength,
)
from germane.kinds.inventory import (
    AllowedIds,
)
from germane.kinds.keys.reads import NonceKey
from germane.kinds.memories.reads import (
    CountFeedback,
    EndMemory,
    Forget,
    ListMemories,
    PutMemory,
    SeenMemories,
    Select,
    Selection,
)
from germane.stores.contract import ScopedStore, Store
from germane.types.plan import Decision, Plan, read
from germane.types.query import EVERY_SENSITIVITY, Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, a_memory, an_event, asking, question, writing

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
