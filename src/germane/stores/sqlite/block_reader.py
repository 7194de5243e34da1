"""SqliteBlocks: reads and searches the blocks of one scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from germane.blocks.block import Block, BlockType
from germane.blocks.consent_request import ConsentRequest
from germane.blocks.entry import ArchivalEntry
from germane.blocks.operations import DocumentOf, StoredDocument
from germane.blocks.share import Share
from germane.blocks.version import KeptVersion
from germane.search.hit import Found
from germane.stores.sqlite.archive import entries_of
from germane.stores.sqlite.block_consents import consents, shares_of
from germane.stores.sqlite.block_documents import document_of, history_of
from germane.stores.sqlite.blocks import STANDING, SeenBlock, all_indexed, block_named, seen_blocks, under
from germane.stores.sqlite.encoding import micros
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.search import Searcher
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.types.query import Query
from germane.types.scope import Scope

__all__ = ["SqliteBlocks"]

T = TypeVar("T")


class SqliteBlocks:
    """Implements `germane.blocks.reader.BlockReader`."""

    def __init__(self, scope: Scope, readers: Readers, searcher: Searcher[ArchivalEntry]) -> None:
        self._scope, self._readers, self._searcher = scope, readers, searcher

    async def standing(self) -> tuple[Block, ...]:
        def work(reading: Reading) -> tuple[Block, ...]:
            labels, found = set[str](), dict[str, Block]()
            for seen in self._seen(reading, STANDING):
                if seen.block.label in labels:
                    continue
                found[seen.block.id] = seen.block
                if seen.block.shared_from is None:
                    labels.add(seen.block.label)
            return tuple(found.values())

        return await self._readers.read_batched(work)

    async def named(self, names: Sequence[str]) -> tuple[Block, ...]:
        def work(reading: Reading) -> tuple[Block, ...]:
            visible, found = reading.visible(self._scope), dict[str, Block]()
            for name in dict.fromkeys(names):
                for seen in block_named(reading.connection, visible, self._scope.user, name)[:1]:
                    found.setdefault(seen.block.id, seen.block)
            return tuple(found.values())

        return await self._readers.read_batched(work)

    async def list(self, type: BlockType | None = None, *, deleted: bool = False) -> tuple[Block, ...]:
        def work(reading: Reading) -> tuple[Block, ...]:
            clause = "b.deleted_at IS NOT NULL" if deleted else "b.deleted_at IS NULL"
            values: tuple[Any, ...] = ()
            if type is not None:
                clause, values = f"{clause} AND b.type = ?", (type,)
            blocks = [seen.block for seen in self._seen(reading, clause, values, shared=not deleted)]
            if not deleted:
                return tuple(blocks)
            mine = [block for block in blocks if block.user == self._scope.user]
            return tuple(sorted(mine, key=lambda block: (block.deleted_at or block.updated_at, block.id), reverse=True))

        return await self._readers.run(work)

    async def within(self, folder: str) -> tuple[Block, ...]:
        clause, values = under(folder)
        return await self._readers.run(lambda reading: tuple(seen.block for seen in self._seen(reading, clause, values)))

    async def indexed(self) -> bool:
        def work(reading: Reading) -> bool:
            return all_indexed(reading.connection, reading.visible(self._scope))

        return await self._readers.read_batched(work)

    async def history(self, id: str) -> tuple[KeptVersion, ...]:
        return await self._of(id, lambda reading, seen: history_of(reading.connection, seen.key, since=seen.since), ())

    async def document(self, id: str, *, rebuild: bool = False) -> StoredDocument:
        asked = DocumentOf(id, rebuild=rebuild)
        return await self._of(
            id, lambda reading, seen: document_of(reading.connection, seen.key, asked), StoredDocument(whole=True)
        )

    async def shares(self, id: str | None = None) -> tuple[Share, ...]:
        def work(reading: Reading) -> tuple[Share, ...]:
            own = self._own(reading)
            return () if own is None else shares_of(reading.connection, own, id)

        return await self._readers.run(work)

    async def consents(self, *, at: datetime, pending: bool, limit: int) -> tuple[ConsentRequest, ...]:
        def work(reading: Reading) -> tuple[ConsentRequest, ...]:
            own = self._own(reading)
            if own is None:
                return ()
            clause = "b.partition = ?"
            values: tuple[Any, ...] = (own.id,)
            if pending:
                clause, values = f"{clause} AND c.state = 'pending' AND c.expires_at > ?", (*values, micros(at))
            return consents(reading.connection, clause, values, limit)

        return await self._readers.run(work)

    async def entries(self, ids: Sequence[str]) -> tuple[ArchivalEntry, ...]:
        def work(reading: Reading) -> tuple[ArchivalEntry, ...]:
            visible = reading.visible(self._scope)
            return tuple(entries_of(reading.connection, visible, ids))

        return await self._readers.run(work)

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[ArchivalEntry]:
        return await self._searcher.search(self._scope, query, limit, keywords=keywords, vectors=vectors, wait=wait)

    async def _of(self, id: str, read: Callable[[Reading, SeenBlock], T], empty: T) -> T:
        """Returns what `read` finds of the block with this id; `empty` where the scope doesn't see the block."""

        def work(reading: Reading) -> T:
            found = self._seen(reading, "b.id = ?", (id,))
            return read(reading, found[0]) if found else empty

        return await self._readers.run(work)

    def _seen(self, reading: Reading, clause: str, values: tuple[Any, ...] = (), *, shared: bool = True) -> Sequence[SeenBlock]:
        visible = reading.visible(self._scope)
        return seen_blocks(reading.connection, visible, self._scope.user, clause, values, shared=shared)

    def _own(self, reading: Reading) -> VisiblePartition | None:
        visible = reading.visible(self._scope)
        return next((partition for partition in visible if partition.user == self._scope.user), None)
