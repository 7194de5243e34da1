"""SqliteStore: the embedded store: one file, one writer thread, reader threads, and partitions in memory for search.

A commit is on disk when it returns (`synchronous=FULL`), readers never wait for the writer, and several processes may share the
file.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

import apsw

from germane.clock import Clock
from germane.errors import StoreUnavailable
from germane.kinds.blocks.value import ArchivalEntry
from germane.kinds.events.value import Event
from germane.kinds.memories.value import Memory
from germane.ports.models import Embedder, WordVectors, dimension_if_known
from germane.search.relevance import Relevance
from germane.stores.contract import Checkup
from germane.stores.sql.blocks.documents import fetch_archived, has_archive
from germane.stores.sql.events.reader import SqlEventSearch, fetch_events
from germane.stores.sql.listing import is_forgotten
from germane.stores.sql.memories.conflicts import directive_now
from germane.stores.sql.memories.memory_rows import by_key
from germane.stores.sql.memories.reader import fetch_memories
from germane.stores.sql.plan_run import answer_store_read, run_store_plan
from germane.stores.sql.progress import Progress
from germane.stores.sql.search.embedding import Embedding, asked_dimension, model_row
from germane.stores.sql.search.near_duplicates import NearDuplicates
from germane.stores.sql.search.partitions import Fetch, Partitions, Searcher, SqlSearch
from germane.stores.sql.search.units import Domain
from germane.stores.sql.statements import micros
from germane.stores.sql.transaction import Transaction
from germane.stores.sql.upgrade import divide, expect_clauses, outline_sessions, tell_sessions, undivided, unoutlined, untold
from germane.stores.sqlite.database import SqliteDatabase, store_errors
from germane.stores.sqlite.erasure import Erasure, KnownRevision
from germane.stores.sqlite.readers import SqliteReaders, SqliteReading
from germane.stores.sqlite.scoped_store import SqliteScopedStore
from germane.stores.sqlite.writer import SqliteWriter
from germane.types.plan import StorePlan, StoreRead
from germane.types.scope import Scope

if TYPE_CHECKING:
    from germane.stores.sql.dump import Dump
    from germane.transfer.contents import Contents, Owned, Reach


T = TypeVar("T", Memory, Event, ArchivalEntry)
R = TypeVar("R")

_MEMORY_LIMIT = 256 << 20
"""Bytes of search partitions in memory."""
_SCRUB_TIMEOUT = 0.25
"""Seconds that `open` waits for scrubbing that a killed process left undone."""


class SqliteStore:
    """Implements `germane.stores.contract.Store`. Open it with `SqliteStore.open`."""

    def __init__(
        self,
        database: SqliteDatabase,
        writing: apsw.Connection | None,
        embedder: Embedder,
        *,
        readers: int,
        memory_limit: int,
        clock: Clock,
        relevance: Relevance | None = None,
        words: WordVectors | None = None,
        count: Callable[[str], int] | None = None,
        breath: Callable[[], None] = lambda: None,
    ) -> None:
        self._database, self._embedder, self._clock, self._count = database, embedder, clock, count
        with store_errors(database.name):
            self._model = model_row(database, writing, embedder)
            if writing is not None:
                expect_clauses(writing)
            self._readers = SqliteReaders(database, readers)
            self._background = SqliteReaders(database, 1)
        self._partitions = Partitions(
            dimension=dimension_if_known(embedder),
            model=self._model,
            max_bytes=memory_limit,
            run_in_background=self._background.run_in_background,
        )
        self._near = NearDuplicates(dimension_if_known(embedder), self._model, by_key)
        self._memories = self._searcher("memories", fetch_memories, relevance, words)
        self._events = self._searcher("events", fetch_events, relevance, words)
        self._archive = self._searcher("blocks", fetch_archived, relevance, words)
        self._listener: Callable[[Callable[[str, str, str | None], str]], None] | None = None
        self._known = KnownRevision()
        with store_errors(database.name):
            self._erasure = Erasure(database, self._vanished, self._known, writable=writing is not None)
        self._writer = None if writing is None else SqliteWriter(writing, self._begin, database, self._erasure, self._known)
        self._breath = breath
        self._embedding = Embedding(embedder, self._model, self._background, breath)
        self._dumps: WeakSet[Dump] = WeakSet()
        self._closing = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        embedder: Embedder,
        clock: Clock,
        readers: int = 2,
        memory_limit: int = _MEMORY_LIMIT,
        vfs: str | None = None,
        relevance: Relevance | None = None,
        words: WordVectors | None = None,
        count: Callable[[str], int] | None = None,
        breath: Callable[[], None] = lambda: None,
    ) -> SqliteStore:
        """Opens the store in the file at `path`, which is created if it doesn't exist. `:memory:` opens a store in memory,
        which is gone when it is closed. A file that can't be written is opened read-only.

        `readers` is the number of threads for searches, and for other reads as well. At most `memory_limit` bytes of search
        partitions stay in memory. `vfs` names another of SQLite's file systems. `relevance` is the model that ranks hits
        (default: the shipped one), `words` finds words of similar meaning. `count` counts the tokens of what
        is stored, so that searches know what results cost; without it they go by the words. `breath` is called between two
        steps of making vectors that no caller waits for, in a thread, and may sleep.

        Blocks for some milliseconds. Where a process was killed before all that was forgotten was scrubbed, `open` starts the
        scrubbing and waits for it up to a quarter of a second; it continues in a thread, and `check` reports it meanwhile.
        Raises `StoreUnavailable`, `StoreCorrupt` or `StoreTooNew`.
        """
        writing, database = SqliteDatabase.at(path, vfs).open(clock)
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
                count=count,
                breath=breath,
            )
        except BaseException:
            if writing is not None:
                writing.close()
            raise
        store._erasure.begun.wait(_SCRUB_TIMEOUT)
        return store

    @property
    def read_only(self) -> bool:
        return self._writer is None

    async def ask(self, read: StoreRead[R]) -> R:
        run = self._readers.read_batched if read.quick else self._readers.run
        found: R = await run(lambda reading: answer_store_read(reading, read))
        return found

    async def commit(self, plan: StorePlan[R]) -> R:
        return await self._write().run(lambda transaction: run_store_plan(transaction, plan))

    def within(self, scope: Scope) -> SqliteScopedStore:
        readers = self._readers
        return SqliteScopedStore(
            scope,
            readers,
            SqlSearch(scope, self._memories),
            SqlEventSearch(scope, readers, self._events),
            SqlSearch(scope, self._archive),
            self._write,
            self._erasure,
            self._known,
        )

    def when_vanished(self, listener: Callable[[Callable[[str, str, str | None], str]], None]) -> None:
        self._listener = listener

    def when_erased(self, listener: Callable[[], None]) -> None:
        self._erasure.when_erased = listener

    async def warm(self, scope: Scope) -> None:
        def work(reading: SqliteReading) -> None:
            visible = reading.visible(scope)
            for domain in ("memories", "events"):
                self._partitions.ready(reading, visible, domain, wait=True)
            if has_archive(reading.connection, visible):
                self._partitions.ready(reading, visible, "blocks", wait=True)

        await self._background.run(work)

    def dump(self, reach: Reach) -> AsyncIterator[Sequence[Contents | Owned]]:
        from germane.stores.sql.dump import Dump

        dump = Dump(self._database, reach)
        self._dumps.add(dump)
        if self._closing:
            dump.close()
        return dump.portions()

    async def backup(self, target: Path, progress: Callable[[int, int], None] | None = None) -> None:
        from germane.stores.sqlite.backup import back_up

        await back_up(self._database, Path(target), progress)

    async def check(self) -> Checkup:
        from germane.stores.sqlite.backup import examine

        stale = await self.stale_vectors()
        return await examine(
            self._database,
            self._embedder.identity if dimension_if_known(self._embedder) else "an embedder that hasn't answered yet",
            stale=stale,
            refused=self.refused_texts,
            read_only=self.read_only,
            waiting_for=self._erasure.waiting_for,
        )

    async def verify(self, *, full: bool = False, progress: Callable[[int, int], None] | None = None) -> Checkup:
        from germane.stores.sqlite.backup import verify_store as verified

        return await verified(self._database, full=full, progress=progress)

    async def embed_pending(self, limit: int | None = None) -> int:
        """See `Store.embed_pending`. Safe to cancel at any point."""
        await self.upgrade()
        writer = self._write()
        await self._learn_dimension(writer)
        return await self._embedding.pending(writer, limit)

    async def upgrade(self, progress: Callable[[int, int], None] | None = None) -> int:
        """See `Store.upgrade`. Safe to cancel at any point."""
        writer = self._write()
        total = await undivided(self._background)
        what = "long texts of an earlier version are divided for search"
        divided = await divide(
            self._background, writer, Progress(self._database.name, what, total, self._clock.steady, progress)
        )
        outlined = read = 0
        if total := await unoutlined(self._background):
            what = "sessions of an earlier version get their outlines"
            outlined = await outline_sessions(writer, Progress(self._database.name, what, total, self._clock.steady, progress))
        if total := await untold(self._background):
            what = "sessions of an earlier version are read for profiles"
            told = Progress(self._database.name, what, total, self._clock.steady, progress)
            read = await tell_sessions(self._background, writer, told, self._breath)
        return divided + outlined + read

    @property
    def refused_texts(self) -> int:
        return self._embedding.refused

    async def stale_vectors(self) -> int:
        """See `Store.stale_vectors`."""
        return await self._embedding.stale()

    async def reembed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """See `Store.reembed`. Safe to cancel at any point."""
        writer = self._write()
        await self._learn_dimension(writer)
        return await self._embedding.again(writer, progress)

    async def close(self) -> None:
        """Completes the writes that wait, stops the reads, and ends the threads. Idempotent."""
        self._closing = True
        for dump in list(self._dumps):
            await asyncio.to_thread(dump.close)
        self._readers.stop()
        self._background.stop()
        if self._writer is not None:
            self._writer.stop()
        await asyncio.to_thread(self._join)
        self._partitions.forget()

    async def _learn_dimension(self, writer: SqliteWriter) -> None:
        """Takes the dimension of an embedder that didn't know it when the store was opened. Raises `EmbedderError`."""
        if self._model:
            return
        dimension = await asked_dimension(self._embedder)
        self._model = await writer.run(lambda to: model_row(self._database, to.connection, self._embedder))
        self._embedding.model = self._model
        self._partitions.reset(dimension, self._model)
        await writer.run(lambda _: self._near.reset(dimension, self._model))

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
            embedder=self._embedder,
            relevance=relevance,
            words=words,
        )

    def _begin(self, connection: apsw.Connection) -> Transaction:
        return Transaction(connection, self._embedder, self._model, micros(self._clock.now()), self._count, self._near)

    def _vanished(self, connection: apsw.Connection) -> None:
        """Drops cached copies of what some process has forgotten or replaced. Called in the erasure thread."""
        self._partitions.drop(lambda partition: is_forgotten(connection, partition))
        if self._listener is not None:
            self._listener(partial(directive_now, connection))

    def _write(self) -> SqliteWriter:
        """Returns the writer. Raises `StoreUnavailable` where nothing can be written."""
        if self._writer is None:
            raise StoreUnavailable(
                f"store {self._database.name!r} is read-only: check the permissions of the file and of its directory"
            )
        return self._writer
