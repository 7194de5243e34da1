"""Block plans and reader: answers the reads about blocks, of plans and of one scope, and applies the changes of plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from germane.errors import InvalidInput, NotFound
from germane.kinds.blocks.permission import ConsentRequest, Share
from germane.kinds.blocks.reads import (
    BlockIds,
    BlocksNamed,
    BlocksToIndex,
    BlocksUnder,
    ConsentById,
    ConsentsOn,
    DocumentOf,
    DropShare,
    EntriesById,
    HistoryOf,
    IdsOfBlocks,
    IndexBlock,
    PutBlock,
    PutConsent,
    PutEntry,
    PutShare,
    PutSnapshot,
    PutVersion,
    RestoreHistory,
    SharesOf,
    StoredDocument,
    TakeBack,
)
from germane.kinds.blocks.value import ArchivalEntry, Block, BlockType, KeptVersion
from germane.stores.sql.blocks.block_rows import (
    ALWAYS_SHOWN,
    SeenBlock,
    all_indexed,
    block_named,
    consents,
    derive_block,
    in_folder,
    put_block,
    put_consent,
    seen_blocks,
    shares_of,
    touch_block,
    unindexed,
)
from germane.stores.sql.blocks.documents import (
    document_of,
    entries_of,
    history_of,
    put_entry,
    put_snapshot,
    put_version,
    restore_history,
    take_back,
)
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.reading import Readers, Reading
from germane.stores.sql.search.partitions import Searcher
from germane.stores.sql.statements import LISTED, micros, rows, to_json
from germane.stores.sql.transaction import Transaction
from germane.types.evidence import Found
from germane.types.plan import Change, Read
from germane.types.query import Query
from germane.types.scope import Scope

BLOCK_READS = (
    BlocksNamed,
    BlocksToIndex,
    BlocksUnder,
    DocumentOf,
    HistoryOf,
    SharesOf,
    ConsentsOn,
    ConsentById,
    EntriesById,
    IdsOfBlocks,
)
BLOCK_CHANGES = (
    PutBlock,
    PutVersion,
    TakeBack,
    PutSnapshot,
    RestoreHistory,
    PutShare,
    DropShare,
    PutConsent,
    PutEntry,
    IndexBlock,
)
_LIVE = "(c.state IN ('pending', 'denied') OR (c.state = 'approved' AND c.used_at IS NULL))"
_MAX_LIVE = 200


class BlockWork:
    """The part of one plan that is about blocks."""

    def __init__(self, scope: Scope, transaction: Transaction) -> None:
        self._scope, self._transaction, self._connection = scope, transaction, transaction.connection
        self._found: dict[str, SeenBlock] = {}

    def answer(self, read: Read[Any]) -> Any:
        visible, connection = self._transaction.visible(self._scope), self._connection
        own = tuple(partition for partition in visible if partition.user == self._scope.user)
        match read:
            case BlocksNamed(name):
                return self._noted(block_named(connection, visible, self._scope.user, name))
            case BlocksUnder(folder):
                return self._noted(seen_blocks(connection, visible, self._scope.user, *in_folder(folder)))
            case BlocksToIndex(limit):
                return self._noted(unindexed(connection, visible, self._scope.user, limit)) if visible else ()
            case DocumentOf(id):
                return document_of(connection, self._found[id].key, read) if id in self._found else StoredDocument(whole=True)
            case HistoryOf(id, limit):
                seen = self._found.get(id)
                return () if seen is None else history_of(connection, seen.key, limit, since=seen.since)
            case SharesOf(id):
                return shares_of(connection, own[0], id) if own else ()
            case ConsentsOn(id) if id in self._found:
                clause, values = f"c.block = ? AND c.requester = ? AND {_LIVE}", (self._found[id].key, self._found[id].through)
                return consents(connection, clause, values, _MAX_LIVE)
            case ConsentsOn():
                return ()
            case ConsentById(id):
                return self._consent(own, id)
            case EntriesById(ids):
                return tuple(entries_of(connection, own, ids)) if own else ()
            case IdsOfBlocks(ids):
                return self._taken(own, ids)
        raise InvalidInput(f"the store can't answer {type(read).__name__}")

    def apply(self, change: Change) -> None:
        transaction, connection = self._transaction, self._connection
        match change:
            case PutBlock(block):
                self._put(block)
            case IndexBlock(id):
                derive_block(transaction, self._indexable(id))
            case PutVersion():
                put_version(connection, self._reached(change.id).key, change)
            case TakeBack():
                take_back(connection, self._reached(change.id).key, change)
            case PutSnapshot():
                put_snapshot(connection, self._reached(change.id).key, change)
            case RestoreHistory():
                restore_history(connection, self._own(change.id).key, change)
                for share in (one for one in change.shares if one.agent != self._scope.agent):
                    self._share(PutShare(id=change.id, agent=share.agent, permission=share.permission, at=share.created_at))
            case PutShare():
                self._share(change)
            case DropShare():
                self._unshare(change)
            case PutConsent(request):
                reached = self._reached(request.block_id)
                put_consent(connection, reached.key, reached.through, request)
            case PutEntry(entry):
                if entry.user != self._scope.user:
                    raise InvalidInput("an entry must belong to the scope's own user, or be agent-wide where it has none")
                put_entry(transaction, transaction.own(self._scope), entry)

    def _noted(self, found: list[SeenBlock]) -> tuple[Block, ...]:
        self._found |= {seen.block.id: seen for seen in found}
        return tuple(seen.block for seen in found)

    def _put(self, block: Block) -> None:
        seen = self._reached(block.id) if block.id in self._found else None
        if block.user != self._scope.user:
            raise InvalidInput(
                "a block that is written must belong to the scope's own user, or be agent-wide where it has none"
            )
        partition = self._transaction.own(self._scope) if seen is None else seen.partition
        key = put_block(self._transaction, partition, None if seen is None else seen.key, block)
        if seen is None:
            self._found[block.id] = SeenBlock(key, partition, partition, block)

    def _share(self, change: PutShare) -> None:
        """Shares a block with an agent: the share belongs to that agent's partition of the same user."""
        seen, scope = self._own(change.id), self._scope
        grantee = self._transaction.own(Scope(org=scope.org, agent=change.agent, user=scope.user))
        sql = (
            "INSERT INTO block_shares VALUES (?, ?, ?, ?) ON CONFLICT (block, grantee) DO UPDATE SET permission ="
            " excluded.permission"
        )
        self._connection.execute(sql, (seen.key, grantee, change.permission, micros(change.at)))
        touch_block(self._transaction, seen.partition, seen.key)

    def _unshare(self, change: DropShare) -> None:
        seen, scope = self._own(change.id), self._scope
        touch_block(self._transaction, seen.partition, seen.key)
        sql = (
            "DELETE FROM block_shares WHERE block = ? AND grantee IN"
            " (SELECT id FROM partitions WHERE org = ? AND agent = ? AND user = ?)"
        )
        self._connection.execute(sql, (seen.key, scope.org, change.agent, scope.user or ""))

    def _consent(self, own: tuple[VisiblePartition, ...], id: str) -> Any:
        if not own:
            return None
        found = consents(self._connection, "c.id = ? AND b.partition = ?", (id, own[0].id), 1)
        for request in found:
            self._noted(block_named(self._connection, own, self._scope.user, request.block_id))
            return request
        return None

    def _taken(self, own: tuple[VisiblePartition, ...], ids: tuple[str, ...]) -> BlockIds:
        wanted, connection = to_json(ids), self._connection
        among = f"id IN {LISTED}"
        forgotten = frozenset(id for (id,) in rows(connection, f"SELECT id FROM tombstones WHERE {among}", (wanted,)))
        clause = f"b.key IN (SELECT key FROM blocks WHERE {among})"
        mine = self._noted(seen_blocks(connection, own, self._scope.user, clause, (wanted,), shared=False)) if own else ()
        entries = {entry.id: entry for entry in entries_of(connection, own, ids)} if own else {}
        blocks = {block.id: block for block in mine}
        sql = f"SELECT id FROM blocks WHERE {among} UNION ALL SELECT id FROM archival_entries WHERE {among}"
        taken = {id for (id,) in rows(connection, sql, (wanted, wanted))}
        return BlockIds(blocks, entries, forgotten, frozenset(taken - blocks.keys() - entries.keys()))

    def _indexable(self, id: str) -> SeenBlock:
        """Returns a block that a read of the plan has found, and that isn't another agent's: its search row holds nothing that
        the scope couldn't write, so that an agent-wide block may be the scope's too."""
        seen = self._found.get(id)
        if seen is None or seen.block.shared_from is not None:
            raise NotFound(f"no block {id!r} of this scope's own")
        return seen

    def _reached(self, id: str) -> SeenBlock:
        """Returns a block that a read of the plan has found, and that the scope may write to."""
        seen = self._found.get(id)
        if seen is None or seen.block.user != self._scope.user:
            raise NotFound(f"no block {id!r} of this scope's own")
        return seen

    def _own(self, id: str) -> SeenBlock:
        seen = self._reached(id)
        if seen.block.shared_from is not None:
            raise NotFound(f"no block {id!r} of this scope's own")
        return seen


# Reader: reads and searches the blocks of one scope.


T = TypeVar("T")


class SqlBlocks:
    """Implements `germane.kinds.blocks.reads.BlockReader`."""

    def __init__(self, scope: Scope, readers: Readers, searcher: Searcher[ArchivalEntry]) -> None:
        self._scope, self._readers, self._searcher = scope, readers, searcher

    async def standing(self) -> tuple[Block, ...]:
        def work(reading: Reading) -> tuple[Block, ...]:
            labels, found = set[str](), dict[str, Block]()
            for seen in self._seen(reading, ALWAYS_SHOWN):
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
        clause, values = in_folder(folder)
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
