"""Consolidation kills: a process that ends at any step of a consolidation loses nothing, and the next run goes on.

Before each step that changes a file the files are copied, as in `test_sqlite_kills.py`.
"""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from bench.disk import Disk

from germane.api.verbs import consolidate
from germane.api.verbs.consolidate import Consolidating
from germane.clock import Clock
from germane.kinds.memories.consolidation import StorageBudget
from germane.kinds.memories.reads import ListMemories, PutMemory
from germane.kinds.memories.value import Memory
from germane.ports.background import Background
from germane.stores.sqlite import SqliteStore
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, writing
from support.examples import whole

EVERYTHING = Filters(sensitivities=("public", "private", "sensitive"), with_ended=True)
BUDGET = StorageBudget(max_memories=20)


def opened(folder: Path, disk: Disk) -> SqliteStore:
    return SqliteStore.open(folder / "a.db", embedder=Hashed(), clock=Clock(), vfs=disk.name)


async def memories(store: SqliteStore) -> dict[str, Memory]:
    page = await store.within(Scope()).ask(ListMemories(EVERYTHING, at=NOON, limit=1000))
    return {memory.id: memory for memory in page.memories}


async def consolidated(store: SqliteStore) -> None:
    background = Background(lambda: False)
    try:
        await Consolidating(store.within(Scope()), now=lambda: NOON, background=background, progress=None).run(
            BUDGET, dry_run=False, by=""
        )
    finally:
        background.close()


@pytest.mark.soak
@pytest.mark.requirement("MEM-6")
async def test_a_kill_at_any_step_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each episode is there itself or named by exactly one note; a merged memory is there, or what it was merged into.
    Every fifth step is looked at; in the soak, every second."""
    monkeypatch.setattr(consolidate, "_MAX_GROUPS", 1)
    disk, live, copies = Disk("consolidation"), tmp_path / "live", list[Path]()
    live.mkdir()
    try:
        store = opened(live, disk)
        made = [
            a_memory(f"walked {day} miles to place {day * 7}", "episode", created_at=NOON - timedelta(days=900 - day))
            for day in range(50)
        ]
        twins = [a_memory("the same note", "note", content_hash=7) for _ in range(2)]
        await store.within(Scope()).commit(writing(*map(PutMemory, (*made, *twins))))

        def film(_: int) -> None:
            copies.append(tmp_path / str(len(copies)))
            shutil.copytree(live, copies[-1], ignore=shutil.ignore_patterns("*-reserve", ".germane-*"))

        disk.before = film
        await consolidated(store)
        disk.before = lambda growth: None
        assert len(await memories(store)) <= 20
        await store.close()
        assert len(copies) >= 20
        seen = set[tuple[int, int]]()
        for copy in copies[:: 2 if whole() else 5]:
            again = opened(copy, disk)
            left = await memories(again)
            noted = [id for memory in left.values() for id in memory.provenance.refs]
            assert len(noted) == len(set(noted))
            assert {memory.id for memory in made} == ({memory.id for memory in made} & left.keys()) | set(noted), copy.name
            assert not left.keys() & set(noted)
            assert any(twin.id in left for twin in twins)
            seen.add((len(left), len(noted)))
            await consolidated(again)
            assert len(await memories(again)) <= 20
            assert (await again.check()).healthy
            await again.close()
        assert len(seen) >= 3, "no copy shows a consolidation in its middle"
    finally:
        disk.unregister()
