"""Block plans: answers the reads about blocks and archival entries, and applies the changes of plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from germane.errors import InvalidInput, NotFound
from germane.kinds.blocks.permission import ConsentRequest
from germane.kinds.blocks.reads import (
    AllIndexed,
    BlockIds,
    BlocksNamed,
    BlocksToIndex,
    BlocksUnder,
    ConsentById,
    ConsentsOn,
    DocumentOf,
    DropShare,
    EntriesById,
    FirstNamed,
    IdsOfBlocks,
    IndexBlock,
    ListBlocks,
    ListConsents,
    PutBlock,
    PutConsent,
    PutEntry,
    PutShare,
    PutSnapshot,
    PutVersion,
    RestoreVersions,
    SeenEntries,
    SharesOf,
    StandingBlocks,
    StoredDocument,
    TakeBack,
    VersionsOf,
)
from germane.kinds.blocks.value import ArchivalEntry, Block, KeptVersion
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
    put_entry,
    put_snapshot,
    put_version,
    restore_versions,
    take_back,
    versions_of,
)
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.reading import Answers, ScopeReading, of_own
from germane.stores.sql.statements import LISTED, micros, rows, to_json
from germane.stores.sql.transaction import Appliers, ScopeWriting
from germane.types.scope import Scope

_LIVE = "(c.state IN ('pending', 'denied') OR (c.state = 'approved' AND c.used_at IS NULL))"
_MAX_LIVE = 200


# Reads. Within a plan, what a read finds is noted: the plan's other reads and its changes reach no other blocks.


def _noted(reading: ScopeReading, found: Sequence[SeenBlock]) -> tuple[Block, ...]:
    if isinstance(reading, ScopeWriting):
        reading.found_blocks.update((seen.block.id, seen) for seen in found)
    return tuple(seen.block for seen in found)


def _found(reading: ScopeReading, id: str) -> SeenBlock | None:
    """Returns the block with this id, within a plan only where a read of it has found the block."""
    if isinstance(reading, ScopeWriting):
        seen: SeenBlock | None = reading.found_blocks.get(id)
        return seen
    found = _seen(reading, "b.id = ?", (id,))
    return found[0] if found else None


def _seen(reading: ScopeReading, clause: str, values: tuple[Any, ...] = (), *, shared: bool = True) -> Sequence[SeenBlock]:
    return seen_blocks(reading.connection, reading.visible, reading.scope.user, clause, values, shared=shared)


def _named(reading: ScopeReading, read: BlocksNamed) -> tuple[Block, ...]:
    return _noted(reading, block_named(reading.connection, reading.visible, reading.scope.user, read.name))


def _first_named(reading: ScopeReading, read: FirstNamed) -> tuple[Block, ...]:
    found = dict[str, Block]()
    for name in dict.fromkeys(read.names):
        for seen in block_named(reading.connection, reading.visible, reading.scope.user, name)[:1]:
            found.setdefault(seen.block.id, seen.block)
    return tuple(found.values())


def _standing(reading: ScopeReading, _: StandingBlocks) -> tuple[Block, ...]:
    labels, found = set[str](), dict[str, Block]()
    for seen in _seen(reading, ALWAYS_SHOWN):
        if seen.block.label in labels:
            continue
        found[seen.block.id] = seen.block
        if seen.block.shared_from is None:
            labels.add(seen.block.label)
    return tuple(found.values())


def _listed(reading: ScopeReading, read: ListBlocks) -> tuple[Block, ...]:
    clause = "b.deleted_at IS NOT NULL" if read.deleted else "b.deleted_at IS NULL"
    values: tuple[Any, ...] = ()
    if read.type is not None:
        clause, values = f"{clause} AND b.type = ?", (read.type,)
    blocks = [seen.block for seen in _seen(reading, clause, values, shared=not read.deleted)]
    if not read.deleted:
        return tuple(blocks)
    mine = [block for block in blocks if block.user == reading.scope.user]
    return tuple(sorted(mine, key=lambda block: (block.deleted_at or block.updated_at, block.id), reverse=True))


def _under(reading: ScopeReading, read: BlocksUnder) -> tuple[Block, ...]:
    return _noted(reading, _seen(reading, *in_folder(read.folder)))


def _to_index(reading: ScopeReading, read: BlocksToIndex) -> tuple[Block, ...]:
    visible = reading.visible
    return _noted(reading, unindexed(reading.connection, visible, reading.scope.user, read.limit)) if visible else ()


def _document(reading: ScopeReading, read: DocumentOf) -> StoredDocument:
    seen = _found(reading, read.id)
    return StoredDocument(whole=True) if seen is None else document_of(reading.connection, seen.key, read)


def _versions(reading: ScopeReading, read: VersionsOf) -> tuple[KeptVersion, ...]:
    seen = _found(reading, read.id)
    return () if seen is None else versions_of(reading.connection, seen.key, read.limit, since=seen.since)


def _consents_on(reading: ScopeReading, read: ConsentsOn) -> tuple[ConsentRequest, ...]:
    seen = _found(reading, read.id)
    if seen is None:
        return ()
    clause = f"c.block = ? AND c.requester = ? AND {_LIVE}"
    return consents(reading.connection, clause, (seen.key, seen.through), _MAX_LIVE)


def _listed_consents(connection: Connection, own: VisiblePartition, read: ListConsents) -> tuple[ConsentRequest, ...]:
    clause = "b.partition = ?"
    values: tuple[Any, ...] = (own.id,)
    if read.pending:
        clause, values = f"{clause} AND c.state = 'pending' AND c.expires_at > ?", (*values, micros(read.at))
    return consents(connection, clause, values, read.limit)


def _consent(reading: ScopeReading, read: ConsentById) -> ConsentRequest | None:
    own = reading.own
    if own is None:
        return None
    for request in consents(reading.connection, "c.id = ? AND b.partition = ?", (read.id, own.id), 1):
        _noted(reading, block_named(reading.connection, (own,), reading.scope.user, request.block_id))
        return request
    return None


def _taken(reading: ScopeReading, read: IdsOfBlocks) -> BlockIds:
    wanted, connection, own = to_json(read.ids), reading.connection, reading.own
    among = f"id IN {LISTED}"
    forgotten = frozenset(id for (id,) in rows(connection, f"SELECT id FROM tombstones WHERE {among}", (wanted,)))
    blocks, entries = dict[str, Block](), dict[str, ArchivalEntry]()
    if own is not None:
        clause = f"b.key IN (SELECT key FROM blocks WHERE {among})"
        mine = seen_blocks(connection, (own,), reading.scope.user, clause, (wanted,), shared=False)
        blocks = {block.id: block for block in _noted(reading, mine)}
        entries = {entry.id: entry for entry in entries_of(connection, (own,), read.ids)}
    sql = f"SELECT id FROM blocks WHERE {among} UNION ALL SELECT id FROM archival_entries WHERE {among}"
    taken = {id for (id,) in rows(connection, sql, (wanted, wanted))}
    return BlockIds(blocks, entries, forgotten, frozenset(taken - blocks.keys() - entries.keys()))


BLOCK_READS: Answers = {
    BlocksNamed: _named,
    FirstNamed: _first_named,
    StandingBlocks: _standing,
    ListBlocks: _listed,
    BlocksUnder: _under,
    BlocksToIndex: _to_index,
    AllIndexed: lambda reading, _: all_indexed(reading.connection, reading.visible),
    DocumentOf: _document,
    VersionsOf: _versions,
    SharesOf: of_own(lambda connection, own, read: shares_of(connection, own, read.id), tuple),
    ConsentsOn: _consents_on,
    ListConsents: of_own(_listed_consents, tuple),
    ConsentById: _consent,
    EntriesById: of_own(lambda connection, own, read: tuple(entries_of(connection, (own,), read.ids)), tuple),
    SeenEntries: lambda reading, read: tuple(entries_of(reading.connection, reading.visible, read.ids)),
    IdsOfBlocks: _taken,
}


# Changes.


def _reached(writing: ScopeWriting, id: str) -> SeenBlock:
    """Returns a block that a read of the plan has found, and that the scope may write to."""
    seen: SeenBlock | None = writing.found_blocks.get(id)
    if seen is None or seen.block.user != writing.scope.user:
        raise NotFound("no block {} of this scope's own", id)
    return seen


def _own(writing: ScopeWriting, id: str) -> SeenBlock:
    seen = _reached(writing, id)
    if seen.block.shared_from is not None:
        raise NotFound("no block {} of this scope's own", id)
    return seen


def _indexable(writing: ScopeWriting, id: str) -> SeenBlock:
    """Returns a block that a read of the plan has found, and that isn't another agent's: its search row holds nothing that
    the scope couldn't write, so that an agent-wide block may be the scope's too."""
    seen: SeenBlock | None = writing.found_blocks.get(id)
    if seen is None or seen.block.shared_from is not None:
        raise NotFound("no block {} of this scope's own", id)
    return seen


def _put(writing: ScopeWriting, change: PutBlock) -> None:
    block = change.block
    seen = _reached(writing, block.id) if block.id in writing.found_blocks else None
    if block.user != writing.scope.user:
        raise InvalidInput("a block that is written must belong to the scope's own user, or be agent-wide where it has none")
    partition = writing.transaction.own(writing.scope) if seen is None else seen.partition
    key = put_block(writing.transaction, partition, None if seen is None else seen.key, block)
    if seen is None:
        writing.found_blocks[block.id] = SeenBlock(key, partition, partition, block)


def _share(writing: ScopeWriting, change: PutShare) -> None:
    """Shares a block with an agent: the share belongs to that agent's partition of the same user."""
    seen, scope = _own(writing, change.id), writing.scope
    grantee = writing.transaction.own(Scope(org=scope.org, agent=change.agent, user=scope.user))
    sql = (
        "INSERT INTO block_shares VALUES (?, ?, ?, ?) ON CONFLICT (block, grantee) DO UPDATE SET permission ="
        " excluded.permission"
    )
    writing.connection.execute(sql, (seen.key, grantee, change.permission, micros(change.at)))
    touch_block(writing.transaction, seen.partition, seen.key)


def _unshare(writing: ScopeWriting, change: DropShare) -> None:
    seen, scope = _own(writing, change.id), writing.scope
    touch_block(writing.transaction, seen.partition, seen.key)
    sql = (
        "DELETE FROM block_shares WHERE block = ? AND grantee IN"
        " (SELECT id FROM partitions WHERE org = ? AND agent = ? AND user = ?)"
    )
    writing.connection.execute(sql, (seen.key, scope.org, change.agent, scope.user or ""))


def _restore_versions(writing: ScopeWriting, change: RestoreVersions) -> None:
    restore_versions(writing.connection, _own(writing, change.id).key, change)
    for share in (one for one in change.shares if one.agent != writing.scope.agent):
        _share(writing, PutShare(id=change.id, agent=share.agent, permission=share.permission, at=share.created_at))


def _put_consent(writing: ScopeWriting, change: PutConsent) -> None:
    reached = _reached(writing, change.request.block_id)
    put_consent(writing.connection, reached.key, reached.through, change.request)


def _put_entry(writing: ScopeWriting, change: PutEntry) -> None:
    if change.entry.user != writing.scope.user:
        raise InvalidInput("an entry must belong to the scope's own user, or be agent-wide where it has none")
    put_entry(writing.transaction, writing.own_id(), change.entry)


BLOCK_CHANGES: Appliers = {
    PutBlock: _put,
    IndexBlock: lambda to, change: derive_block(to.transaction, _indexable(to, change.id)),
    PutVersion: lambda to, change: put_version(to.connection, _reached(to, change.id).key, change),
    TakeBack: lambda to, change: take_back(to.connection, _reached(to, change.id).key, change),
    PutSnapshot: lambda to, change: put_snapshot(to.connection, _reached(to, change.id).key, change),
    RestoreVersions: _restore_versions,
    PutShare: _share,
    DropShare: _unshare,
    PutConsent: _put_consent,
    PutEntry: _put_entry,
}
