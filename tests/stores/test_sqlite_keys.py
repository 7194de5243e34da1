"""Keys in the file: what is stored, files of older versions, read-only files, and the event loop."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from pathlib import Path
from typing import Any

import apsw
import pytest

from germane.api.verbs.transfer import export_lines
from germane.clock import Clock
from germane.errors import StoreUnavailable
from germane.kinds.keys.plans import revoke
from germane.kinds.keys.reads import KeyById, ListKeys, NonceKey
from germane.kinds.keys.value import parse_token
from germane.kinds.memories.reads import PutMemory
from germane.stores.sqlite import SqliteStore
from germane.stores.sqlite.database import APPLICATION, migrations
from germane.stores.sqlite.readers import SqliteReading
from germane.transfer.contents import Reach
from germane.types.scope import Scope
from germane_testing.builders import NOON, Hashed, a_memory, writing
from germane_testing.injection_contract import issuing


class Locked(apsw.VFS):
    """SQLite's file layer where nothing may be written."""

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
        if not flags[0] & apsw.SQLITE_OPEN_READONLY:
            raise apsw.CantOpenError
        return super().xOpen(name, flags)


def opened(path: Path, **settings: Any) -> SqliteStore:
    return SqliteStore.open(path, embedder=Hashed(), clock=Clock(), **settings)


def held(folder: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in folder.iterdir()}


def first_version(path: Path) -> None:
    """A store as the first germane made it."""
    connection = apsw.Connection(str(path))
    connection.execute(migrations()[0])
    connection.execute(f"PRAGMA user_version = 1; PRAGMA application_id = {APPLICATION}")
    connection.execute("INSERT INTO meta VALUES ('nonce_key', zeroblob(32))")
    connection.close()


@pytest.mark.requirement("RPC-5")
async def test_a_file_of_the_first_version_gets_its_keys(tmp_path: Path) -> None:
    """It is brought up to date when it is opened, and keeps what it holds."""
    path = tmp_path / "a.db"
    first_version(path)
    store = opened(path)
    issued = await store.commit(issuing())
    assert parse_token(issued.token).matches(await store.ask(KeyById(issued.key.id)))
    assert await store.ask(NonceKey()) == bytes(32)
    assert (await store.check()).healthy
    await store.close()


@pytest.mark.requirement("RPC-5")
async def test_what_opens_anything_is_in_no_file(tmp_path: Path) -> None:
    """Neither a token nor its secret: the hash is. A backup has the hash too, and the key works on it."""
    store = opened(tmp_path / "a.db")
    issued = await store.commit(issuing())
    await store.backup(tmp_path / "copy.db")
    files = held(tmp_path)
    assert {"a.db", "copy.db"} <= files.keys()
    secret = issued.token.rpartition("_")[2].encode()
    assert not [name for name, content in files.items() if secret in content]
    digest = hashlib.sha256(issued.token.encode()).digest()
    assert digest in files["copy.db"]
    await store.close()
    copy = opened(tmp_path / "copy.db")
    assert parse_token(issued.token).matches(await copy.ask(KeyById(issued.key.id)))
    await copy.close()


@pytest.mark.requirement("RPC-5")
async def test_an_export_holds_no_key(tmp_path: Path) -> None:
    """Not its id, not its digest, not its note."""
    store = opened(tmp_path / "a.db")
    issued = await store.commit(issuing(note="gateway of Ana"))
    scoped = store.within(Scope(org="acme"))
    await scoped.commit(writing(PutMemory(a_memory("likes tea"))))
    lines = [line async for line in export_lines(store, Reach())]
    assert [line["type"] for line in lines] == ["header", "memory"]
    assert not [word for word in (issued.key.id, "gateway", "digest") if word in repr(lines)]
    await store.close()


@pytest.mark.requirement("RPC-5")
async def test_keys_of_a_file_that_cant_be_written_can_be_read(tmp_path: Path) -> None:
    """Keys stay valid; creating and revoking raise `StoreUnavailable`."""
    path = tmp_path / "a.db"
    store = opened(path)
    issued = await store.commit(issuing())
    await store.close()
    locked = Locked("locked-keys", base="")
    store = opened(path, vfs="locked-keys")
    assert store.read_only
    assert parse_token(issued.token).matches(await store.ask(KeyById(issued.key.id)))
    assert await store.ask(ListKeys("acme")) == (issued.key,)
    with pytest.raises(StoreUnavailable, match="read-only"):
        await store.commit(issuing(2))
    with pytest.raises(StoreUnavailable, match="read-only"):
        await store.commit(revoke(issued.key.id, at=NOON))
    await store.close()
    locked.unregister()


@pytest.mark.requirement("RPC-5")
async def test_looking_for_a_key_never_holds_up_the_event_loop(tmp_path: Path) -> None:
    """A lookup waits for a reader thread, and can be cancelled."""
    store = opened(tmp_path / "a.db")
    issued = await store.commit(issuing())
    stuck = threading.Event()

    def stick(_: SqliteReading) -> None:
        stuck.wait(timeout=30)

    busy = [asyncio.create_task(store._readers.run(stick)) for _ in range(2)]
    await asyncio.sleep(0)
    looking = asyncio.create_task(store.ask(KeyById(issued.key.id)))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not looking.done()
    looking.cancel()
    stuck.set()
    await asyncio.gather(*busy)
    assert parse_token(issued.token).matches(await store.ask(KeyById(issued.key.id)))
    await store.close()
