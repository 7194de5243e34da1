"""Block kind: what the operations on all kinds do to memory blocks, their histories and shares, and to archival entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from germane.errors import InvalidInput, MissingExtra, NotFound, StoreCorrupt
from germane.kinds.blocks.reads import DocumentOf
from germane.kinds.blocks.value import (
    ArchivalEntry,
    block_hash,
    content_hash_of,
    entry_hash,
    searched_text,
    shown_id,
    stored_id,
)
from germane.kinds.memories.reads import Forget, Select
from germane.search.unit import analyse_text
from germane.stores.sql.blocks.block_rows import SeenBlock, seen_blocks, shares_of, touch_block
from germane.stores.sql.blocks.documents import ENTRY, archived_by_key, document_of, entry_of, written_versions
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.totals import unsay
from germane.stores.sql.kind import Counted, Finding, GateQuestion, KindTable, SqlKind, StoredTexts, of_ids, of_keys
from germane.stores.sql.listing import VisiblePartition, in_clause
from germane.stores.sql.search.units import terms_of
from germane.stores.sql.statements import LISTED, first, only, rows, to_json
from germane.stores.sql.tombstones import bury, found_by_id
from germane.stores.sql.transaction import Transaction
from germane.stores.sql.where_clauses import all_or_ids

if TYPE_CHECKING:
    from germane.transfer.contents import Owner, Thing


def _dump(connection: Connection, partition: int, owner: Owner) -> Iterator[Thing]:
    """Yields the blocks, each with its versions and its shares, and then the entries."""
    from germane.transfer.contents import StoredBlock

    own = VisiblePartition(partition, owner.user, 0)
    keys = [key for (key,) in rows(connection, "SELECT key FROM blocks WHERE partition = ? ORDER BY key", (partition,))]
    for key in keys:
        for seen in seen_blocks(connection, (own,), owner.user, "b.key = ?", (key,), shared=False):
            snapshot = first(connection, "SELECT number, data FROM block_snapshots WHERE block = ?", (key,))
            yield StoredBlock(
                block=seen.block,
                snapshot=None if snapshot is None else (snapshot[0], snapshot[1]),
                versions=written_versions(connection, key),
                shares=shares_of(connection, own, seen.block.id),
            )
    for row in rows(connection, f"{ENTRY} WHERE partition = ? ORDER BY key", (partition,)):
        yield entry_of(row, {partition: owner.user})


def _size(thing: Any) -> int:
    if isinstance(thing, ArchivalEntry):
        return len(thing.text)
    return len(thing.block.text) + sum(len(delta or b"") for _, delta in thing.versions)


_BLOCKS = "SELECT count(*), total(octet_length(text)) FROM blocks WHERE partition IN {} AND deleted_at IS NULL"
_ENTRIES = "SELECT count(*), total(octet_length(text)) FROM archival_entries WHERE partition IN {}"


def _count(connection: Connection, here: str, at: datetime) -> Counted:
    (blocks, size), (entries, more) = (only(connection, sql.format(here)) for sql in (_BLOCKS, _ENTRIES))
    return Counted({"blocks": blocks, "archival_entries": entries}, size + more)


def _select(connection: Connection, partition: VisiblePartition, read: Select) -> list[str]:
    """Blocks and entries match `everything`, the owner, or ids of germane's, and no other criterion."""
    if (matching := all_or_ids(read, partition.id)) is None:
        return []
    where, bound = matching
    sql = " UNION ALL ".join(f"SELECT key, id FROM {table} WHERE {where}" for table in ("blocks", "archival_entries"))
    return [id for (id,) in rows(connection, f"SELECT id FROM ({sql}) ORDER BY key", bound * 2)]


def _forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    connection = transaction.connection
    for table in ("blocks", "archival_entries"):
        sql = f"SELECT key, id, partition FROM {table} WHERE id = ? AND partition IN " + in_clause(partitions)
        found = found_by_id(connection, sql, change.block_ids)
        for key, _, partition in found if table == "blocks" else ():
            touch_block(transaction, partition, key)
        if table == "archival_entries":
            unsay(transaction, "blocks", found)
        connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(row[0],) for row in found])  # with what refers to it
        bury(transaction, "blocks", found, change)


# The gate: a block is named with its version, and may be shown while that is the current one. Blocks and entries are
# private.


def _shown(asked: GateQuestion, ids: Sequence[str]) -> Mapping[str, int]:
    if "private" not in asked.filters.sensitivities:
        return {}
    connection, found, wanted = asked.connection, dict[str, int](), frozenset(ids)
    for one in {stored_id(id) for id in ids if stored_id(id) != id}:  # one by one, so that SQLite uses the index on ids
        for seen in seen_blocks(connection, asked.visible, asked.user, "b.deleted_at IS NULL AND b.id = ?", (one,)):
            block = seen.block
            if (name := shown_id(block.id, block.version)) in wanted:
                found.setdefault(name, block_hash(block.id, block.version, None if block.shared_from is None else block))
    if len(found) < len(wanted):
        sql = f"SELECT id FROM archival_entries WHERE id IN {LISTED} AND +partition IN {in_clause(asked.visible)}"
        found |= {id: entry_hash(id) for (id,) in rows(connection, sql, (to_json(ids),))}
    return found


def _stands(asked: GateQuestion, ids: Sequence[str]) -> list[str]:
    """Of a block the version doesn't matter; one that was deleted, or is shared no more, isn't among them."""
    if "private" not in asked.filters.sensitivities:
        return []
    named = [id for id in ids if stored_id(id) != id]
    there = {
        one
        for one in {stored_id(id) for id in named}
        if seen_blocks(asked.connection, asked.visible, asked.user, "b.deleted_at IS NULL AND b.id = ?", (one,))
    }
    return [id for id in named if stored_id(id) in there]


# The doctor compares the search rows of entries and archival blocks, and opens the document of each block.


_SEARCHED = "(SELECT key, partition FROM units_blocks WHERE kind <> 9)"
_MAX_NAMED = 5
"""Damaged blocks that a finding names by their ids."""


def _check(connection: Connection, row: tuple[Any, ...], looked_up: bool) -> tuple[bool | None, bool | None]:
    """An archival entry or block; the checksums of blocks are compared with their documents."""
    if not looked_up:
        return True, None
    key, partition = row
    found = archived_by_key(connection, (VisiblePartition(partition, None, 0),), (key,))
    expected = [analyse_text(searched_text(found[key])).terms] if key in found else []
    return True, key not in found or terms_of(connection, "units_blocks", key) == expected


def _verify(connection: Connection) -> Finding:
    """Returns the finding about all blocks: the ids of those whose document is damaged, or isn't what is shown."""
    count, damaged, mendable = 0, list[str](), list[str]()
    try:
        for seen in _all(connection):
            count += 1
            if not _sound(connection, seen):
                (mendable if _sound(connection, seen, rebuild=True) else damaged).append(seen.block.id)
    except MissingExtra:
        return ("blocks", "their documents weren't read: the extra blocks isn't installed", True)
    if not damaged and not mendable:
        return ("blocks", f"{count} documents are what is shown of them", True)
    parts = []
    if damaged:
        parts.append(
            f"{len(damaged)} of {count} documents are damaged ({_named(damaged)}): their texts are shown as they were rendered"
            " last; restore a backup, or set each text again under a new label"
        )
    if mendable:
        parts.append(
            f"{len(mendable)} of {count} documents have a damaged snapshot ({_named(mendable)}), and nothing is lost: the next"
            " edit of each makes it anew from its changes"
        )
    return ("blocks", ". ".join(parts), False)


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MAX_NAMED} more" if len(ids) > _MAX_NAMED else ""
    return ", ".join(ids[:_MAX_NAMED]) + more


def _all(connection: Connection) -> Iterator[SeenBlock]:
    for key, partition in list(rows(connection, "SELECT key, partition FROM blocks ORDER BY key")):
        yield from seen_blocks(connection, (VisiblePartition(partition, None, 0),), None, "b.key = ?", (key,), shared=False)


def _sound(connection: Connection, seen: SeenBlock, *, rebuild: bool = False) -> bool:
    from germane.kinds.blocks.document import BlockDocument

    block, stored = seen.block, document_of(connection, seen.key, DocumentOf(seen.block.id, rebuild=rebuild))
    try:
        document = BlockDocument.load(block.schema, stored.snapshot, stored.deltas)
        same = document.frontiers() == stored.frontiers and content_hash_of(document.text()) == block.content_hash
    except (StoreCorrupt, NotFound, InvalidInput):
        return False
    return same and content_hash_of(block.text) == block.content_hash


BLOCK_KIND = SqlKind(
    tables=(
        KindTable("blocks", "block", keeps="owner", exported="blocks", changed="updated_at"),
        KindTable("archival_entries", "entry", buried=False, keeps="owner", exported="entries", changed="created_at"),
        KindTable("block_shares", owner="grantee", keeps="names", cleared=True),
        KindTable("block_consents", owner="requester", cleared=True),
    ),
    dump=_dump,
    size=_size,
    count=_count,
    ids="block_ids",
    select=_select,
    forget=_forget,
    sharing="SELECT DISTINCT s.grantee FROM block_shares s JOIN blocks b ON b.key = s.block WHERE b.partition = ?",
    remains={
        "blocks": (of_ids("blocks"),),
        "versions of blocks": (
            of_keys("block_versions", "block", "blocks"),
            of_keys("block_snapshots", "block", "blocks"),
        ),
        "shares and consents": (of_keys("block_shares", "block", "blocks"), of_keys("block_consents", "block", "blocks")),
        "archival entries": (of_ids("archival_entries"),),
    },
    shown=_shown,
    asked_last=True,
    stands=_stands,
    texts=StoredTexts(f"SELECT count(*) FROM {_SEARCHED}", f"SELECT key, partition FROM {_SEARCHED}", "key", _check),
    orphans={
        "search rows of blocks": (
            "units_blocks u WHERE NOT EXISTS (SELECT 1 FROM blocks WHERE key = u.key)"
            " AND NOT EXISTS (SELECT 1 FROM archival_entries WHERE key = u.key)"
        ),
        "versions of blocks": "block_versions v WHERE NOT EXISTS (SELECT 1 FROM blocks WHERE key = v.block)",
        "archival blocks without a search row": (
            "blocks b WHERE b.type = 'archival' AND b.deleted_at IS NULL"
            " AND NOT EXISTS (SELECT 1 FROM units_blocks WHERE key = b.key AND kind <> 9)"
        ),
        "archival entries without a search row": (
            "archival_entries e WHERE NOT EXISTS (SELECT 1 FROM units_blocks WHERE key = e.key)"
        ),
    },
    verify=_verify,
)
