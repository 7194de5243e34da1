"""Store contract: `StoreContract`, the tests that every store must pass.

Subclass it in a test module and define the fixture `opening`: a function that opens the store with the `Hashed` embedder. Its
first call makes an empty store, and each further call opens another handle on the same store.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def opening(self, tmp_path):
            return lambda: MyStore.open(tmp_path / "store", embedder=Hashed())
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from germane.errors import Conflict, GermaneError
from germane.events.operations import EventsByMessageId, PutEvent, SessionLength, SessionTail
from germane.memories.directive import Directive
from germane.memories.operations import (
    CountFeedback,
    CountRetrievals,
    EndMemory,
    FactsOnKey,
    Forget,
    ForgetOwner,
    MemoriesByHash,
    MemoriesById,
    PutMemory,
    Select,
    Selection,
    SetDirective,
)
from germane.store import ScopedStore, Store
from germane.testing.derivation_contract import DerivationContract
from germane.testing.hashed import Hashed
from germane.testing.injection_contract import InjectionContract
from germane.testing.key_contract import KeyContract
from germane.testing.scope_contract import AGENT, ALL, ANNA, LATER, ScopeContract, found
from germane.testing.stored import NOON, a_memory, an_event, asking, question, writing
from germane.types.candidate import Provenance
from germane.types.plan import Plan, read
from germane.types.query import Filters

__all__ = ["StoreContract"]

EMBEDDER = Hashed()


class StoreContract(ScopeContract, KeyContract, DerivationContract, InjectionContract):
    """All tests of a store: memories, events, search, plans, forgetting, scopes, keys and injections."""

    @pytest.mark.requirement("MEM-2", "MEM-3", "SCOPE-4")
    async def test_a_memory_comes_back_equal(self, scoped: ScopedStore) -> None:
        """Every field of every kind is stored, times to the microsecond."""
        provenance = Provenance(
            source_kind="tool",
            channel="mail",
            session="s",
            message_id="m",
            tool_call_id="t",
            refs=("a", "b"),
            metadata={"x": [1]},
        )
        rich: dict[str, Any] = {
            "tags": ("red", "blue"),
            "sensitivity": "sensitive",
            "confidence": 0.25,
            "pinned": True,
            "provenance": provenance,
        }
        ends: dict[str, Any] = {"expires_at": LATER, "valid_to": NOON + timedelta(microseconds=1), "content_hash": -(1 << 63)}
        kinds = ("fact", "preference", "procedure", "behavior", "episode", "note")
        memories = [a_memory(f"Näheres \x00 zu 猫 {kind}", kind, **rich, **ends) for kind in kinds]
        memories.append(a_memory(kind="fact", helpful=2, harmful=3, retrieval_count=4))
        await scoped.journal.commit(writing(*map(PutMemory, memories)))
        found = await scoped.memories.get([memory.id for memory in memories])
        assert found == tuple(memories)
        assert found[0].provenance.metadata == {"x": [1]}

    async def test_an_event_comes_back_equal(self, scoped: ScopedStore) -> None:
        """Every field is stored, and the event carries the start and the number of its session."""
        event = an_event(
            "Bom dia \x00",
            name="Ana",
            message_id="m1",
            sensitivity="public",
            raw={"role": "user", "n": [1]},
            content_hash=(1 << 63) - 1,
        )
        await scoped.journal.commit(writing(PutEvent(event)))
        (found,) = await scoped.events.get([event.id])
        assert found == replace(event, session_started_at=event.created_at, session_number=1)
        assert found.raw == {"role": "user", "n": [1]}

    async def test_things_are_found_by_their_words(self, scoped: ScopedStore) -> None:
        """A keyword search finds memories and events by word stem."""
        memory = a_memory("Keeps three bicycles in the garage")
        event = an_event("My bicycle was stolen")
        await scoped.journal.commit(writing(PutMemory(memory), PutEvent(event)))
        assert await found(scoped, "bicycle") == sorted([memory.text, event.text])
        assert await found(scoped, "submarine") == []

    @pytest.mark.requirement("SEARCH-3")
    async def test_things_are_found_by_their_meaning(self, scoped: ScopedStore) -> None:
        """A query vector of the store's embedder finds the nearest memory; a vector of another embedder finds nothing."""
        memories = [a_memory(text) for text in ("green tea", "fast cars", "old houses")]
        await scoped.journal.commit(writing(*map(PutMemory, memories)))
        asked = replace(question("", vector=EMBEDDER.embed_now(["fast cars"])[0]), model=EMBEDDER.identity)
        hits = (await scoped.memories.search(asked, 1, keywords=False, vectors=True, wait=True)).hits
        assert [hit.thing.text for hit in hits] == ["fast cars"]
        assert hits[0].evidence.cos_own == pytest.approx(1, abs=0.01)
        other = replace(asked, model="another/16")
        assert (await scoped.memories.search(other, 1, keywords=False, vectors=True, wait=True)).hits == ()

    @pytest.mark.requirement("GATHER-4", "GATHER-5")
    async def test_filters_narrow_a_search(self, scoped: ScopedStore) -> None:
        """Each filter works alone: kinds, tags, sensitivities, times, sessions, event types and exclusions."""
        secret = a_memory("cat one", sensitivity="sensitive", tags=("pet",))
        fact = a_memory("cat two", "fact", created_at=NOON + timedelta(hours=1))
        said = an_event("cat three", session="a", message_id="m1")
        shown = an_event("cat four", session="b", type="tool_message", sensitivity="public")
        await scoped.journal.commit(writing(PutMemory(secret), PutMemory(fact), PutEvent(said), PutEvent(shown)))
        assert await found(scoped, "cat") == ["cat four", "cat three", "drink: cat two"]
        assert await found(scoped, "cat", sensitivities=()) == []
        assert await found(scoped, "cat", sensitivities=("public",)) == ["cat four"]
        assert await found(scoped, "cat", sensitivities=ALL.sensitivities, tags=("pet", "x")) == ["cat one"]
        assert await found(scoped, "cat", kinds=("fact",)) == ["drink: cat two"]
        assert await found(scoped, "cat", event_types=("tool_message",)) == ["cat four"]
        assert await found(scoped, "cat", session="a") == ["cat three"]
        assert await found(scoped, "cat", since=NOON + timedelta(minutes=1)) == ["drink: cat two"]
        assert await found(scoped, "cat", until=NOON) == ["cat four", "cat three"]
        assert await found(scoped, "cat", exclude=frozenset({fact.id, "m1"})) == ["cat four"]

    async def test_an_exclusion_makes_room_for_the_next_best(self, scoped: ScopedStore) -> None:
        """Excluded memories don't count towards the limit."""
        memories = [a_memory(f"cat {word}") for word in ("one", "two", "three")]
        await scoped.journal.commit(writing(*map(PutMemory, memories)))
        asked = question("cat", exclude=frozenset(memory.id for memory in memories[:2]))
        hits = (await scoped.memories.search(asked, 1, keywords=True, vectors=False, wait=True)).hits
        assert [hit.thing.id for hit in hits] == [memories[2].id]

    @pytest.mark.requirement("GATHER-6", "PACK-8")
    async def test_what_doesnt_hold_at_the_time_is_not_gathered(self, scoped: ScopedStore) -> None:
        """`search`, `list`, `pinned` and `allowed` leave out a memory that isn't valid at the time, unless a search asks for
        history."""
        old = a_memory("lives in Lisbon", "fact", pinned=True)
        await scoped.journal.commit(writing(PutMemory(old)))
        await scoped.journal.commit(writing(EndMemory(id=old.id, at=NOON + timedelta(hours=1), superseded_by="x")))
        for at, there in (
            (NOON + timedelta(minutes=59), True),
            (NOON + timedelta(hours=1), False),
            (NOON - timedelta(1), False),
        ):
            hits = (await scoped.memories.search(question("Lisbon", at=at), 5, keywords=True, vectors=False, wait=True)).hits
            page = await scoped.memories.list(Filters(), at=at, limit=5)
            pinned = await scoped.memories.pinned(("drink",), (), at=at, filters=Filters())
            allowed = await scoped.allowed([old.id], at=at, filters=Filters())
            assert [bool(hits), bool(page.memories), bool(pinned), bool(allowed)] == [there] * 4
        assert await found(scoped, "Lisbon", with_history=True) == [old.text]
        (ended,) = await scoped.memories.get([old.id])
        assert (ended.valid_to, ended.superseded_by) == (NOON + timedelta(hours=1), "x")

    async def test_a_replaced_memory_is_found_by_its_new_words_only(self, scoped: ScopedStore) -> None:
        """`PutMemory` with an existing id replaces text, tags and vector."""
        memory = a_memory("likes tea", tags=("drink",))
        await scoped.journal.commit(writing(PutMemory(memory)))
        assert await found(scoped, "tea") == ["likes tea"]
        await scoped.journal.commit(writing(PutMemory(replace(a_memory("likes milk", tags=("white",)), id=memory.id))))
        assert await found(scoped, "tea") == []
        assert await found(scoped, "milk", tags=("white",)) == ["likes milk"]
        assert await found(scoped, "milk", tags=("drink",)) == []

    @pytest.mark.requirement("MEM-3")
    async def test_listing_goes_through_all_pages_newest_first(self, scoped: ScopedStore) -> None:
        """Pages neither skip nor repeat a memory, even where times are equal."""
        memories = [a_memory(f"note {n}", created_at=NOON + timedelta(seconds=n // 2)) for n in range(7)]
        await scoped.journal.commit(writing(*map(PutMemory, memories)))
        texts, cursor = [], None
        while True:
            page = await scoped.memories.list(Filters(), at=LATER, limit=3, cursor=cursor)
            texts += [memory.text for memory in page.memories]
            if (cursor := page.cursor) is None:
                break
        assert texts == [f"note {n}" for n in reversed(range(7))]

    async def test_pinned_gives_pins_then_facts_in_key_order_then_tags(self, scoped: ScopedStore) -> None:
        """`pinned` returns only the newest fact of each key, and no memory twice."""
        pin = a_memory("pin", pinned=True, tags=("t",))
        old, new = (a_memory(text, "fact", key="k1", valid_from=NOON + timedelta(h)) for text, h in (("old", -2), ("new", -1)))
        other, tagged = a_memory("other", "fact", key="k2"), a_memory("tagged", tags=("t",))
        await scoped.journal.commit(writing(*map(PutMemory, (tagged, old, new, other, pin))))
        found = await scoped.memories.pinned(("k2", "k1"), ("t",), at=LATER, filters=Filters())
        assert found == (pin, other, new, tagged)

    async def test_history_is_the_whole_line_of_succession(self, scoped: ScopedStore) -> None:
        """`history` of any memory of the line returns the whole line, oldest first."""
        line = [a_memory(f"v{n}", "fact", valid_from=NOON + timedelta(days=n)) for n in range(3)]
        line[:2] = [replace(old, superseded_by=new.id) for old, new in pairwise(line)]
        await scoped.journal.commit(writing(*map(PutMemory, [*line, a_memory("apart")])))
        for memory in line:
            assert await scoped.memories.history(memory.id) == tuple(line)
        assert await scoped.memories.history("absent") == ()

    async def test_plans_read_what_is_there(self, scoped: ScopedStore) -> None:
        """Every read of memories and events sees the committed changes, in order."""
        fact, note = a_memory("tea", "fact", key="k"), a_memory("a note")
        events = [an_event(f"turn {n}", position=n, message_id=f"m{n}") for n in range(3)]
        await scoped.journal.commit(writing(PutMemory(fact), PutMemory(note), *map(PutEvent, events)))
        commit = scoped.journal.commit
        assert await commit(asking(MemoriesById((fact.id, "absent")))) == {fact.id: fact}
        assert await commit(asking(MemoriesByHash(note.content_hash))) == (note,)
        assert await commit(asking(FactsOnKey("k"))) == (fact,)
        assert [head.message_id for head in await commit(asking(SessionTail("s1", 2)))] == ["m1", "m2"]
        assert [head.message_id for head in await commit(asking(SessionTail("s1", 2, before=2)))] == ["m0", "m1"]
        known = await commit(asking(EventsByMessageId("s1", ("m1", "m9"))))
        assert list(known) == ["m1"]
        assert await commit(asking(SessionLength("s1"))) == 3
        assert await commit(asking(SessionLength("s2"))) == 0

    async def test_a_plan_that_fails_writes_nothing(self, scoped: ScopedStore) -> None:
        """A plan that raises, or whose changes can't be written, leaves no trace; other plans are not affected."""

        def raising() -> Plan[None]:
            yield from read(SessionLength("s1"))
            raise Conflict("no")

        event = an_event(message_id="m1")
        with pytest.raises(Conflict):
            await scoped.journal.commit(raising())
        await scoped.journal.commit(writing(PutEvent(event)))
        half = (PutMemory(a_memory("half written")), PutEvent(replace(an_event(message_id="m1"), position=1)))
        with pytest.raises(GermaneError):
            await scoped.journal.commit(writing(*half))
        assert await found(scoped, "half written Lisbon") == [event.text]
        assert await scoped.journal.commit(asking(SessionLength("s1"))) == 1

    @pytest.mark.requirement("OPS-2", "MEM-5")
    async def test_the_revision_rises_with_content_and_not_with_counts(self, scoped: ScopedStore) -> None:
        """Counting retrievals or feedback keeps the revision; every other change raises it."""
        memory = a_memory()
        seen = [await scoped.journal.revision()]
        for change in (PutMemory(memory), PutEvent(an_event()), SetDirective("Be kind"), EndMemory(id=memory.id, at=LATER)):
            await scoped.journal.commit(writing(change))
            seen.append(await scoped.journal.revision())
        assert seen == sorted(set(seen))
        counts = (
            CountRetrievals((memory.id,)),
            CountFeedback((memory.id,), helpful=True),
            CountFeedback((memory.id,), helpful=False),
        )
        await scoped.journal.commit(writing(*counts))
        (counted,) = await scoped.memories.get([memory.id])
        assert (counted.retrieval_count, counted.helpful, counted.harmful) == (1, 1, 1)
        assert await scoped.journal.revision() == seen[-1]

    async def test_a_users_directive_stands_before_the_agents(self, store: Store) -> None:
        """A user's directive replaces the agent's until an empty one removes it."""
        agent, anna = store.within(AGENT), store.within(ANNA)
        assert (await anna.directive()).text == ""
        await agent.journal.commit(writing(SetDirective("Be brief")))
        await anna.journal.commit(writing(SetDirective("Be kind")))
        assert await anna.directive() == Directive("Be brief", "Be kind")
        assert await agent.directive() == Directive("Be brief")
        names = (AGENT.org, AGENT.agent)
        assert await store.directives(9) == [(*names, None, "Be brief"), (*names, ANNA.user, "Be kind")]
        assert await store.directives(1) == [(*names, None, "Be brief")]
        await anna.journal.commit(writing(SetDirective("")))
        assert (await anna.directive()).text == "Be brief"

    async def test_recent_is_newest_first_and_narrowed(self, scoped: ScopedStore) -> None:
        """`recent` filters by session, time, type and exclusion, and sorts a late message by its time."""
        events = [an_event(f"a{n}", session="a", position=n) for n in range(3)]
        events += [an_event(f"b{n}", session="b", position=n, created_at=NOON + timedelta(minutes=n + 1)) for n in range(2)]
        late = an_event("late", session="a", position=3, created_at=NOON + timedelta(seconds=0.5), message_id="m")
        await scoped.journal.commit(writing(*map(PutEvent, [*events, late])))

        async def recent(limit: int = 9, session: str | None = None, **filters: Any) -> list[str]:
            found = await scoped.events.recent(limit, session=session, filters=Filters(**filters))
            return [event.text for event in found]

        assert await recent() == ["b1", "b0", "a2", "a1", "late", "a0"]
        assert await recent(2) == ["b1", "b0"]
        assert await recent(session="a") == ["a2", "a1", "late", "a0"]
        assert await recent(exclude=frozenset({"m", events[0].id}), session="a") == ["a2", "a1"]
        assert await recent(until=NOON) == ["a0"]
        assert await recent(tags=("x",)) == []
        assert [event.text for event in await scoped.events.recent(1, filters=Filters(until=NOON))] == ["a0"]

    async def test_recent_looks_into_the_five_latest_sessions(self, scoped: ScopedStore) -> None:
        """`recent` returns no events of the sixth latest session."""
        events = [an_event(f"s{n}", session=f"s{n}", created_at=NOON + timedelta(days=n)) for n in range(7)]
        await scoped.journal.commit(writing(*map(PutEvent, events)))
        found = await scoped.events.recent(50, filters=Filters())
        assert [event.text for event in found] == ["s6", "s5", "s4", "s3", "s2"]

    async def test_sessions_are_numbered_by_beginning(self, scoped: ScopedStore) -> None:
        """A session's number is its rank by start, even where an earlier session is recorded later; `sessions` returns the
        latest first."""
        for name, day in (("b", 2), ("c", 3), ("a", 1)):
            event = an_event(session=name, created_at=NOON + timedelta(days=day), name=name.upper())
            await scoped.journal.commit(writing(PutEvent(event)))
        found = await scoped.events.sessions(9)
        assert [(session.id, session.number, session.length) for session in found] == [("c", 3, 1), ("b", 2, 1), ("a", 1, 1)]
        assert await scoped.events.speakers() == ("A", "B", "C")

    @pytest.mark.requirement("MEM-3")
    async def test_what_is_forgotten_is_found_nowhere(self, scoped: ScopedStore) -> None:
        """No read returns forgotten data. Forgetting is idempotent, and a session ends with its last event."""
        memory, event = a_memory("cat secret", "fact", tags=("t",)), an_event("cat turn", name="Ana", message_id="m")
        await scoped.journal.commit(writing(PutMemory(memory), PutEvent(event)))
        assert len(await found(scoped, "cat")) == 2
        gone = Forget(memory_ids=(memory.id,), event_ids=(event.id,), at=LATER, by="op", reason="asked")
        for _ in range(2):
            await scoped.journal.commit(writing(gone))
            assert await found(scoped, "cat") == []
            assert await scoped.memories.get([memory.id]) == ()
            assert await scoped.events.get([event.id]) == ()
            assert await scoped.allowed([memory.id, event.id], at=LATER, filters=ALL) == frozenset()
            assert await scoped.memories.pinned(("drink",), ("t",), at=LATER, filters=ALL) == ()
            assert await scoped.events.recent(5, filters=ALL) == ()
            assert await scoped.events.sessions(5) == ()
            assert await scoped.events.speakers() == ()
            assert await scoped.journal.commit(asking(FactsOnKey("drink"))) == ()

    @pytest.mark.requirement("MEM-3")
    async def test_forgetting_an_owner_takes_all_the_owner_has_and_nothing_of_others(self, store: Store) -> None:
        """Forgetting an owner removes directive and sessions too, and scrubbing succeeds. Forgetting an absent owner is no
        error."""
        agent, anna = store.within(AGENT), store.within(ANNA)
        for scoped in (agent, anna):
            user = scoped.scope.user
            kept = (PutMemory(a_memory("cat", user=user)), PutEvent(an_event("cat", user=user)), SetDirective("Be kind"))
            await scoped.journal.commit(writing(*kept))
        before = await anna.journal.revision()
        for user in (ANNA.user, ANNA.user, "nobody"):
            await agent.journal.commit(writing(ForgetOwner(user=user, at=LATER)))
            assert await agent.journal.scrub() == ""
            assert await found(anna, "cat") == ["cat", "cat"]
            assert (await anna.directive()).text == "Be kind"
            assert len(await anna.events.sessions(5)) == 1
        assert await anna.journal.revision() > before
        await anna.journal.commit(writing(ForgetOwner(user=None, at=LATER)))
        assert len(await found(anna, "cat")) == 2
        await agent.journal.commit(writing(ForgetOwner(at=LATER)))
        assert (await found(anna, "cat"), (await anna.directive()).text) == ([], "")

    @pytest.mark.requirement("MEM-3")
    async def test_a_selection_meets_every_criterion(self, scoped: ScopedStore) -> None:
        """Criteria are germane's or the caller's ids, key, tag and session. Without a criterion nothing is selected."""
        fact = a_memory("one", "fact", key="k", tags=("t",), provenance=Provenance(session="s1"))
        note = a_memory("two", tags=("t",))
        events = [an_event("three", message_id="m1"), an_event("four", session="s2", message_id="m2")]
        await scoped.journal.commit(writing(PutMemory(fact), PutMemory(note), *map(PutEvent, events)))

        async def select(**criteria: Any) -> Selection:
            return await scoped.journal.commit(asking(Select(**criteria)))

        assert await select() == Selection()
        assert await select(everything=True) == Selection((fact.id, note.id), (events[0].id, events[1].id))
        assert await select(ids=(note.id, "m2")) == Selection((note.id,), (events[1].id,))
        assert await select(key="k") == Selection((fact.id,))
        assert await select(tag="t") == Selection((fact.id, note.id))
        assert await select(session="s1") == Selection((fact.id,), (events[0].id,))
        assert await select(tag="t", session="s2") == Selection()
