"""Archive rows: archival entries as rows, and what a search of the archive found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import apsw

from germane.blocks.entry import ArchivalEntry
from germane.errors import NotFound
from germane.stores.sqlite.blocks import derive_entry
from germane.stores.sqlite.encoding import LISTED, micros, moment, shown, stored, to_json
from germane.stores.sqlite.readers import Reading
from germane.stores.sqlite.rows import first, only, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, in_clause, owners, visible_ids

__all__ = ["ENTRY", "archived_by_key", "entries_of", "entry_of", "fetch_archived", "has_archive", "put_entry"]

ENTRY = "SELECT key, id, partition, text, metadata, created_at FROM archival_entries"
"""The rows that `entry_of` takes."""
_BLOCK = "SELECT key, id, partition, text, created_at, label, version, type FROM blocks b WHERE deleted_at IS NULL"
_NOT_HIDDEN = (
    " AND NOT EXISTS (SELECT 1 FROM blocks o WHERE o.partition = ? AND o.partition <> b.partition"
    " AND o.label_key = b.label_key AND o.deleted_at IS NULL)"
)
"""A block of the user's own hides the agent-wide one with its label."""
_INSERT = "INSERT INTO archival_entries VALUES (?, ?, ?, ?, ?, ?)"


def entry_of(row: tuple[Any, ...], users: Mapping[int, str | None]) -> ArchivalEntry:
    """Returns the entry in a row of `ENTRY`; `users` maps partition ids to users."""
    metadata = json.loads(row[4])
    return ArchivalEntry(id=row[1], text=shown(row[3]), metadata=metadata, user=users[row[2]], created_at=moment(row[5]))


def entries_of(connection: apsw.Connection, visible: tuple[VisiblePartition, ...], ids: Sequence[str]) -> list[ArchivalEntry]:
    """Returns the entries with these ids in the partitions, in the order of the ids."""
    sql = f"{ENTRY} WHERE id IN {LISTED} AND +partition IN {in_clause(visible)}"
    users = owners(visible)
    found = {row[1]: entry_of(row, users) for row in rows(connection, sql, (to_json(list(ids)),))}
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def put_entry(transaction: Transaction, partition: int, entry: ArchivalEntry) -> None:
    """Inserts the entry with its search row. Raises `NotFound` where its id is taken."""
    connection = transaction.connection
    if first(connection, "SELECT 1 FROM archival_entries WHERE id = ?", (entry.id,)) is not None:
        raise NotFound(f"entry {entry.id!r} can't be stored: its id is taken")
    (key,) = transaction.keys("blocks", 1)
    row = (key, entry.id, partition, stored(entry.text), to_json(entry.metadata), micros(entry.created_at))
    connection.execute(_INSERT, row)
    derive_entry(transaction, partition, key, key, entry)
    transaction.touch((partition,))


def has_archive(connection: apsw.Connection, visible: tuple[VisiblePartition, ...]) -> bool:
    """Returns whether the partitions may have anything that a search of the archive finds."""
    sql = f"SELECT EXISTS (SELECT 1 FROM units_blocks WHERE partition IN {IN_VISIBLE})"
    return bool(only(connection, sql, visible_ids(visible))[0])


def fetch_archived(
    reading: Reading, visible: tuple[VisiblePartition, ...], places: Mapping[int, tuple[int, int]]
) -> dict[int, ArchivalEntry]:
    """Reads the entries and blocks with these keys that a search may show."""
    return archived_by_key(reading.connection, visible, list(places))


def archived_by_key(
    connection: apsw.Connection, visible: tuple[VisiblePartition, ...], keys: Sequence[int]
) -> dict[int, ArchivalEntry]:
    """Returns entries and blocks by their keys, without the agent-wide blocks that the user's own hide."""
    wanted, users = (to_json(list(keys)), *visible_ids(visible)), owners(visible)
    clause = f"key IN {LISTED} AND +partition IN {IN_VISIBLE}"
    found = {row[0]: entry_of(row, users) for row in rows(connection, f"{ENTRY} WHERE {clause}", wanted)}
    mine = next((one.id for one in visible if one.user is not None), None)
    sql, bound = (
        (f"{_BLOCK} AND {clause}", wanted) if mine is None else (f"{_BLOCK} AND {clause}{_NOT_HIDDEN}", (*wanted, mine))
    )
    for key, id, partition, text, created_at, label, version, type in rows(connection, sql, bound):
        found[key] = ArchivalEntry(
            id=id,
            text=shown(text),
            user=users[partition],
            created_at=moment(created_at),
            label=label,
            version=version,
            type=type,
        )
    return found
