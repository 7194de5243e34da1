"""Quick opening: what opening a store repeats in each test, and what took longer than most tests, is done once a process.

A new store is a copy of one that the migrations made, and of the stores whose embedder is quick the first alone is warmed up.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

import apsw
import pytest

from germane.api import wiring
from germane.clock import Clock
from germane.engine.engine import Engine
from germane.ports.models import WordVectors
from germane.stores.contract import Store
from germane.stores.sql.statements import micros
from germane.stores.sqlite.database import SqliteDatabase
from support.calendar import Calendar

__all__ = ["copy_new_stores", "warm_up_once"]


_OWN = "nonce_key", "created_at"
"""What no copy has of the template: the rows of `meta`."""


@cache
def _template() -> tuple[bytes, tuple[bytes, bytes]]:
    """Returns an empty store, and its key and the time of its creation, which no copy keeps."""
    connection, _ = SqliteDatabase.at(":memory:").open(Calendar().clock)
    assert connection is not None
    stored: dict[str, bytes] = dict(connection.execute("SELECT key, value FROM meta"))
    key, created = (stored[name] for name in _OWN)
    image = connection.serialize("main")
    connection.close()
    assert image.count(key) == image.count(created) == 1
    return image, (key, created)


def _new_store(clock: Clock) -> bytes | None:
    """Returns the bytes of a store that was created now; None at a time that is written longer or shorter."""
    image, (key, created) = _template()
    now = str(micros(clock.now())).encode()
    if len(now) != len(created):
        return None
    return image.replace(key, secrets.token_bytes(len(key))).replace(created, now)


def copy_new_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has each store that doesn't exist yet start as a copy, unless SQLite writes it through a file layer of the test's own."""
    migrate, opened = SqliteDatabase._migrate, SqliteDatabase._opened

    def copied(self: SqliteDatabase, clock: Clock) -> tuple[apsw.Connection | None, SqliteDatabase]:
        if self.path is not None and self.vfs is None and not self.path.exists() and (image := _new_store(clock)):
            _create(self.path, image)
        return opened(self, clock)

    def migrated(self: SqliteDatabase, connection: apsw.Connection, clock: Clock) -> None:
        if self.path is None and self._version(connection) == 0 and (image := _new_store(clock)):
            source = apsw.Connection(":memory:")
            source.deserialize("main", image)
            with connection.backup("main", source, "main") as backup:
                backup.step()
            source.close()
        else:
            migrate(self, connection, clock)

    _template()
    monkeypatch.setattr(SqliteDatabase, "_opened", copied)
    monkeypatch.setattr(SqliteDatabase, "_migrate", migrated)


def warm_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that needs the warm-up itself empties `wiring._searched`."""
    warm_up = wiring._warm_up

    async def warmed_up(engine: Engine, store: Store, words: WordVectors) -> None:
        if not engine.embedder.quick or engine.embedder.identity not in wiring._searched_embedders:
            await warm_up(engine, store, words)

    monkeypatch.setattr(wiring, "_warm_up", warmed_up)


def _create(path: Path, image: bytes) -> None:
    """Creates the file in one step, so that another process sees a whole store or none. Where it can't, germane finds out
    itself."""
    with suppress(OSError), NamedTemporaryFile(dir=path.parent, prefix=".germane-") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(image)
        file.flush()
        os.link(file.name, path)
