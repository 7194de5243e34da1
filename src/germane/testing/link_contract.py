"""Link contract: the tests of `StoreContract` about near-duplicates and conflicts between memories."""

from __future__ import annotations

from datetime import timedelta

import pytest

from germane.errors import NotFound
from germane.memories.memory import Memory
from germane.memories.operations import ConflictById, EndMemory, Forget, PutConflict, PutMemory, ResolveConflict
from germane.memories.reader import Page
from germane.store import ScopedStore
from germane.testing.scope_contract import ALL
from germane.testing.stored import NOON, a_memory, asking, writing

__all__ = ["LinkContract"]

_LATER = NOON + timedelta(hours=1)
_SAID = "The staging database is reset every night by the platform team"
_AGAIN = "Every night the staging database is reset by the platform team"
_BUDGET = (
    "The budget for the new kitchen in the old house near the harbour that was sold in spring after long talks is {} euros"
)


async def _near(scoped: ScopedStore, memory: Memory) -> tuple[str, ...]:
    (found,) = await scoped.memories.get([memory.id])
    return found.near_duplicates


class LinkContract:
    """The fixture `scoped` is a store's part for one agent without a user."""

    @pytest.mark.requirement("MEM-4")
    async def test_near_duplicates_are_linked_both_ways_and_none_is_lost(self, scoped: ScopedStore) -> None:
        """In one commit or in several; `get`, `list` and search say it."""
        one, two, three = a_memory(_SAID), a_memory(_AGAIN), a_memory(f"{_SAID} ")
        other = a_memory("Biscuit likes the beach")
        await scoped.journal.commit(writing(PutMemory(one), PutMemory(two), PutMemory(other)))
        await scoped.journal.commit(writing(PutMemory(three)))
        assert {two.id, three.id} == set(await _near(scoped, one))
        assert {one.id, two.id} == set(await _near(scoped, three))
        assert await _near(scoped, other) == ()
        page: Page = await scoped.memories.list(ALL, at=_LATER, limit=10)
        assert {memory.id for memory in page.memories} == {one.id, two.id, three.id, other.id}
        assert {memory.id: bool(memory.near_duplicates) for memory in page.memories}[one.id]

    async def test_links_go_with_what_is_forgotten_and_with_a_changed_text(self, scoped: ScopedStore) -> None:
        """And are found again where the new text is near."""
        one, two = a_memory(_SAID), a_memory(_AGAIN)
        await scoped.journal.commit(writing(PutMemory(one), PutMemory(two)))
        changed = a_memory("Biscuit likes the beach", id=two.id)
        await scoped.journal.commit(writing(PutMemory(changed)))
        assert await _near(scoped, one) == ()
        await scoped.journal.commit(writing(PutMemory(two)))
        assert await _near(scoped, one) == (two.id,)
        await scoped.journal.commit(writing(Forget(memory_ids=(two.id,), at=_LATER)))
        assert await _near(scoped, one) == ()

    @pytest.mark.requirement("MEM-4")
    async def test_texts_that_differ_in_a_number_are_a_conflict(self, scoped: ScopedStore) -> None:
        """Open until one of them ends."""
        one, two = a_memory(_BUDGET.format("12,000")), a_memory(_BUDGET.format("15,000"))
        await scoped.journal.commit(writing(PutMemory(one), PutMemory(two)))
        found = await scoped.memories.conflicts(at=_LATER, limit=10)
        assert [(one.reason, {one.older.id, one.newer.id}) for one in found] == [("number", {one.id, two.id})]
        assert await _near(scoped, one) == ()
        await scoped.journal.commit(writing(EndMemory(id=one.id, at=_LATER)))
        assert await scoped.memories.conflicts(at=_LATER, limit=10) == ()

    async def test_a_conflict_is_recorded_once_read_by_id_and_resolved(self, scoped: ScopedStore) -> None:
        """With both memories; an unknown one is none."""
        one, two = a_memory("Leith", "fact", key="home"), a_memory("Oslo", "fact", key="home")
        put = PutConflict(older=one.id, newer=two.id, reason="same_time", at=NOON)
        await scoped.journal.commit(writing(PutMemory(one), PutMemory(two), put))
        await scoped.journal.commit(writing(put))
        (conflict,) = await scoped.memories.conflicts(at=_LATER, limit=10)
        assert (conflict.older, conflict.newer, conflict.created_at) == (one, two, NOON)
        assert (conflict.reason, conflict.kept, conflict.resolved_at) == ("same_time", None, None)
        await scoped.journal.commit(writing(ResolveConflict(id=conflict.id, kept="both", at=_LATER)))
        assert await scoped.memories.conflicts(at=_LATER, limit=10) == ()
        closed = await scoped.journal.commit(asking(ConflictById(conflict.id)))
        assert closed is not None
        assert (closed.kept, closed.resolved_at) == ("both", _LATER)
        assert await scoped.journal.commit(asking(ConflictById("none"))) is None
        with pytest.raises(NotFound):
            await scoped.journal.commit(writing(ResolveConflict(id="none", kept="both", at=_LATER)))
