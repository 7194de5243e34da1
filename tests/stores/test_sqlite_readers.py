"""Readers: which read runs on which thread, and which waits for which."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from germane.clock import Clock
from germane.errors import StoreUnavailable
from germane.stores.sqlite.database import SqliteDatabase
from germane.stores.sqlite.readers import SqliteReaders, SqliteReading


@pytest.fixture
async def readers(tmp_path: Path) -> AsyncIterator[SqliteReaders]:
    writing, database = SqliteDatabase.at(tmp_path / "a.db").open(Clock())
    assert writing is not None
    found = SqliteReaders(database, 1)
    yield found
    found.stop()
    await asyncio.to_thread(found.join)
    writing.close()


def place(reading: SqliteReading) -> tuple[int, bool]:
    return threading.get_ident(), reading.connection.in_transaction


async def test_small_reads_of_one_turn_go_together(readers: SqliteReaders) -> None:
    """In order, on one thread, within one snapshot."""
    order: list[int] = []

    def noting(number: int) -> Callable[[SqliteReading], tuple[int, bool]]:
        def work(reading: SqliteReading) -> tuple[int, bool]:
            order.append(number)
            return place(reading)

        return work

    seen = await asyncio.gather(*(readers.read_batched(noting(number)) for number in range(5)))
    assert len(set(seen)) == 1
    assert seen[0][0] != threading.get_ident()
    assert seen[0][1]
    assert order == [0, 1, 2, 3, 4]


async def test_one_that_fails_fails_alone(readers: SqliteReaders) -> None:
    def broken(reading: SqliteReading) -> None:
        raise KeyError("broken")

    found = await asyncio.gather(
        readers.read_batched(place), readers.read_batched(broken), readers.read_batched(place), return_exceptions=True
    )
    assert isinstance(found[1], KeyError)
    assert found[0] == found[2]


async def test_one_nobody_waits_for_any_more_is_not_done(readers: SqliteReaders) -> None:
    done: list[str] = []
    gone = asyncio.ensure_future(readers.read_batched(lambda _: done.append("gone")))
    stays = asyncio.ensure_future(readers.read_batched(lambda _: done.append("stays")))
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.wait([gone, stays])
    assert done in (["stays"], ["gone", "stays"])
    assert gone.cancelled()


async def test_a_long_search_holds_up_no_glance(readers: SqliteReaders) -> None:
    """Only another search waits for it."""
    glanced = threading.Event()
    search = asyncio.ensure_future(readers.search(lambda _: glanced.wait(10)))
    await readers.read_batched(place)
    await readers.run(place)
    glanced.set()
    assert await search


async def test_whoever_asks_after_the_end_is_told(readers: SqliteReaders) -> None:
    readers.stop()
    asked = (readers.read_batched(place), readers.read_batched(place), readers.run(place), readers.search(place))
    for error in await asyncio.gather(*asked, return_exceptions=True):
        assert isinstance(error, StoreUnavailable)
