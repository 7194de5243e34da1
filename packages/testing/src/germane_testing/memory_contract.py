"""Memory contract: the tests of `StoreContract` about memories: fields, listing, links, derivations and extraction."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from germane.errors import InvalidInput, NotFound
from germane.extraction.llm.answer import Accepted
from germane.extraction.llm.plans import StoredAnswer, store_accepted
from germane.extraction.llm.queue import BeginQueue, Claim, QueueState, ReleaseClaim, ReleaseClaims, ResumeQueue, lease_next
from germane.kinds.events.reads import PutEvent
from germane.kinds.memories.reads import (
    ConflictById,
    DerivedFrom,
    EndMemory,
    Forget,
    LeftOf,
    ListMemories,
    MemoriesByHash,
    OpenConflicts,
    Page,
    PinnedMemories,
    PutConflict,
    PutMemory,
    ResolveConflict,
    SeenMemories,
    Select,
    VersionsOfMemory,
)
from germane.kinds.memories.value import Memory
from germane.kinds.tasks.plans import new_frame
from germane.kinds.tasks.reads import FramesById, PutFrame
from germane.kinds.tasks.value import BRANCH
from germane.stores.contract import ScopedStore, Store
from germane.types.candidate import Provenance
from germane.types.plan import store_change
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, a_memory, an_event, asking, writing
from germane_testing.scope_contract import ALL, ANNA, BEN, LATER, found

# Fields, replacing, listing, pins and versions.


class MemoryContract:
    """Tests of memories. Inherit `StoreContract`, which has them all."""

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
        await scoped.commit(writing(*map(PutMemory, memories)))
        found = await scoped.ask(SeenMemories([memory.id for memory in memories]))
        assert found == tuple(memories)
        assert found[0].provenance.metadata == {"x": [1]}

    async def test_a_replaced_memory_is_found_by_its_new_words_only(self, scoped: ScopedStore) -> None:
        """`PutMemory` with an existing id replaces text, tags and vector."""
        memory = a_memory("likes tea", tags=("drink",))
        await scoped.commit(writing(PutMemory(memory)))
        assert await found(scoped, "tea") == ["likes tea"]
        await scoped.commit(writing(PutMemory(replace(a_memory("likes milk", tags=("white",)), id=memory.id))))
        assert await found(scoped, "tea") == []
        assert await found(scoped, "milk", tags=("white",)) == ["likes milk"]
        assert await found(scoped, "milk", tags=("drink",)) == []

    @pytest.mark.requirement("MEM-3")
    async def test_listing_goes_through_all_pages_newest_first(self, scoped: ScopedStore) -> None:
        """Pages neither skip nor repeat a memory, even where times are equal."""
        memories = [a_memory(f"note {n}", created_at=NOON + timedelta(seconds=n // 2)) for n in range(7)]
        await scoped.commit(writing(*map(PutMemory, memories)))
        texts, cursor = [], None
        while True:
            page = await scoped.ask(ListMemories(Filters(), at=LATER, limit=3, cursor=cursor))
            texts += [memory.text for memory in page.memories]
            if (cursor := page.cursor) is None:
                break
        assert texts == [f"note {n}" for n in reversed(range(7))]

    async def test_pinned_gives_pins_then_facts_in_key_order_then_tags(self, scoped: ScopedStore) -> None:
        """`pinned` returns only the newest fact of each key, and no memory twice."""
        pin = a_memory("pin", pinned=True, tags=("t",))
        old, new = (a_memory(text, "fact", key="k1", valid_from=NOON + timedelta(h)) for text, h in (("old", -2), ("new", -1)))
        other, tagged = a_memory("other", "fact", key="k2"), a_memory("tagged", tags=("t",))
        await scoped.commit(writing(*map(PutMemory, (tagged, old, new, other, pin))))
        found = await scoped.ask(PinnedMemories(("k2", "k1"), ("t",), at=LATER, filters=Filters()))
        assert found == (pin, other, new, tagged)

    async def test_versions_are_the_whole_line_of_succession(self, scoped: ScopedStore) -> None:
        """The versions of any memory of the line are the whole line, oldest first."""
        line = [a_memory(f"v{n}", "fact", valid_from=NOON + timedelta(days=n)) for n in range(3)]
        line[:2] = [replace(old, superseded_by=new.id) for old, new in pairwise(line)]
        await scoped.commit(writing(*map(PutMemory, [*line, a_memory("apart")])))
        for memory in line:
            assert await scoped.ask(VersionsOfMemory(memory.id)) == tuple(line)
        assert await scoped.ask(VersionsOfMemory("absent")) == ()


# Near-duplicates and conflicts between memories.


_LATER = NOON + timedelta(hours=1)
_STATEMENT = "The staging database is reset every night by the platform team"
_RESTATEMENT = "Every night the staging database is reset by the platform team"
_BUDGET = (
    "The budget for the new kitchen in the old house near the harbour that was sold in spring after long talks is {} euros"
)


async def _near(scoped: ScopedStore, memory: Memory) -> tuple[str, ...]:
    (found,) = await scoped.ask(SeenMemories([memory.id]))
    return found.near_duplicates


class LinkContract:
    """The fixture `scoped` is a store's part for one agent without a user."""

    @pytest.mark.requirement("MEM-4")
    async def test_near_duplicates_are_linked_both_ways_and_none_is_lost(self, scoped: ScopedStore) -> None:
        """In one commit or in several; `get`, `list` and search say it."""
        one, two, three = a_memory(_STATEMENT), a_memory(_RESTATEMENT), a_memory(f"{_STATEMENT} ")
        other = a_memory("Biscuit likes the beach")
        await scoped.commit(writing(PutMemory(one), PutMemory(two), PutMemory(other)))
        await scoped.commit(writing(PutMemory(three)))
        assert {two.id, three.id} == set(await _near(scoped, one))
        assert {one.id, two.id} == set(await _near(scoped, three))
        assert await _near(scoped, other) == ()
        page: Page = await scoped.ask(ListMemories(ALL, at=_LATER, limit=10))
        assert {memory.id for memory in page.memories} == {one.id, two.id, three.id, other.id}
        assert {memory.id: bool(memory.near_duplicates) for memory in page.memories}[one.id]

    async def test_links_go_with_what_is_forgotten_and_with_a_changed_text(self, scoped: ScopedStore) -> None:
        """And are found again where the new text is near."""
        one, two = a_memory(_STATEMENT), a_memory(_RESTATEMENT)
        await scoped.commit(writing(PutMemory(one), PutMemory(two)))
        changed = a_memory("Biscuit likes the beach", id=two.id)
        await scoped.commit(writing(PutMemory(changed)))
        assert await _near(scoped, one) == ()
        await scoped.commit(writing(PutMemory(two)))
        assert await _near(scoped, one) == (two.id,)
        await scoped.commit(writing(Forget(memory_ids=(two.id,), at=_LATER)))
        assert await _near(scoped, one) == ()

    @pytest.mark.requirement("MEM-4")
    async def test_texts_that_differ_in_a_number_are_a_conflict(self, scoped: ScopedStore) -> None:
        """Open until one of them ends."""
        one, two = a_memory(_BUDGET.format("12,000")), a_memory(_BUDGET.format("15,000"))
        await scoped.commit(writing(PutMemory(one), PutMemory(two)))
        found = await scoped.ask(OpenConflicts(at=_LATER, limit=10))
        assert [(one.reason, {one.older.id, one.newer.id}) for one in found] == [("number", {one.id, two.id})]
        assert await _near(scoped, one) == ()
        await scoped.commit(writing(EndMemory(id=one.id, at=_LATER)))
        assert await scoped.ask(OpenConflicts(at=_LATER, limit=10)) == ()

    async def test_a_conflict_is_recorded_once_read_by_id_and_resolved(self, scoped: ScopedStore) -> None:
        """With both memories; an unknown one is none."""
        one, two = a_memory("Leith", "fact", key="home"), a_memory("Oslo", "fact", key="home")
        put = PutConflict(older=one.id, newer=two.id, reason="same_time", at=NOON)
        await scoped.commit(writing(PutMemory(one), PutMemory(two), put))
        await scoped.commit(writing(put))
        (conflict,) = await scoped.ask(OpenConflicts(at=_LATER, limit=10))
        assert (conflict.older, conflict.newer, conflict.created_at) == (one, two, NOON)
        assert (conflict.reason, conflict.kept, conflict.resolved_at) == ("same_time", None, None)
        await scoped.commit(writing(ResolveConflict(id=conflict.id, kept="both", at=_LATER)))
        assert await scoped.ask(OpenConflicts(at=_LATER, limit=10)) == ()
        closed = await scoped.commit(asking(ConflictById(conflict.id)))
        assert closed is not None
        assert (closed.kept, closed.resolved_at) == ("both", _LATER)
        assert await scoped.commit(asking(ConflictById("none"))) is None
        with pytest.raises(NotFound):
            await scoped.commit(writing(ResolveConflict(id="none", kept="both", at=_LATER)))


# Memories that derive from messages and from other memories.


class DerivationContract:
    """`scoped` is the fixture of `StoreContract`."""

    @pytest.mark.requirement("MEM-3")
    async def test_what_derives_from_a_source_is_found_and_selected_with_it(self, scoped: ScopedStore) -> None:
        """Through other memories too, whatever order they came in; a memory that is replaced derives from its new sources."""
        event, note = an_event("one"), a_memory("note")
        first = a_memory("two", derived_from=(event.id,))
        second = a_memory("three", derived_from=(first.id, note.id))
        await scoped.commit(writing(PutEvent(event), *map(PutMemory, (second, note, first))))

        async def derived(*ids: str) -> list[str]:
            return sorted(memory.id for memory in await scoped.commit(asking(DerivedFrom(ids))))

        assert await derived(event.id) == sorted([first.id, second.id])
        assert await derived(note.id) == [second.id]
        assert (await scoped.ask(SeenMemories([second.id])))[0].derived_from == (first.id, note.id)
        selected = await scoped.commit(asking(Select(ids=(event.id,))))
        assert (set(selected.memory_ids), selected.event_ids) == ({first.id, second.id}, (event.id,))
        await scoped.commit(writing(PutMemory(replace(second, derived_from=(note.id,)))))
        assert await derived(event.id) == [first.id]
        await scoped.commit(writing(Forget(memory_ids=(second.id,), at=LATER)))
        assert await derived(note.id) == []

    @pytest.mark.requirement("MEM-4")
    async def test_what_derives_from_something_that_changed_or_ended_is_stale(self, scoped: ScopedStore) -> None:
        """Through other memories too, since the first time. A change of anything but the text isn't one."""
        source = a_memory("source")
        first = a_memory("first", derived_from=(source.id,))
        second = a_memory("second", derived_from=(first.id,))
        await scoped.commit(writing(*map(PutMemory, (source, first, second))))

        async def stale() -> list[datetime | None]:
            return [memory.stale_since for memory in await scoped.ask(SeenMemories([first.id, second.id]))]

        await scoped.commit(writing(PutMemory(replace(source, pinned=True, updated_at=LATER))))
        assert await stale() == [None, None]
        changes = (
            PutMemory(replace(a_memory("another source", updated_at=LATER), id=source.id)),
            EndMemory(id=source.id, at=LATER),
        )
        for change in changes:
            await scoped.commit(writing(change))
            assert await stale() == [LATER, LATER]
            await scoped.commit(writing(PutMemory(first), PutMemory(second)))
            assert await stale() == [None, None]

    @pytest.mark.requirement("MEM-3")
    async def test_what_was_made_of_something_is_forgotten_with_it_or_stays_with_what_takes_its_place(
        self, scoped: ScopedStore
    ) -> None:
        """Memories and tasks, through others too, whether a plan named them or not. What germane replaces by itself leaves what
        was made of it, which is found with it still."""
        said, kept = an_event("one"), a_memory("kept")
        made = a_memory("made", derived_from=(said.id,))
        again = a_memory("again", derived_from=(made.id,))
        origin = Provenance(refs=(again.id,), metadata={BRANCH: "b"})
        task = new_frame("a copy", session="s", user=scoped.scope.user, at=LATER, provenance=origin)
        await scoped.commit(writing(PutEvent(said), *map(PutMemory, (kept, made, again)), PutFrame(task)))
        await scoped.commit(writing(Forget(memory_ids=(made.id,), replaced=True, at=LATER)))
        await scoped.commit(writing(Forget(memory_ids=(kept.id,), replaced=True, at=LATER)))
        assert [memory.id for memory in await scoped.ask(SeenMemories([kept.id, made.id, again.id]))] == [again.id]
        for source in (made.id, said.id):
            selected = await scoped.commit(asking(Select(ids=(source,))))
            assert (selected.memory_ids, selected.task_ids) == ((again.id,), (task.id,))
        await scoped.commit(writing(Forget(event_ids=(said.id,), at=LATER)))
        assert await scoped.ask(SeenMemories([again.id])) == ()
        assert await scoped.ask(FramesById((task.id,))) == {}
        left = await scoped.commit(asking(LeftOf((said.id, made.id, again.id, task.id))))
        assert left.holding == ()

    async def test_a_memory_never_derives_from_itself(self, scoped: ScopedStore) -> None:
        """Also not through others, whichever is stored first; nothing of such a commit is written."""
        one, two = a_memory("one"), a_memory("two")
        with pytest.raises(InvalidInput, match="itself"):
            await scoped.commit(writing(PutMemory(replace(one, derived_from=(one.id,)))))
        await scoped.commit(writing(PutMemory(replace(one, derived_from=(two.id,)))))
        with pytest.raises(InvalidInput, match="itself"):
            await scoped.commit(writing(PutMemory(replace(two, derived_from=(one.id,)))))
        assert await scoped.ask(SeenMemories([two.id])) == ()

    @pytest.mark.requirement("MEM-3")
    async def test_what_waits_behind_a_memory_takes_its_place_when_the_message_is_forgotten(self, scoped: ScopedStore) -> None:
        """Until when the memory held, and its pin. It goes with the memory where this one is forgotten itself, and where the
        messages of both are."""
        for gone in ("message", "memory", "messages"):
            said = [an_event("It says so", session=gone, position=number) for number in range(3)]
            first = replace(a_memory(f"a fact, {gone}", derived_from=(said[0].id,)), pinned=True, valid_to=LATER)
            waiting = [
                replace(
                    a_memory(first.text, derived_from=(event.id,)),
                    valid_from=first.valid_from + timedelta(minutes=number),
                    valid_to=first.valid_from + timedelta(minutes=number),
                    superseded_by=first.id,
                )
                for number, event in enumerate(said[1:], 1)
            ]
            await scoped.commit(writing(*map(PutEvent, said), *map(PutMemory, (first, *reversed(waiting)))))
            ids = {"message": (said[0].id,), "memory": (first.id,), "messages": tuple(event.id for event in said)}[gone]
            selected = await scoped.commit(asking(Select(ids=ids)))
            await scoped.commit(writing(selected.forgetting(at=LATER, by="me", reason="")))
            left = {memory.id: memory for memory in await scoped.ask(SeenMemories([first.id, *(one.id for one in waiting)]))}
            if gone != "message":
                assert left == {}
                continue
            assert list(selected.memory_ids) == [first.id]
            now, still = left[waiting[0].id], left[waiting[1].id]
            assert (now.valid_to, now.superseded_by, now.pinned) == (LATER, None, True)
            assert (still.valid_to, still.superseded_by) == (still.valid_from, now.id)
            held = await scoped.commit(asking(MemoriesByHash(first.content_hash, waiting[1].valid_from)))
            assert held == (now,)


# The queue for extraction with a language model: leases and parking.


_MINUTES = timedelta(minutes=10)
_LEASES_ENDED = LATER + 2 * _MINUTES


async def _said(store: Store, scope: Scope, count: int = 1, *, session: str = "s1") -> None:
    """The user of the scope says `count` things in a session, after the queue has begun."""
    await store.commit(store_change(BeginQueue()))
    said = [an_event(f"I like tea {place}", session=session, position=place, user=scope.user) for place in range(count)]
    await store.within(scope).commit(writing(*map(PutEvent, said)))


async def _claimed(store: Store, holder: str, *, at: datetime = LATER, within: Scope | None = None) -> Claim | None:
    return await store.commit(lease_next(holder, now=at, until=at + _MINUTES, within=within, eager=True))


async def _one(store: Store, holder: str, *, at: datetime = LATER, within: Scope | None = None) -> Claim:
    claim = await _claimed(store, holder, at=at, within=within)
    assert claim is not None
    return claim


@pytest.mark.requirement("MEM-7")
class QueueContract:
    """`store` is the fixture of `StoreContract`."""

    async def test_one_holder_at_a_time_reads_a_session(self, store: Store) -> None:
        """Until its lease ends; another session isn't kept waiting."""
        await _said(store, ANNA, 30)
        claim = await _one(store, "a")
        assert (claim.first, len(claim.turns) < 30, claim.scope.user) == (0, True, "anna")
        assert await _claimed(store, "b") is None
        await _said(store, BEN)
        assert (await _one(store, "b")).scope.user == "ben"
        assert (await _one(store, "b", at=_LEASES_ENDED, within=ANNA)).first == 0

    async def test_a_lost_lease_stores_releases_and_ends_nothing(self, store: Store) -> None:
        """The later holder's claim isn't touched by the earlier one's answer, failure or end."""
        await _said(store, ANNA)
        lost = await _one(store, "a")
        held = await _one(store, "b", at=_LEASES_ENDED)
        anna = store.within(ANNA)
        late = replace(a_memory("late", user="anna"), derived_from=(lost.turns[0].id,))
        assert await anna.commit(store_accepted(lost, Accepted((late,)))) is None
        await store.commit(store_change(ReleaseClaim(claim=lost, reason="late", retry_at=None)))
        await store.commit(store_change(ReleaseClaims("a")))
        assert await _claimed(store, "c", at=_LEASES_ENDED) is None
        assert (await store.ask(QueueState(0))).parked == 0
        assert await anna.commit(store_accepted(held, Accepted())) == StoredAnswer()
        assert await _claimed(store, "c", at=_LEASES_ENDED + _MINUTES) is None

    async def test_a_claim_is_of_its_own_scope(self, store: Store) -> None:
        """Another user's plan can't end it, nor store anything for it."""
        await _said(store, ANNA)
        claim = await _one(store, "a")
        await store.within(BEN).commit(writing(PutEvent(an_event(user="ben"))))
        assert await store.within(BEN).commit(store_accepted(claim, Accepted((a_memory("x", user="ben"),)))) is None
        assert await store.within(ANNA).commit(store_accepted(claim, Accepted())) == StoredAnswer()

    async def test_who_ends_gives_all_leases_back(self, store: Store) -> None:
        """At once, and no try has failed."""
        for scope in (ANNA, BEN):
            await _said(store, scope)
            await _one(store, "a", within=scope)
        await store.commit(store_change(ReleaseClaims("a")))
        for scope in (ANNA, BEN):
            assert (await _one(store, "b", within=scope)).tries == 0

    async def test_only_failures_of_a_run_count_as_tries(self, store: Store) -> None:
        """Those of the endpoint don't; a failed run waits for its time, also where somebody is eager."""
        await _said(store, ANNA)
        for failed, tries in ((False, 0), (False, 0), (True, 1)):
            claim = await _one(store, "a")
            await store.commit(store_change(ReleaseClaim(claim=claim, reason="why", retry_at=LATER, failed=failed)))
            assert (await _one(store, "a")).tries == tries
            await store.commit(store_change(ReleaseClaims("a")))
        claim = await _one(store, "a")
        await store.commit(store_change(ReleaseClaim(claim=claim, reason="why", retry_at=_LEASES_ENDED)))
        assert await _claimed(store, "a") is None
        assert (await _one(store, "a", at=_LEASES_ENDED)).tries == 2

    async def test_a_parked_run_lets_what_follows_go_on_and_is_resumed_by_its_scope(self, store: Store) -> None:
        """With fresh tries; another user's stays parked, with its reason."""
        for scope in (ANNA, BEN):
            await _said(store, scope, 30)
            claim = await _one(store, "a", within=scope)
            await store.commit(store_change(ReleaseClaim(claim=claim, reason=f"of {scope.user}", retry_at=LATER)))
            claim = await _one(store, "a", within=scope)
            await store.commit(store_change(ReleaseClaim(claim=claim, reason=f"of {scope.user}", retry_at=None)))
            rest = await _one(store, "a", within=scope)
            assert (rest.first, rest.tries) == (claim.stop, 0)
            assert await store.within(scope).commit(store_accepted(rest, Accepted())) == StoredAnswer()
        report = await store.ask(QueueState(0))
        assert (report.parked, report.waiting, report.reasons) == (2, 0, (("of anna", 1), ("of ben", 1)))
        await store.commit(store_change(ResumeQueue(ANNA)))
        report = await store.ask(QueueState(0))
        assert (report.parked, report.waiting, report.reasons) == (1, 1, (("of ben", 1),))
        again = await _one(store, "a")
        assert (again.first, again.tries, again.scope.user) == (0, 0, "anna")
        assert await store.within(ANNA).commit(store_accepted(again, Accepted())) == StoredAnswer()
        assert await _claimed(store, "a", at=_LEASES_ENDED) is None

    async def test_what_follows_a_run_that_failed_before_has_all_its_tries(self, store: Store) -> None:
        """The count of tries belongs to the messages of the run."""
        await _said(store, ANNA, 30)
        await store.commit(store_change(ReleaseClaim(claim=await _one(store, "a"), reason="why", retry_at=LATER)))
        tried = await _one(store, "a")
        assert tried.tries == 1
        assert await store.within(ANNA).commit(store_accepted(tried, Accepted())) == StoredAnswer()
        rest = await _one(store, "a")
        assert (rest.first, rest.tries) == (tried.stop, 0)
