"""SqliteScopedStore: the reads and writes of one scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from germane.kinds.blocks.value import ArchivalEntry
from germane.kinds.memories.value import Memory
from germane.stores.sql.events.reader import SqlEventSearch
from germane.stores.sql.plan_run import PlanRun, answer_read
from germane.stores.sql.reading import ScopeReading
from germane.stores.sql.search.partitions import SqlSearch
from germane.stores.sqlite.erasure import Erasure, KnownRevision, erasure_state
from germane.stores.sqlite.readers import SqliteReaders, SqliteReading
from germane.stores.sqlite.writer import SqliteWriter
from germane.types.plan import Plan, Read
from germane.types.scope import Scope

T = TypeVar("T")


class SqliteScopedStore:
    """Implements `germane.stores.contract.ScopedStore`."""

    embeds_queries = True

    def __init__(
        self,
        scope: Scope,
        readers: SqliteReaders,
        memories: SqlSearch[Memory],
        events: SqlEventSearch,
        blocks: SqlSearch[ArchivalEntry],
        write: Callable[[], SqliteWriter],
        erasure: Erasure,
        known: KnownRevision,
    ) -> None:
        self._scope, self._readers = scope, readers
        self._memories, self._events, self._blocks = memories, events, blocks
        self._write, self._erasure, self._known = write, erasure, known

    @property
    def scope(self) -> Scope:
        return self._scope

    @property
    def memories(self) -> SqlSearch[Memory]:
        return self._memories

    @property
    def events(self) -> SqlEventSearch:
        return self._events

    @property
    def blocks(self) -> SqlSearch[ArchivalEntry]:
        return self._blocks

    async def ask(self, read: Read[T]) -> T:
        run = self._readers.read_batched if read.quick else self._readers.run
        found: T = await run(lambda reading: answer_read(ScopeReading(self._scope, reading), read))
        return found

    async def commit(self, plan: Plan[T]) -> T:
        return await self._write().run(PlanRun(self._scope, plan))

    async def revision(self) -> int:
        """See `ScopedStore.revision`. The last removal of a whole partition counts for every scope, since the removed partition
        has no revision of its own any more."""

        def work(reading: SqliteReading) -> int:
            visible = reading.visible(self._scope)
            revision = max([erasure_state(reading.connection).vanished, *(partition.revision for partition in visible)])
            self._known.saw(revision)
            return revision

        return await self._readers.read_batched(work)

    def known_revision(self) -> int:
        return self._known.latest

    async def scrub(self) -> str:
        return await self._erasure.scrub()
