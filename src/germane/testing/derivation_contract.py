"""Derivation contract: the tests of `StoreContract` about memories that derive from messages and from other memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from germane.errors import InvalidInput
from germane.events.operations import PutEvent
from germane.memories.operations import DerivedFrom, EndMemory, Forget, LeftOf, MemoriesByHash, PutMemory, Select
from germane.store import ScopedStore
from germane.tasks.frame import BRANCH
from germane.tasks.new_frame import new_frame
from germane.tasks.operations import PutFrame
from germane.testing.scope_contract import LATER
from germane.testing.stored import a_memory, an_event, asking, writing
from germane.types.candidate import Provenance

__all__ = ["DerivationContract"]


class DerivationContract:
    """`scoped` is the fixture of `StoreContract`."""

    @pytest.mark.requirement("MEM-3")
    async def test_what_derives_from_a_source_is_found_and_selected_with_it(self, scoped: ScopedStore) -> None:
        """Through other memories too, whatever order they came in; a memory that is replaced derives from its new sources."""
        event, note = an_event("one"), a_memory("note")
        first = a_memory("two", derived_from=(event.id,))
        second = a_memory("three", derived_from=(first.id, note.id))
        await scoped.journal.commit(writing(PutEvent(event), *map(PutMemory, (second, note, first))))

        async def derived(*ids: str) -> list[str]:
            return sorted(memory.id for memory in await scoped.journal.commit(asking(DerivedFrom(ids))))

        assert await derived(event.id) == sorted([first.id, second.id])
        assert await derived(note.id) == [second.id]
        assert (await scoped.memories.get([second.id]))[0].derived_from == (first.id, note.id)
        selected = await scoped.journal.commit(asking(Select(ids=(event.id,))))
        assert (set(selected.memory_ids), selected.event_ids) == ({first.id, second.id}, (event.id,))
        await scoped.journal.commit(writing(PutMemory(replace(second, derived_from=(note.id,)))))
        assert await derived(event.id) == [first.id]
        await scoped.journal.commit(writing(Forget(memory_ids=(second.id,), at=LATER)))
        assert await derived(note.id) == []

    @pytest.mark.requirement("MEM-4")
    async def test_what_derives_from_something_that_changed_or_ended_is_stale(self, scoped: ScopedStore) -> None:
        """Through other memories too, since the first time. A change of anything but the text isn't one."""
        source = a_memory("source")
        first = a_memory("first", derived_from=(source.id,))
        second = a_memory("second", derived_from=(first.id,))
        await scoped.journal.commit(writing(*map(PutMemory, (source, first, second))))

        async def stale() -> list[datetime | None]:
            return [memory.stale_since for memory in await scoped.memories.get([first.id, second.id])]

        await scoped.journal.commit(writing(PutMemory(replace(source, pinned=True, updated_at=LATER))))
        assert await stale() == [None, None]
        changes = (
            PutMemory(replace(a_memory("another source", updated_at=LATER), id=source.id)),
            EndMemory(id=source.id, at=LATER),
        )
        for change in changes:
            await scoped.journal.commit(writing(change))
            assert await stale() == [LATER, LATER]
            await scoped.journal.commit(writing(PutMemory(first), PutMemory(second)))
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
        await scoped.journal.commit(writing(PutEvent(said), *map(PutMemory, (kept, made, again)), PutFrame(task)))
        await scoped.journal.commit(writing(Forget(memory_ids=(made.id,), replaced=True, at=LATER)))
        await scoped.journal.commit(writing(Forget(memory_ids=(kept.id,), replaced=True, at=LATER)))
        assert [memory.id for memory in await scoped.memories.get([kept.id, made.id, again.id])] == [again.id]
        for source in (made.id, said.id):
            selected = await scoped.journal.commit(asking(Select(ids=(source,))))
            assert (selected.memory_ids, selected.task_ids) == ((again.id,), (task.id,))
        await scoped.journal.commit(writing(Forget(event_ids=(said.id,), at=LATER)))
        assert await scoped.memories.get([again.id]) == ()
        assert await scoped.tasks.frames([task.id]) == ()
        left = await scoped.journal.commit(asking(LeftOf((said.id, made.id, again.id, task.id))))
        assert left.holding == ()

    async def test_a_memory_never_derives_from_itself(self, scoped: ScopedStore) -> None:
        """Also not through others, whichever is stored first; nothing of such a commit is written."""
        one, two = a_memory("one"), a_memory("two")
        with pytest.raises(InvalidInput, match="itself"):
            await scoped.journal.commit(writing(PutMemory(replace(one, derived_from=(one.id,)))))
        await scoped.journal.commit(writing(PutMemory(replace(one, derived_from=(two.id,)))))
        with pytest.raises(InvalidInput, match="itself"):
            await scoped.journal.commit(writing(PutMemory(replace(two, derived_from=(one.id,)))))
        assert await scoped.memories.get([two.id]) == ()

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
            await scoped.journal.commit(writing(*map(PutEvent, said), *map(PutMemory, (first, *reversed(waiting)))))
            ids = {"message": (said[0].id,), "memory": (first.id,), "messages": tuple(event.id for event in said)}[gone]
            selected = await scoped.journal.commit(asking(Select(ids=ids)))
            await scoped.journal.commit(writing(selected.forgetting(at=LATER, by="me", reason="")))
            left = {memory.id: memory for memory in await scoped.memories.get([first.id, *(one.id for one in waiting)])}
            if gone != "message":
                assert left == {}
                continue
            assert list(selected.memory_ids) == [first.id]
            now, still = left[waiting[0].id], left[waiting[1].id]
            assert (now.valid_to, now.superseded_by, now.pinned) == (LATER, None, True)
            assert (still.valid_to, still.superseded_by) == (still.valid_from, now.id)
            held = await scoped.journal.commit(asking(MemoriesByHash(first.content_hash, waiting[1].valid_from)))
            assert held == (now,)
