"""SqliteStore: the embedded store. One file, one writing thread, reading threads, and partitions in memory to search.

What a person should know of it: a commit is on disk when it is answered (`synchronous=FULL`), readers never wait for the
writer, several processes may share the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from germane.clock import Clock
from germane.errors import StoreUnavailable
from germane.events.event import Event
from germane.memories.memory import Memory
from germane.ports.embedder import Embedder
from germane.ports.words import WordVectors
from germane.search.relevance import Relevance
from germane.store import Checkup
from germane.stores.sqlite.backup import back_up
from germane.stores.sqlite.checkup import examine
from germane.stores.sqlite.database import Database
from germane.stores.sqlite.directives import directive_now
from germane.stores.sqlite.embedding import Embedding, model_row
from germane.stores.sqlite.encoding import micros
from germane.stores.sqlite.erasure import Erasure
from germane.stores.sqlite.event_reader import SqliteEvents, fetch_events
from germane.stores.sqlite.failures import mapped
from germane.stores.sqlite.journal import SqliteJournal
from germane.stores.sqlite.keys import SqliteKeys
from germane.stores.sqlite.memory_reader import SqliteMemories, fetch_memories
from germane.stores.sqlite.partitions import Partitions
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.rows import only
from germane.stores.sqlite.scoped_store import SqliteScopedStore
from germane.stores.sqlite.search import Fetch, Searcher
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.units import Domain
from germane.stores.sqlite.visible_partitions import is_forgotten, visible_partitions
from germane.stores.sqlite.writer import Writer
from germane.types.scope import Scope

__all__ = ["SqliteStore"]

T = TypeVar("T", Memory, Event)

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
        with mapped(database.name):
            self._model = model_row(database, writing, embedder)
            self._readers = Readers(database, readers)
            self._background = Readers(database, 1)
        self._partitions = Partitions(
            dimension=embedder.dimension,
            model=self._model,
            max_bytes=memory_limit,
            run_in_background=self._background.run_in_background,
        )
        self._memories = self._searcher("memories", fetch_memories, relevance, words)
        self._events = self._searcher("events", fetch_events, relevance, words)
        self._told: Callable[[Callable[[str, str, str | None], str]], None] | None = None
        with mapped(database.name):
            self._erasure = Erasure(database, self._vanished, writable=writing is not None)
        self._writer = None if writing is None else Writer(writing, self._begin, database, self._erasure)
        self._embedding = Embedding(embedder, self._model, self._background)

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
        readers = self._readers
        return SqliteScopedStore(
            scope,
            readers,
            SqliteMemories(scope, readers, self._memories),
            SqliteEvents(scope, readers, self._events),
            SqliteJournal(scope, self._writer, readers, self._erasure, self._database.name),
        )

    def when_vanished(self, told: Callable[[Callable[[str, str, str | None], str]], None]) -> None:
        self._told = told

    async def warm(self, scope: Scope) -> None:
        def work(reading: Reading) -> None:
            visible = visible_partitions(reading.connection, scope)
            for domain in ("memories", "events"):
                self._partitions.ready(reading, visible, domain, wait=True)

        await self._background.run(work)

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
        self._background.stop()
        if self._writer is not None:
            self._writer.stop()
        await asyncio.to_thread(self._join)
        self._partitions.forget()

    def _join(self) -> None:
        self._readers.join()
        self._background.join()
        if self._writer is not None:
            self._writer.join()
        self._erasure.join()
        if self._writer is not None:
            self._writer.close()

    def _searcher(self, domain: Domain, fetch: Fetch[T], relevance: Relevance | None, words: WordVectors | None) -> Searcher[T]:
        return Searcher(
            domain=domain,
            fetch=fetch,
            readers=self._readers,
            partitions=self._partitions,
            model=self._embedder.identity,
            relevance=relevance,
            words=words,
        )

    def _begin(self, connection: apsw.Connection) -> Transaction:
        return Transaction(connection, self._embedder, self._model, micros(self._clock.now()))

    def _vanished(self, connection: apsw.Connection) -> None:
        """Some process took away what nobody asks the file about again: nothing of it stays in memory."""
        self._partitions.drop(lambda partition: is_forgotten(connection, partition))
        if self._told is not None:
            self._told(partial(directive_now, connection))

    def _write(self) -> Writer:
        if self._writer is None:
            raise StoreUnavailable(f"store {self._database.name!r} is read-only: check its permissions")
        return self._writer
