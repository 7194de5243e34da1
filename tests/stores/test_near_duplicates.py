"""Near-duplicates in memory: whose signatures stay, and that they are found again after they went."""

from __future__ import annotations

import pytest

from germane.clock import Clock
from germane.kinds.memories.reads import ForgetOwner, ListMemories, PutMemory
from germane.stores.sql.search import near_duplicates
from germane.stores.sqlite import SqliteStore
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, writing

_SAID = " ".join(f"word{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")
pytestmark = pytest.mark.requirement("MEM-4")


async def remembered(store: SqliteStore, user: str, text: str) -> None:
    await store.within(Scope(user=user)).commit(writing(PutMemory(a_memory(text, user=user))))


def counted(store: SqliteStore) -> int:
    held = store._near._known
    signatures = [len(known.committed) for key in held if (known := held.get(key))]
    assert held.size == sum(near_duplicates._OBJECTS + rows for rows in signatures)
    return held.size


async def test_signatures_stay_within_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least recently used go, and a user without many memories counts, too; what they said is still compared with."""
    monkeypatch.setattr(near_duplicates, "_MAX_ROWS", 250)
    store = SqliteStore.open(":memory:", embedder=Hashed(), clock=Clock())
    for turn in ("tea", "milk", "jam"):
        for user in ("anna", "ben", "cleo"):
            await remembered(store, user, f"{_SAID} {turn}")
            assert counted(store) <= 250
    assert len(store._near._known) == 2
    found = await store.within(Scope(user="anna")).ask(ListMemories(Filters(), at=NOON, limit=10))
    assert all(memory.near_duplicates for memory in found.memories)
    await store.close()


async def test_a_forgotten_user_counts_no_more() -> None:
    """Nor does anybody after a change of the embedder."""
    store = SqliteStore.open(":memory:", embedder=Hashed(), clock=Clock())
    for user in ("anna", "ben"):
        await remembered(store, user, "one")
        await remembered(store, user, "two")
    before = counted(store)
    await store.within(Scope(user="anna")).commit(writing(ForgetOwner(at=NOON)))
    assert 0 < counted(store) < before
    store._near.reset(8, 2)
    assert counted(store) == 0
    await store.close()
