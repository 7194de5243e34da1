"""The file: what is refused, what can still be read, what is said when the disk fails."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from germane.clock import Clock
from germane.errors import InvalidInput, StoreCorrupt, StoreTooNew, StoreUnavailable
from germane.kinds.keys.reads import NonceKey
from germane.kinds.memories.reads import ListMemories, PutMemory, SeenMemories
from germane.stores.sql.statements import rows
from germane.stores.sqlite import SqliteStore
from germane.stores.sqlite.database import APPLICATION, SqliteDatabase, migrations
from germane.types.query import Filters
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, writing


def opened(path: Path | str, **settings: Any) -> SqliteStore:
    return SqliteStore.open(path, embedder=Hashed(), clock=Clock(), **settings)


async def filled(path: Path) -> str:
    """The id of the one memory in a store that is closed again."""
    store, memory = opened(path), a_memory()
    await store.within(Scope()).commit(writing(PutMemory(memory)))
    await store.close()
    return memory.id


def files_of(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class Failing(apsw.VFS):
    """SQLite's file layer, with `fault` raised by writes (or by opening to write) once it is set."""

    def __init__(self, name: str, fault: type[apsw.Error], *, at_open: bool = False) -> None:
        self.fault: type[apsw.Error] | None = None
        self.kind, self.at_open = fault, at_open
        super().__init__(name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
        if self.fault and self.at_open and not flags[0] & apsw.SQLITE_OPEN_READONLY:
            raise apsw.CantOpenError
        return _File(self, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, vfs: Failing, name: Any, flags: list[int]) -> None:
        self.vfs = vfs
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        if self.vfs.fault:
            raise self.vfs.fault
        super().xWrite(data, offset)


@pytest.fixture
def full() -> Iterator[Failing]:
    vfs = Failing("full-disk", apsw.FullError)
    yield vfs
    vfs.unregister()


@pytest.fixture
def locked() -> Iterator[Failing]:
    vfs = Failing("locked-disk", apsw.ReadOnlyError, at_open=True)
    yield vfs
    vfs.unregister()


async def test_a_file_of_a_newer_germane_is_refused(tmp_path: Path) -> None:
    """The message says what to do, and the file stays as it was."""
    path = tmp_path / "a.db"
    await filled(path)
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA user_version = {len(migrations()) + 1}")
    connection.close()
    with pytest.raises(StoreTooNew, match="upgrade germane"):
        opened(path)


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100])
def test_a_file_that_isnt_a_store_is_refused_or_made_one(tmp_path: Path, content: bytes) -> None:
    """An empty file becomes a store; anything else is left alone."""
    path = tmp_path / "a.db"
    path.write_bytes(content)
    if content:
        with pytest.raises(StoreCorrupt, match="restore a backup"):
            opened(path)
        assert path.read_bytes() == content
    else:
        asyncio.run(opened(path).close())


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    """An SQLite file with tables that aren't germane's isn't touched."""
    path = tmp_path / "a.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="not a germane store"):
        opened(path)
    assert path.read_bytes() == before


async def test_a_damaged_page_is_an_error_of_the_store(tmp_path: Path) -> None:
    """What reads it raises `StoreCorrupt`, and the check-up finds it."""
    path = tmp_path / "a.db"
    id = await filled(path)
    content = bytearray(path.read_bytes())
    connection = apsw.Connection(str(path))
    size = int(str(connection.pragma("page_size")))
    roots = list(rows(connection, "SELECT rootpage FROM sqlite_schema WHERE name IN ('memories', 'memories_id')"))
    connection.close()
    for (root,) in roots:
        content[(root - 1) * size : root * size] = b"\xff" * size
    path.write_bytes(content)
    store = opened(path)
    with pytest.raises(StoreCorrupt):
        await store.within(Scope()).ask(SeenMemories([id]))
    await store.close()


@pytest.mark.parametrize("name", ["missing/a.db", "."])
def test_a_place_where_no_file_can_be_is_named(tmp_path: Path, name: str) -> None:
    """A missing directory, or a directory."""
    with pytest.raises(StoreUnavailable, match="directory"):
        opened(tmp_path / name)


async def test_a_store_that_cant_be_written_can_be_read(tmp_path: Path, locked: Failing) -> None:
    """Reads work, writes say that it is read-only, and so does the check-up."""
    path = tmp_path / "a.db"
    id = await filled(path)
    locked.fault = locked.kind
    store = opened(path, vfs="locked-disk")
    scoped = store.within(Scope())
    assert store.read_only
    assert [memory.id for memory in await scoped.ask(SeenMemories([id]))] == [id]
    with pytest.raises(StoreUnavailable, match="read-only"):
        await scoped.commit(writing(PutMemory(a_memory())))
    assert ("access", "read-only", False) in (await store.check()).findings
    await store.close()


async def test_a_full_disk_fails_the_write_and_nothing_else(tmp_path: Path, full: Failing) -> None:
    """The caller is told, what was there stays readable, and writing goes on once there is room."""
    store = opened(tmp_path / "a.db", vfs="full-disk")
    scoped = store.within(Scope())
    kept, lost = a_memory("kept"), a_memory("lost " * 9000)
    await scoped.commit(writing(PutMemory(kept)))
    full.fault = full.kind
    with pytest.raises(StoreUnavailable, match="disk is full"):
        await scoped.commit(writing(PutMemory(lost)))
    assert await scoped.ask(SeenMemories([kept.id, lost.id])) == (kept,)
    full.fault = None
    await scoped.commit(writing(PutMemory(lost)))
    assert len((await scoped.ask(ListMemories(Filters(), at=NOON, limit=9))).memories) == 2
    await store.close()


@pytest.mark.requirement("FORMAT-4")
async def test_the_nonce_key_outlives_the_process(tmp_path: Path) -> None:
    """Made once, with the file."""
    keys = []
    for _ in range(2):
        store = opened(tmp_path / "a.db")
        keys.append(await store.ask(NonceKey()))
        await store.close()
    assert keys[0] == keys[1]


async def test_a_backup_is_a_store_of_its_own(tmp_path: Path) -> None:
    """It is whole, tells how far it is, and never overwrites anything."""
    id, path, copy = await filled(tmp_path / "a.db"), tmp_path / "a.db", tmp_path / "copy.db"
    store, told = opened(path), list[tuple[int, int]]()
    await store.backup(copy, lambda done, total: told.append((done, total)))
    with pytest.raises(InvalidInput, match="exists"):
        await store.backup(copy)
    await store.close()
    assert told[-1][0] == told[-1][1] > 0
    second = opened(copy)
    assert len(await second.within(Scope()).ask(SeenMemories([id]))) == 1
    assert (await second.check()).healthy
    await second.close()
    assert files_of(tmp_path) == ["a.db", "a.db-reserve", "copy.db", "copy.db-reserve"]


def test_the_stores_of_the_tests_are_as_the_migrations_make_them(tmp_path: Path) -> None:
    """New stores of this process are copies of a template; one with a `vfs` is migrated. Each has its own key and date."""

    def contents(database: SqliteDatabase) -> tuple[list[Any], dict[Any, Any]]:
        connection, _ = database.open(Clock(now=lambda: NOON))
        assert connection is not None
        pragmas = [connection.pragma(name) for name in ("application_id", "user_version", "page_size", "journal_mode")]
        schema = list(rows(connection, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid"))
        tables = [name for kind, name, *_ in schema if kind == "table" and name != "meta"]
        stored = [list(rows(connection, f"SELECT * FROM {name}")) for name in tables]
        meta = dict(connection.execute("SELECT key, value FROM meta"))
        connection.close()
        return [pragmas, schema, stored], meta

    migrated, told = contents(SqliteDatabase.at(tmp_path / "migrated.db", apsw.vfs_names()[0]))
    keys = {told.pop("nonce_key")}
    for place in (tmp_path / "a.db", tmp_path / "b.db", ":memory:"):
        copy, copied = contents(SqliteDatabase.at(place))
        if place == ":memory:":
            copy[0][-1] = migrated[0][-1]
        keys.add(copied.pop("nonce_key"))
        assert (copy, copied) == (migrated, told)
    assert len(keys) == 4


async def test_a_new_store_is_healthy_and_says_whose_it_is(tmp_path: Path) -> None:
    """The header carries germane's number; every check is fine."""
    store = opened(tmp_path / "a.db")
    checkup = await store.check()
    assert checkup.healthy, checkup
    await store.close()
    connection = apsw.Connection(str(tmp_path / "a.db"))
    assert connection.pragma("application_id") == APPLICATION
    connection.close()
