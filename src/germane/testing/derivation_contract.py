"""Derivation contract: the tests of `StoreContract` about memories that derive from messages and from other memories."""

from __future__ import annotations

from dataclasses import replace

import pytest

from germane.events.operations import PutEvent
from germane.memories.operations import DerivedFrom, Forget, PutMemory, Select
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
