"""Block work: answers the reads of one plan about blocks, and applies its changes.

A change names a block by its id. It is applied only where a read of the same plan has found the block, so that a plan reaches
no block that its scope doesn't see. A scope writes to blocks of its own user (agent-wide ones where it has none), and to those
that are shared with it likewise.
"""

from __future__ import annotations

from typing import Any

from germane.blocks.block import Block
from germane.blocks.operations import (
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
from germane.errors import InvalidInput, NotFound
from germane.stores.sqlite.archive import entries_of, put_entry
from germane.stores.sqlite.block_consents import consents, put_consent, shares_of
from germane.stores.sqlite.block_documents import (
    document_of,
    history_of,
    put_snapshot,
    put_version,
    restore_history,
    take_back,
)
from germane.stores.sqlite.blocks import (
    SeenBlock,
    block_named,
    derive_block,
    put_block,
    seen_blocks,
    touch_block,
    under,
    unindexed,
)
from germane.stores.sqlite.encoding import LISTED, micros, to_json
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.types.plan import Change, Read
from germane.types.scope import Scope

__all__ = ["BLOCK_CHANGES", "BLOCK_READS", "BlockWork"]

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
        visible, connection = self._transaction.visible_partitions(self._scope), self._connection
        own = tuple(partition for partition in visible if partition.user == self._scope.user)
        match read:
            case BlocksNamed(name):
                return self._noted(block_named(connection, visible, self._scope.user, name))
            case BlocksUnder(folder):
                return self._noted(seen_blocks(connection, visible, self._scope.user, *under(folder)))
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
