"""A full disk: whatever else it refuses, it refuses no forgetting."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from bench.disk import Disk, full_at

from germane.clock import Clock
from germane.errors import StoreUnavailable
from germane.kinds.events.reads import PutEvent
from germane.kinds.memories.reads import Forget, PutMemory
from germane.stores.sqlite import SqliteStore
from germane.stores.sqlite.database import ROOM, Reserve
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, an_event, writing

pytestmark = pytest.mark.requirement("MEM-3")


@pytest.fixture
def disk() -> Iterator[Disk]:
    made = Disk("limited")
    yield made
    made.unregister()


def opened(folder: Path, disk: Disk) -> SqliteStore:
    return SqliteStore.open(folder / "a.db", embedder=Hashed(), clock=Clock(), vfs=disk.name)


def held(folder: Path, text: bytes) -> bool:
    return any(text in path.read_bytes() for path in folder.iterdir())


def used(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if not path.name.endswith("-shm"))


async def filled(store: SqliteStore, words: int) -> None:
    """Until nothing goes in any more, however small."""
    scoped = store.within(Scope())
    for number in count():
        try:
            await scoped.commit(writing(PutEvent(an_event(f"{number} " + "more " * words, position=number))))
        except StoreUnavailable as error:
            if "disk is full" not in str(error):
                raise
            if words == 1:
                return
            words = max(1, words // 8)


@pytest.mark.parametrize("words", [20, 30_000])
@pytest.mark.parametrize("again", [False, True], ids=["while it runs", "opened again"])
async def test_a_full_disk_refuses_no_forgetting(tmp_path: Path, disk: Disk, words: int, again: bool) -> None:
    """Filled until nothing goes in any more, it forgets, and the text is gone from every file."""
    store = opened(tmp_path, disk)
    scoped = store.within(Scope())
    long, short = a_memory("canary of length " * 3000), a_memory("canary, short")
    await scoped.commit(writing(PutMemory(long), PutMemory(short)))
    disk.before = full_at(tmp_path, 6 << 20)
    await filled(store, words)
    if again:
        await store.close()
        (tmp_path / "ballast").write_bytes(bytes(max(0, (6 << 20) - used(tmp_path))))
        store = opened(tmp_path, disk)
        scoped = store.within(Scope())
    await scoped.commit(writing(Forget(memory_ids=(long.id, short.id), at=NOON)))
    assert await scoped.scrub() == ""
    assert not held(tmp_path, b"canary")
    assert {what for what, _, fine in (await store.check()).findings if not fine} <= {"vectors"}  # of parts, made afterwards
    await store.close()


async def test_what_is_no_forgetting_never_gets_the_room_that_is_kept(tmp_path: Path, disk: Disk) -> None:
    """Nor does a plan that writes something besides."""
    store = opened(tmp_path, disk)
    scoped, memory = store.within(Scope()), a_memory("canary")
    await scoped.commit(writing(PutMemory(memory)))
    disk.before = full_at(tmp_path, 3 << 20)
    await filled(store, 20)
    gone = Forget(memory_ids=(memory.id,), at=NOON)
    for plan in (writing(PutMemory(a_memory("x " * 90_000))), writing(gone, PutMemory(a_memory("x " * 90_000)))):
        with pytest.raises(StoreUnavailable, match="disk is full"):
            await scoped.commit(plan)
    assert (tmp_path / "a.db-reserve").stat().st_size == ROOM
    await store.close()


def test_the_room_is_kept_again_and_given_once(tmp_path: Path) -> None:
    """Where there is none, that is no error."""
    reserve = Reserve(tmp_path / "a.db")
    assert [reserve.keep(), reserve.keep(), reserve.release(), reserve.release()] == [True, True, True, False]
    assert not Reserve(tmp_path / "missing" / "a.db").keep()
    assert not Reserve(None).keep()
