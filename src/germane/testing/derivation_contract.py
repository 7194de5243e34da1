"""Derivation contract: the tests of `StoreContract` about memories that derive from messages and from other memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from germane.errors import InvalidInput
from germane.events.operations import PutEvent
from germane.memories.operations import DerivedFrom, EndMemory, Forget, PutMemory, Select
from germane.store import ScopedStore
from germane.testing.scope_contract import LATER
from germane.testing.stored import a_memory, an_event, asking, writing

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
    async def test_what_derives_from_something_that_changed_ended_or_went_is_stale(self, scoped: ScopedStore) -> None:
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
            Forget(memory_ids=(source.id,), at=LATER),
        )
        for change in changes:
            await scoped.journal.commit(writing(change))
            assert await stale() == [LATER, LATER]
            if not isinstance(change, Forget):
                await scoped.journal.commit(writing(PutMemory(first), PutMemory(second)))
                assert await stale() == [None, None]

    async def test_a_memory_never_derives_from_itself(self, scoped: ScopedStore) -> None:
        """Also not through others, whichever is stored first; nothing of such a commit is written."""
        one, two = a_memory("one"), a_memory("two")
        with pytest.raises(InvalidInput, match="itself"):
            await scoped.journal.commit(writing(PutMemory(replace(one, derived_from=(one.id,)))))
        await scoped.journal.commit(writing(PutMemory(replace(one, derived_from=(two.id,)))))
        with pytest.raises(InvalidInput, match="itself"):
            await scoped.journal.commit(writing(PutMemory(replace(two, derived_from=(one.id,)))))
        assert await scoped.memories.get([two.id]) == ()
