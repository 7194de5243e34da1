"""SqliteScopedStore: the reads and writes of one scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

import apsw

from germane.errors import StoreUnavailable
from germane.kinds.blocks.value import ArchivalEntry
from germane.kinds.injections import KeptInjections, Wanting
from germane.kinds.memories.directive import Directive
from germane.kinds.memories.value import Memory
from germane.stores.sql.events.reader import SqlEventSearch
from germane.stores.sql.gate import allowed_now, present_now
from germane.stores.sql.injections import injections_of
from germane.stores.sql.inventory import SqlInventory
from germane.stores.sql.listing import visible_partitions
from germane.stores.sql.memories.conflicts import directive
from germane.stores.sql.plan_run import PlanRun, answer_read
from germane.stores.sql.reading import ScopeReading
from germane.stores.sql.search.partitions import SqlSearch
from germane.stores.sql.tasks.plans import delegated_session
from germane.stores.sqlite.erasure import Erasure, KnownRevision, erasure_state
from germane.stores.sqlite.readers import SqliteReaders, SqliteReading
from germane.stores.sqlite.writer import SqliteWriter
from germane.types.plan import Plan, Read
from germane.types.query import Filters
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
        inventory: SqlInventory,
        writer: SqliteWriter | None,
        erasure: Erasure,
        known: KnownRevision,
        name: str,
    ) -> None:
        self._scope, self._readers = scope, readers
        self._memories, self._events, self._blocks = memories, events, blocks
        self._inventory = inventory
        self._writer, self._erasure, self._known, self._name = writer, erasure, known, name

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

    @property
    def inventory(self) -> SqlInventory:
        return self._inventory

    async def ask(self, read: Read[T]) -> T:
        run = self._readers.read_batched if read.quick else self._readers.run
        found: T = await run(lambda reading: answer_read(ScopeReading(self._scope, reading), read))
        return found

    async def commit(self, plan: Plan[T]) -> T:
        if self._writer is None:
            raise StoreUnavailable(f"store {self._name!r} is read-only: check the permissions of the file and of its directory")
        return await self._writer.run(PlanRun(self._scope, plan))

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

    async def directive(self) -> Directive:
        return await self._readers.read_batched(
            lambda reading: directive(reading.connection, reading.visible(self._scope), self._scope)
        )

    async def allowed(self, ids: Sequence[str], *, at: datetime, filters: Filters) -> frozenset[str]:
        return await self._readers.read_batched(lambda reading: frozenset(self._allowed(reading.connection, ids, at, filters)))

    async def injections(self, wanting: Wanting, *, at: datetime, filters: Filters) -> KeptInjections:
        session = self._scope.session
        if session is None:
            return KeptInjections()

        def work(reading: SqliteReading) -> KeptInjections:
            visible = reading.visible(self._scope)
            own = [partition.id for partition in visible if partition.user == self._scope.user]
            if own:
                heads, records, wanted = injections_of(reading.connection, own[0], session, wanting)
            else:
                heads, records, wanted = (), (), wanting(())
            ids = sorted({item.id for record in records for item in record.items if item.stored} | wanted.ids)
            allowed = self._allowed(reading.connection, ids, at, filters)
            present = self._present(reading.connection, ids, filters) if wanted.presence else frozenset()
            return KeptInjections(heads, records, allowed, present)

        return await self._readers.read_batched(work)

    def _allowed(self, connection: apsw.Connection, ids: Sequence[str], at: datetime, filters: Filters) -> dict[str, int]:
        """Those of `ids` that may be shown, each with its content hash. In the session of a delegated agent those that its
        parent allowed, whatever the filters ask for."""
        visible, held = visible_partitions(connection, self._scope), self._held(connection, filters)
        return allowed_now(connection, visible, self._scope.user, ids, at=at, filters=held)

    def _present(self, connection: apsw.Connection, ids: Sequence[str], filters: Filters) -> frozenset[str]:
        """Those of `ids` of which a text may go on standing."""
        visible, held = visible_partitions(connection, self._scope), self._held(connection, filters)
        return present_now(connection, visible, self._scope.user, ids, filters=held)

    def _held(self, connection: apsw.Connection, filters: Filters) -> Filters:
        given = delegated_session(connection, self._scope)
        if given is None:
            return filters
        return replace(filters, sensitivities=tuple(one for one in filters.sensitivities if one in given.allowed))
