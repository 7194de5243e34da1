"""SqliteStore: the embedded store. One file, one writing thread, reading threads, and partitions in memory to search.

What a person should know of it: a commit is on disk when it is answered (`synchronous=FULL`), readers never wait for the
writer, several processes may share the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import apsw

from germane.clock import Clock
from germane.errors import StoreUnavailable
from germane.ports.embedder import Embedder
from germane.ports.word_vectors import WordVectors
from germane.search.relevance import Relevance
from germane.store import Checkup
from germane.stores.sqlite.backup import back_up
from germane.stores.sqlite.checkup import examine
from germane.stores.sqlite.database import Database
from germane.stores.sqlite.directives import directive_now
from germane.stores.sqlite.embedding import Embedding, model_row
from germane.stores.sqlite.encoding import micros
from germane.stores.sqlite.erasure import Erasure
from germane.stores.sqlite.event_reader import SqliteEvents
from germane.stores.sqlite.failures import mapped
from germane.stores.sqlite.journal import SqliteJournal
from germane.stores.sqlite.keys import SqliteKeys
from germane.stores.sqlite.memory_reader import SqliteMemories
from germane.stores.sqlite.partitions import Partitions
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.rows import only
from germane.stores.sqlite.scoped_store import SqliteScopedStore
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import gone, places
from germane.stores.sqlite.writer import Writer
from germane.types.scope import Scope

__all__ = ["SqliteStore"]

_MEMORY = 256 << 20
_SCRUBBING = 0.25
"""Seconds that an opening waits for scrubbing that a killed process left."""


class SqliteStore:
    """Open it with `SqliteStore.open`. Fulfils `germane.scoped.Store`."""

    def __init__(
        self,
        database: Database,
        writing: apsw.Connection | None,
        embedder: Embedder,
        *,
        readers: int,
        memory_limit: int,
        clock: Clock,
        relevance: Relevance | None = None,
        words: WordVectors | None = None,
    ) -> None:
        self._database, self._embedder, self._clock = database, embedder, clock
        self._relevance_model, self._words = relevance, words
        with mapped(database.name):
            self._model = model_row(database, writing, embedder)
            self._readers = Readers(database, readers)
            self._aside = Readers(database, 1)
        self._partitions = Partitions(
            dimension=embedder.dimension, model=self._model, limit=memory_limit, behind=self._aside.behind
        )
        self._told: Callable[[Callable[[str, str, str | None], str]], None] | None = None
        with mapped(database.name):
            self._erasure = Erasure(database, self._vanished, writable=writing is not None)
        self._writer = None if writing is None else Writer(writing, self._begin, database, self._erasure)
        self._embedding = Embedding(embedder, self._model, self._aside)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder,
        clock: Clock,
        readers: int = 2,
        memory_limit: int = _MEMORY,
        vfs: str | None = None,
        relevance: Relevance | None = None,
        words: WordVectors | None = None,
    ) -> SqliteStore:
        """The store in the file at `path`, made if there is none; `:memory:` for one that is gone when closed.

        `readers` threads read at once, `memory_limit` bytes of search partitions are kept, `vfs` names another of SQLite's
        file systems, `relevance` is the model that search chooses by (none: the shipped one), `words` knows words of nearly
        the same meaning. Where the file can't be written it is opened for reading. Raises `StoreUnavailable`, `StoreCorrupt`
        or `StoreTooNew`.

        Blocks for some milliseconds. Where a process was killed before everything it forgot was scrubbed, that is done first,
        but not waited for longer than a quarter of a second: it goes on in a thread, and `check` tells of it until it is done.
        """
        writing, database = Database.at(path, vfs).open(clock)
        try:
            store = cls(
                database,
                writing,
                embedder,
                readers=max(1, readers),
                memory_limit=memory_limit,
                clock=clock,
                relevance=relevance,
                words=words,
            )
        except BaseException:
            if writing is not None:
                writing.close()
            raise
        store._erasure.begun.wait(_SCRUBBING)
        return store

    @property
    def read_only(self) -> bool:
        return self._writer is None

    @property
    def keys(self) -> SqliteKeys:
        return SqliteKeys(self._writer, self._readers, self._database.name)

    def within(self, scope: Scope) -> SqliteScopedStore:
        readers, partitions, model = self._readers, self._partitions, self._embedder.identity
        return SqliteScopedStore(
            scope,
            readers,
            SqliteMemories(scope, readers, partitions, model, self._relevance_model, self._words),
            SqliteEvents(scope, readers, partitions, model, self._relevance_model, self._words),
            SqliteJournal(scope, self._writer, readers, self._erasure, self._database.name),
        )

    def when_vanished(self, told: Callable[[Callable[[str, str, str | None], str]], None]) -> None:
        self._told = told

    async def warm(self, scope: Scope) -> None:
        def work(reading: Reading) -> None:
            seen = places(reading.connection, scope)
            for domain in ("memories", "events"):
                self._partitions.ready(reading, seen, domain, wait=True)

        await self._aside.run(work)

    async def nonce_key(self) -> bytes:
        sql = "SELECT value FROM meta WHERE key = 'nonce_key'"
        return await self._readers.run(lambda reading: bytes(only(reading.connection, sql)[0]))

    async def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        await back_up(self._database, Path(target), progress)

    async def check(self) -> Checkup:
        stale = await self.stale_vectors()
        return await examine(
            self._database,
            self._embedder.identity,
            stale=stale,
            read_only=self.read_only,
            waiting_for=self._erasure.waiting_for,
        )

    async def embed_pending(self, limit: int | None = None) -> int:
        """Embed what was stored without a vector; answers how many. Slow embedders' texts come this way."""
        return await self._embedding.pending(self._write(), limit)

    async def stale_vectors(self) -> int:
        """How many texts have no vector of the embedder in use: keywords alone find them (SEARCH-3)."""
        return await self._embedding.stale()

    async def reembed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Give every text a vector of the embedder in use; `progress(done, total)`. Answers how many were made."""
        return await self._embedding.again(self._write(), progress)

    async def close(self) -> None:
        """Finish what is being written, stop what is being read, end the threads. Again is fine."""
        self._readers.stop()
        self._aside.stop()
        if self._writer is not None:
            self._writer.stop()
        await asyncio.to_thread(self._join)
        self._partitions.forget()

    def _join(self) -> None:
        self._readers.join()
        self._aside.join()
        if self._writer is not None:
            self._writer.join()
        self._erasure.join()
        if self._writer is not None:
            self._writer.close()

    def _begin(self, connection: apsw.Connection) -> Transaction:
        return Transaction(connection, self._embedder, self._model, micros(self._clock.now()))

    def _vanished(self, connection: apsw.Connection) -> None:
        """Some process took away what nobody asks the file about again: nothing of it stays in memory."""
        self._partitions.drop(lambda partition: gone(connection, partition))
        if self._told is not None:
            self._told(partial(directive_now, connection))

    def _write(self) -> Writer:
        if self._writer is None:
            raise StoreUnavailable(f"store {self._database.name!r} is read-only: check its permissions")
        return self._writer
