"""Store contract: `StoreContract`, the tests that every store must pass.

Subclass it in a test module and define the fixture `opening`: a function that opens the store with the `Hashed` embedder. Its
first call makes an empty store, and each further call opens another handle on the same store.

    class TestMyStore(StoreContract):
        @pytest.fixture
        def opening(self, tmp_path):
            return lambda: MyStore.open(tmp_path / "store", embedder=Hashed())
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from germane.errors import Conflict, GermaneError
from germane.kinds.events.reads import EventsByMessageId, PutEvent, SessionLength, SessionTail
from germane.kinds.inventory import AllowedIds
from germane.kinds.memories.directive import CurrentDirective, Directive, ListDirectives, SetDirective
from germane.kinds.memories.plans import new_memory, remember
from germane.kinds.memories.reads import (
    CountFeedback,
    CountRetrievals,
    EndMemory,
    FactsOnKey,
    Forget,
    ListMemories,
    MemoriesByHash,
    MemoriesById,
    PinnedMemories,
    PutMemory,
    SeenMemories,
)
from germane.stores.contract import BacksUp, EmbedsLater, ExaminesItself, ScopedStore, Scrubs, Store, Upgrades
from germane.types.plan import Plan, read
from germane.types.query import Filters
from germane_testing.alias_contract import AliasContract
from germane_testing.block_contract import ArchiveContract, BlockContract
from germane_testing.builders import NOON, Hashed, a_memory, an_event, asking, question, writing
from germane_testing.event_contract import ConversationContract, DocumentContract, EventContract
from germane_testing.graph_contract import GraphContract, TaskContract
from germane_testing.injection_contract import InjectionContract, KeyContract, ProfileContract
from germane_testing.inventory_contract import ForgetContract, InventoryContract
from germane_testing.memory_contract import DerivationContract, LinkContract, MemoryContract, QueueContract
from germane_testing.scope_contract import AGENT, ALL, ANNA, LATER, ScopeContract, found
from germane_testing.transfer_contract import TransferContract

EMBEDDER = Hashed()


class CapabilityContract:
    """Tests of what a store may lack. Each is skipped where the store hasn't the capability."""

    async def test_forgotten_content_is_scrubbed(self, scoped: ScopedStore) -> None:
        """Nothing is left to wait for, and scrubbing is idempotent."""
        if not isinstance(scoped, Scrubs):
            pytest.skip("the store doesn't scrub its files")
        memory = a_memory("Keeps three bicycles")
        await scoped.commit(writing(PutMemory(memory)))
        await scoped.commit(writing(Forget(memory_ids=(memory.id,), at=LATER)))
        assert [await scoped.scrub(), await scoped.scrub()] == ["", ""]

    async def test_a_backup_is_written(self, store: Store, tmp_path: Path) -> None:
        """It goes to the file that was named, and the pages are counted to the end."""
        if not isinstance(store, BacksUp):
            pytest.skip("the store doesn't copy itself")
        seen: list[tuple[int, int]] = []
        await store.within(AGENT).commit(writing(PutMemory(a_memory())))
        await store.backup(tmp_path / "copy", lambda done, total: seen.append((done, total)))
        assert (tmp_path / "copy").exists()
        assert seen[-1][0] == seen[-1][1] > 0

    async def test_a_sound_store_is_found_sound(self, store: Store) -> None:
        """By what it says of itself, and by all of its content."""
        if not isinstance(store, ExaminesItself):
            pytest.skip("the store doesn't examine itself")
        await store.within(AGENT).commit(remember(new_memory("Drinks oolong tea", scope=AGENT, now=NOON)))
        assert (await store.check()).healthy
        assert (await store.verify(full=True)).healthy

    @pytest.mark.requirement("SEARCH-3")
    async def test_vectors_are_complete_and_can_be_made_anew(self, store: Store) -> None:
        """A quick embedder leaves nothing to be done."""
        if not isinstance(store, EmbedsLater):
            pytest.skip("the store makes no vectors after a commit")
        await store.within(AGENT).commit(writing(PutMemory(a_memory("green tea"))))
        assert (await store.stale_vectors(), await store.embed_pending(), store.refused_texts) == (0, 0, 0)
        assert await store.reembed() == 0

    async def test_a_new_store_needs_no_upgrade(self, store: Store) -> None:
        """What this version stores is in the form of this version."""
        if not isinstance(store, Upgrades):
            pytest.skip("the store has no earlier versions")
        await store.within(AGENT).commit(writing(PutEvent(an_event("I live in Graz"))))
        assert await store.upgrade() == 0


class StoreContract(
    CapabilityContract,
    MemoryContract,
    EventContract,
    DocumentContract,
    TaskContract,
    ConversationContract,
    ProfileContract,
    ForgetContract,
    ScopeContract,
    KeyContract,
    DerivationContract,
    InjectionContract,
    InventoryContract,
    LinkContract,
    QueueContract,
    TransferContract,
    BlockContract,
    ArchiveContract,
    GraphContract,
    AliasContract,
):
    """All tests of a store: what it may lack, memories, events, search, plans, forgetting, scopes, keys, injections, exports,
    links, queue, blocks."""

    async def test_things_are_found_by_their_words(self, scoped: ScopedStore) -> None:
        """A keyword search finds memories and events by word stem."""
        memory = a_memory("Keeps three bicycles in the garage")
        event = an_event("My bicycle was stolen")
        await scoped.commit(writing(PutMemory(memory), PutEvent(event)))
        assert await found(scoped, "bicycle") == sorted([memory.text, event.text])
        assert await found(scoped, "submarine") == []

    @pytest.mark.requirement("SEARCH-3")
    async def test_things_are_found_by_their_meaning(self, scoped: ScopedStore) -> None:
        """A query vector of the store's embedder finds the nearest memory; a vector of another embedder finds nothing."""
        memories = [a_memory(text) for text in ("green tea", "fast cars", "old houses")]
        await scoped.commit(writing(*map(PutMemory, memories)))
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
        await scoped.commit(writing(PutMemory(secret), PutMemory(fact), PutEvent(said), PutEvent(shown)))
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
        await scoped.commit(writing(*map(PutMemory, memories)))
        asked = question("cat", exclude=frozenset(memory.id for memory in memories[:2]))
        hits = (await scoped.memories.search(asked, 1, keywords=True, vectors=False, wait=True)).hits
        assert [hit.thing.id for hit in hits] == [memories[2].id]

    @pytest.mark.requirement("GATHER-6", "PACK-8")
    async def test_what_doesnt_hold_at_the_time_is_not_gathered(self, scoped: ScopedStore) -> None:
        """`search`, `list`, `pinned` and `allowed` leave out a memory that isn't valid at the time, unless a search asks for
        history."""
        old = a_memory("lives in Lisbon", "fact", pinned=True)
        await scoped.commit(writing(PutMemory(old)))
        await scoped.commit(writing(EndMemory(id=old.id, at=NOON + timedelta(hours=1), superseded_by="x")))
        for at, there in (
            (NOON + timedelta(minutes=59), True),
            (NOON + timedelta(hours=1), False),
            (NOON - timedelta(1), False),
        ):
            hits = (await scoped.memories.search(question("Lisbon", at=at), 5, keywords=True, vectors=False, wait=True)).hits
            page = await scoped.ask(ListMemories(Filters(), at=at, limit=5))
            pinned = await scoped.ask(PinnedMemories(("drink",), (), at=at, filters=Filters()))
            allowed = await scoped.ask(AllowedIds([old.id], at, Filters()))
            assert [bool(hits), bool(page.memories), bool(pinned), bool(allowed)] == [there] * 4
        assert await found(scoped, "Lisbon", with_ended=True) == [old.text]
        (ended,) = await scoped.ask(SeenMemories([old.id]))
        assert (ended.valid_to, ended.superseded_by) == (NOON + timedelta(hours=1), "x")

    async def test_plans_read_what_is_there(self, scoped: ScopedStore) -> None:
        """Every read of memories and events sees the committed changes, in order."""
        fact, note = a_memory("tea", "fact", key="k"), a_memory("a note")
        events = [an_event(f"turn {n}", position=n, message_id=f"m{n}") for n in range(3)]
        await scoped.commit(writing(PutMemory(fact), PutMemory(note), *map(PutEvent, events)))
        commit = scoped.commit
        assert await commit(asking(MemoriesById((fact.id, "absent")))) == {fact.id: fact}
        assert await commit(asking(MemoriesByHash(note.content_hash, NOON))) == (note,)
        assert await commit(asking(FactsOnKey("k", NOON))) == (fact,)
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
            await scoped.commit(raising())
        await scoped.commit(writing(PutEvent(event)))
        half = (PutMemory(a_memory("half written")), PutEvent(an_event(message_id="m1")._replace(position=1)))
        with pytest.raises(GermaneError):
            await scoped.commit(writing(*half))
        assert await found(scoped, "half written Lisbon") == [event.text]
        assert await scoped.commit(asking(SessionLength("s1"))) == 1

    @pytest.mark.requirement("MEM-2")
    async def test_plans_read_what_has_not_ended_by_a_time(self, scoped: ScopedStore) -> None:
        """Of a fact's versions and of memories that say the same: those that hold then, and those that begin later."""
        hour = timedelta(hours=1)
        ends = [hour, 2 * hour, None, 4 * hour]
        line = [
            a_memory("tea", "fact", key="k", valid_from=NOON + n * hour, valid_to=None if end is None else NOON + end)
            for n, end in enumerate(ends)
        ]
        await scoped.commit(writing(*map(PutMemory, line), PutMemory(a_memory("milk", "fact", key="other"))))
        for at, left in ((NOON - hour, line), (NOON, line), (NOON + hour, line[1:]), (NOON + 2 * hour, line[2:])):
            assert await scoped.commit(asking(FactsOnKey("k", at))) == await scoped.ask(FactsOnKey("k", at)) == tuple(left)
            same = await scoped.commit(asking(MemoriesByHash(line[0].content_hash, at)))
            assert {memory.id for memory in same} == {memory.id for memory in left}
        assert await scoped.commit(asking(FactsOnKey("k", NOON + 9 * hour))) == (line[2],)

    @pytest.mark.requirement("OPS-2", "MEM-5")
    async def test_the_revision_rises_with_content_and_not_with_counts(self, scoped: ScopedStore) -> None:
        """Counting retrievals or feedback keeps the revision; every other change raises it."""
        memory = a_memory()
        seen = [await scoped.revision()]
        for change in (PutMemory(memory), PutEvent(an_event()), SetDirective("Be kind"), EndMemory(id=memory.id, at=LATER)):
            await scoped.commit(writing(change))
            seen.append(await scoped.revision())
        assert seen == sorted(set(seen))
        counts = (
            CountRetrievals((memory.id,)),
            CountFeedback((memory.id,), helpful=True),
            CountFeedback((memory.id,), helpful=False),
        )
        await scoped.commit(writing(*counts))
        (counted,) = await scoped.ask(SeenMemories([memory.id]))
        assert (counted.retrieval_count, counted.helpful, counted.harmful) == (1, 1, 1)
        assert await scoped.revision() == seen[-1]

    @pytest.mark.requirement("ENGINE-6")
    async def test_the_known_revision_is_the_last_commits_and_never_ahead(self, opening: Callable[[], Store]) -> None:
        """A handle knows its own commits at once, and what it opened with; what another one writes afterwards is always later,
        also after a commit that changed no content."""
        here, there = opening(), opening()
        mine, theirs = here.within(ANNA), there.within(ANNA)
        memory = a_memory(user=ANNA.user)
        said = an_event("mine", user=ANNA.user)
        for place, change in enumerate((PutMemory(memory), CountRetrievals((memory.id,)), PutEvent(said)), 1):
            await mine.commit(writing(change))
            known = mine.known_revision()
            assert known >= await mine.revision()
            await theirs.commit(writing(PutEvent(an_event("theirs", user=ANNA.user, position=place))))
            assert known < await theirs.revision() <= theirs.known_revision()
        later = opening()
        assert later.within(ANNA).known_revision() == theirs.known_revision()
        for store in (later, there, here):
            await store.close()

    async def test_a_users_directive_stands_before_the_agents(self, store: Store) -> None:
        """A user's directive replaces the agent's until an empty one removes it."""
        agent, anna = store.within(AGENT), store.within(ANNA)
        assert (await anna.ask(CurrentDirective())).text == ""
        await agent.commit(writing(SetDirective("Be brief")))
        await anna.commit(writing(SetDirective("Be kind")))
        assert await anna.ask(CurrentDirective()) == Directive("Be brief", "Be kind")
        assert await agent.ask(CurrentDirective()) == Directive("Be brief")
        names = (AGENT.org, AGENT.agent)
        assert await store.ask(ListDirectives(9)) == [(*names, None, "Be brief"), (*names, ANNA.user, "Be kind")]
        assert await store.ask(ListDirectives(1)) == [(*names, None, "Be brief")]
        await anna.commit(writing(SetDirective("")))
        assert (await anna.ask(CurrentDirective())).text == "Be brief"
