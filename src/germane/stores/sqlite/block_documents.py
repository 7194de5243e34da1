"""Block document rows: a block's history, its changes and its snapshot, which are bytes here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import apsw

from germane.blocks.operations import DocumentOf, PutSnapshot, PutVersion, RestoreHistory, StoredDocument, TakeBack
from germane.blocks.version import KeptVersion, Version
from germane.stores.sqlite.encoding import micros, moment, shown, stored
from germane.stores.sqlite.rows import first, only, rows

__all__ = [
    "document_of",
    "history_of",
    "put_snapshot",
    "put_version",
    "restore_history",
    "take_back",
    "written_versions",
]

_INSERT = (
    "INSERT INTO block_versions (block, number, kind, at, by, operation, reason, characters, content_hash, frontiers, delta,"
    " size, target, span, undone_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_HISTORY = (
    "SELECT number, kind, at, by, operation, reason, characters, content_hash, frontiers, size, target, span,"
    " undone_by, delta FROM block_versions WHERE block = ? ORDER BY number"
)
_WAITING = "SELECT count(*), total(size) FROM block_versions WHERE block = ? AND number > ?"
_DELTAS = "SELECT delta FROM block_versions WHERE block = ? AND number > ? AND delta IS NOT NULL ORDER BY number"


def history_of(
    connection: apsw.Connection, key: int, limit: int | None = None, *, since: int | None = None
) -> tuple[KeptVersion, ...]:
    """Returns the versions that are kept, by number; the last `limit` of them, where one is given. Whom the block was shared
    with at `since`, in microseconds, is given what it was then, without who had made it so and why, and what followed."""
    sql, bound = (_HISTORY, (key,)) if limit is None else (f"{_HISTORY} DESC LIMIT ?", (key, limit))
    found = [_kept(row) for row in rows(connection, sql, bound)]
    found = found if limit is None else found[::-1]
    if since is None:
        return tuple(found)
    shared = max((place for place, kept in enumerate(found) if micros(kept.version.at) <= since), default=None)
    if shared is None:
        return tuple(found)
    first_seen = found[shared]
    return (replace(first_seen, version=replace(first_seen.version, by="", reason="")), *found[shared + 1 :])


def written_versions(connection: apsw.Connection, key: int) -> tuple[tuple[KeptVersion, bytes | None], ...]:
    """Returns the versions that are kept, by number, each with its change where that is kept by itself."""
    return tuple((_kept(row), row[13]) for row in rows(connection, _HISTORY, (key,)))


def document_of(connection: apsw.Connection, key: int, read: DocumentOf) -> StoredDocument:
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


def put_version(connection: apsw.Connection, key: int, change: PutVersion) -> None:
    _insert(connection, key, [(change.entry, change.delta or None)])


def restore_history(connection: apsw.Connection, key: int, change: RestoreHistory) -> None:
    _insert(connection, key, change.versions)
    if change.snapshot is not None:
        connection.execute("INSERT INTO block_snapshots VALUES (?, ?, ?)", (key, *change.snapshot))


def take_back(connection: apsw.Connection, key: int, change: TakeBack) -> None:
    sql = "UPDATE block_versions SET undone_by = ?, span = coalesce(?, span) WHERE block = ? AND number = ?"
    connection.execute(sql, (change.by, change.span, key, change.number))


def put_snapshot(connection: apsw.Connection, key: int, change: PutSnapshot) -> None:
    """Keeps the changes as long as nothing before them is gone: a damaged snapshot can then be made anew from them."""
    connection.execute("INSERT OR REPLACE INTO block_snapshots VALUES (?, ?, ?)", (key, change.number, change.data))
    connection.execute("DELETE FROM block_versions WHERE block = ? AND number < ?", (key, change.first))
    if first(connection, "SELECT 1 FROM block_versions WHERE block = ? AND number = 0 AND delta IS NOT NULL", (key,)) is None:
        connection.execute("UPDATE block_versions SET delta = NULL WHERE block = ? AND number <= ?", (key, change.number))


def _insert(connection: apsw.Connection, key: int, versions: Iterable[tuple[KeptVersion, bytes | None]]) -> None:
    connection.executemany(_INSERT, [_row(key, kept, delta) for kept, delta in versions])


def _row(key: int, kept: KeptVersion, delta: bytes | None) -> tuple[Any, ...]:
    version = kept.version
    return (
        key,
        version.number,
        version.kind,
        micros(version.at),
        stored(version.by),
        version.operation,
        stored(version.reason),
        version.characters,
        bytes.fromhex(version.content_hash),
        kept.frontiers,
        delta,
        kept.size,
        version.target,
        kept.span,
        kept.undone_by,
    )


def _kept(row: tuple[Any, ...]) -> KeptVersion:
    number, kind, at, by, operation, reason, characters, content_hash, frontiers, size, target, span, undone_by, _ = row
    version = Version(
        number=number,
        kind=kind,
        at=moment(at),
        by=shown(by),
        operation=operation,
        reason=shown(reason),
        characters=characters,
        content_hash=content_hash.hex(),
        target=target,
        undone=undone_by is not None,
    )
    return KeptVersion(version=version, frontiers=frontiers, size=size, span=span, undone_by=undone_by)
