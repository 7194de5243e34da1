"""Transfer contract: the tests of `StoreContract` about exports of a store, and restoring what was exported."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

import pytest

from germane.errors import InvalidInput, StoreUnavailable
from germane.kinds.events.reads import (
    EventsById,
    PutEvent,
    ReservePositions,
    SessionLength,
)
from germane.kinds.memories.conflicts import ContradictionRecord
from germane.kinds.memories.directive import CurrentDirective, Directive, SetDirective
from germane.kinds.memories.reads import (
    ConflictsBetween,
    Forget,
    ForgetOwner,
    IdsInUse,
    IdUse,
    PutMemory,
    PutTombstones,
    RecordedConflicts,
    RestoreConflict,
    Select,
)
from germane.stores.contract import Store
from germane.transfer.contents import Contents, Owned, Owner, Reach, SessionRecord, StoredDirective
from germane.types.inventory import Tombstone
from germane.types.plan import Read
from germane.types.scope import Scope
from germane_testing.builders import NOON, a_memory, an_event, asking, writing
from germane_testing.scope_contract import AGENT, ANNA, BEN, LATER

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
