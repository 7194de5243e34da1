"""Block document rows: a block's versions, its changes and its snapshot, which are bytes here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from germane.errors import NotFound
from germane.kinds.blocks.reads import DocumentOf, PutSnapshot, PutVersion, RestoreVersions, StoredDocument, TakeBack
from germane.kinds.blocks.value import ArchivalEntry, KeptVersion, Version
from germane.stores.sql.blocks.block_rows import derive_entry
from germane.stores.sql.columns import DICT, FLAG, HEX, TEXT, TIME, Column, Given, Joined, RowKey, RowOwner, Table
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, in_clause, owners, visible_ids
from germane.stores.sql.reading import Reading
from germane.stores.sql.statements import LISTED, Row, first, from_sql, micros, moment, only, rows, to_json
from germane.stores.sql.transaction import Transaction

VERSIONS = Table(
    "block_versions",
    KeptVersion,
    (
        Given("block"),
        Column("number", field="version.number"),
        Column("kind", field="version.kind"),
        Column("at", TIME, field="version.at"),
        Column("by", TEXT, field="version.by"),
        Column("operation", field="version.operation"),
        Column("reason", TEXT, field="version.reason"),
        Column("characters", field="version.characters"),
        Column("content_hash", HEX, field="version.content_hash"),
        Column("frontiers"),
        Given("delta"),
        Column("size"),
        Column("target", field="version.target"),
        Column("span"),
        Column("undone_by"),
        Joined("undone", "undone_by IS NOT NULL", FLAG, field="version.undone"),
    ),
    parts={"version": Version},
)
_INSERT_VERSION = VERSIONS.insert()
_VERSIONS = f"SELECT {VERSIONS.selected()}, delta FROM block_versions WHERE block = ? ORDER BY number"
_WAITING = "SELECT count(*), total(size) FROM block_versions WHERE block = ? AND number > ?"
_DELTAS = "SELECT delta FROM block_versions WHERE block = ? AND number > ? AND delta IS NOT NULL ORDER BY number"


def versions_of(
    connection: Connection, key: int, limit: int | None = None, *, since: int | None = None
) -> tuple[KeptVersion, ...]:
    """Returns the versions that are kept, by number; the last `limit` of them, where one is given. Whom the block was shared
    with at `since`, in microseconds, is given what it was then, without who had made it so and why, and what followed."""
    sql, bound = (_VERSIONS, (key,)) if limit is None else (f"{_VERSIONS} DESC LIMIT ?", (key, limit))
    found = [VERSIONS.value(row) for row in rows(connection, sql, bound)]
    found = found if limit is None else found[::-1]
    if since is None:
        return tuple(found)
    shared = max((place for place, kept in enumerate(found) if micros(kept.version.at) <= since), default=None)
    if shared is None:
        return tuple(found)
    first_seen = found[shared]
    return (replace(first_seen, version=replace(first_seen.version, by="", reason="")), *found[shared + 1 :])


def written_versions(connection: Connection, key: int) -> tuple[tuple[KeptVersion, bytes | None], ...]:
    """Returns the versions that are kept, by number, each with its change where that is kept by itself."""
    return tuple((VERSIONS.value(row), row[-1]) for row in rows(connection, _VERSIONS, (key,)))


def document_of(connection: Connection, key: int, read: DocumentOf) -> StoredDocument:
    """Returns the changes after the version that was asked for, where all of them are kept by themselves, else the whole
    document; with `rebuild` all changes, where none is gone."""
    snapshot = first(connection, "SELECT number, data FROM block_snapshots WHERE block = ?", (key,))
    number = -1 if snapshot is None or read.rebuild else snapshot[0]
    waiting, size = only(connection, _WAITING, (key, number))
    whole = read.since < 0 or read.since < number
    deltas = [delta for (delta,) in rows(connection, _DELTAS, (key, number if whole else read.since))]
    if (
        read.rebuild
        and first(connection, "SELECT 1 FROM block_versions WHERE block = ? AND number = 0 AND delta NOT NULL", (key,)) is None
    ):
        deltas = []
    last = first(connection, "SELECT frontiers FROM block_versions WHERE block = ? ORDER BY number DESC LIMIT 1", (key,))
    held = 0 if snapshot is None else len(snapshot[1])
    return StoredDocument(
        whole=whole,
        snapshot=snapshot[1] if whole and snapshot is not None and not read.rebuild else None,
        deltas=tuple(deltas),
        frontiers=None if last is None else last[0],
        waiting=waiting,
        waiting_size=int(size),
        size=held + int(size),
    )


def put_version(connection: Connection, key: int, change: PutVersion) -> None:
    _insert(connection, key, [(change.entry, change.delta or None)])


def restore_versions(connection: Connection, key: int, change: RestoreVersions) -> None:
    _insert(connection, key, change.versions)
    if change.snapshot is not None:
        connection.execute("INSERT INTO block_snapshots VALUES (?, ?, ?)", (key, *change.snapshot))


def take_back(connection: Connection, key: int, change: TakeBack) -> None:
    sql = "UPDATE block_versions SET undone_by = ?, span = coalesce(?, span) WHERE block = ? AND number = ?"
    connection.execute(sql, (change.by, change.span, key, change.number))


def put_snapshot(connection: Connection, key: int, change: PutSnapshot) -> None:
    """Keeps the changes as long as nothing before them is gone: a damaged snapshot can then be made anew from them."""
    connection.execute("INSERT OR REPLACE INTO block_snapshots VALUES (?, ?, ?)", (key, change.number, change.data))
    connection.execute("DELETE FROM block_versions WHERE block = ? AND number < ?", (key, change.first))
    if first(connection, "SELECT 1 FROM block_versions WHERE block = ? AND number = 0 AND delta IS NOT NULL", (key,)) is None:
        connection.execute("UPDATE block_versions SET delta = NULL WHERE block = ? AND number <= ?", (key, change.number))


def _insert(connection: Connection, key: int, versions: Iterable[tuple[KeptVersion, bytes | None]]) -> None:
    connection.executemany(_INSERT_VERSION, [VERSIONS.cells(kept, key, delta) for kept, delta in versions])


# Entries: archival entries as rows, and what a search of them found.


ENTRIES = Table(
    "archival_entries",
    ArchivalEntry,
    (RowKey(), Column("id"), RowOwner(), Column("text", TEXT), Column("metadata", DICT), Column("created_at", TIME)),
    unstored=("label", "version", "type", "secrets"),
)
entry_of: Callable[[Row, Mapping[int, str | None]], ArchivalEntry] = ENTRIES.value
"""Returns the entry in a row of `ENTRY`; `users` maps partition ids to users."""
ENTRY = f"SELECT {ENTRIES.selected()} FROM archival_entries"
"""The rows that `entry_of` takes."""
_BLOCK = "SELECT key, id, partition, text, created_at, label, version, type FROM blocks b WHERE deleted_at IS NULL"
_NOT_HIDDEN = (
    " AND NOT EXISTS (SELECT 1 FROM blocks o WHERE o.partition = ? AND o.partition <> b.partition"
    " AND o.label_key = b.label_key AND o.deleted_at IS NULL)"
)
"""A block of the user's own hides the agent-wide one with its label."""
_INSERT_ENTRY = ENTRIES.insert()


def entries_of(connection: Connection, visible: tuple[VisiblePartition, ...], ids: Sequence[str]) -> list[ArchivalEntry]:
    """Returns the entries with these ids in the partitions, in the order of the ids."""
    sql = f"{ENTRY} WHERE id IN {LISTED} AND +partition IN {in_clause(visible)}"
    users = owners(visible)
    entries = [entry_of(row, users) for row in rows(connection, sql, (to_json(list(ids)),))]
    found = {entry.id: entry for entry in entries}
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def put_entry(transaction: Transaction, partition: int, entry: ArchivalEntry) -> None:
    """Inserts the entry with its search row. Raises `NotFound` where its id is taken."""
    connection = transaction.connection
    if first(connection, "SELECT 1 FROM archival_entries WHERE id = ?", (entry.id,)) is not None:
        raise NotFound("entry {} can't be stored: its id is taken", entry.id)
    (key,) = transaction.keys("blocks", 1)
    connection.execute(_INSERT_ENTRY, ENTRIES.cells(entry, key, partition))
    derive_entry(transaction, partition, key, key, entry)
    transaction.touch((partition,))


def has_archive(connection: Connection, visible: tuple[VisiblePartition, ...]) -> bool:
    """Returns whether the partitions may have anything that a search of the archive finds."""
    sql = f"SELECT EXISTS (SELECT 1 FROM units_blocks WHERE partition IN {IN_VISIBLE})"
    return bool(only(connection, sql, visible_ids(visible))[0])


def fetch_archived(
    reading: Reading,
    visible: tuple[VisiblePartition, ...],
    places: Mapping[int, tuple[int, int]],
    best: Collection[int],
) -> dict[int, ArchivalEntry]:
    """Reads the entries and blocks with these keys that a search may show."""
    return archived_by_key(reading.connection, visible, list(places))


def archived_by_key(
    connection: Connection, visible: tuple[VisiblePartition, ...], keys: Sequence[int]
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
            text=from_sql(text),
            user=users[partition],
            created_at=moment(created_at),
            label=label,
            version=version,
            type=type,
        )
    return found
