"""A dump of the embedded store: its snapshot holds nothing back for longer than it must."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

import germane.stores.sql.dump as module
from germane.clock import Clock
from germane.errors import StoreUnavailable
from germane.kinds.events.reads import PutEvent
from germane.stores.sqlite import SqliteStore
from germane.transfer.contents import Reach
from germane.types.scope import Scope
from germane_testing.builders import Hashed, an_event, writing


async def filled(path: str | Path) -> SqliteStore:
    store = SqliteStore.open(path, embedder=Hashed(), clock=Clock())
    events = [an_event(f"turn {n}", position=n) for n in range(700)]
    await store.within(Scope()).commit(writing(*map(PutEvent, events)))
    return store


async def test_a_reader_that_doesnt_read_on_loses_its_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a client that stalls would keep what others forget in the files."""
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    store = await filled(tmp_path / "a.db")
    portions = cast("Any", store.dump(Reach()))
    await anext(portions)
    for _ in range(3):
        await asyncio.sleep(0)
    with pytest.raises(StoreUnavailable, match="waited too long for its reader"):
        await anext(portions)
    assert await store.within(Scope()).scrub() == ""
    await store.close()


async def test_a_slow_dump_of_a_store_in_memory_blocks_no_write() -> None:
    """It reads a copy: a store in memory has no log in which writes could wait."""
    store = await filled(":memory:")
    portions = cast("Any", store.dump(Reach()))
    await anext(portions)
    await store.within(Scope()).commit(writing(PutEvent(an_event("more", position=700))))
    await portions.aclose()
    await store.close()


async def test_a_closed_store_gives_no_dump(tmp_path: Path) -> None:
    """Whoever kept a handle learns it at the first step."""
    store = await filled(tmp_path / "a.db")
    await store.close()
    with pytest.raises(StoreUnavailable):
        await anext(cast("Any", store.dump(Reach())))
