"""Checkup: examines a store's file for `germane doctor`: schema, integrity, erasure, vectors, permissions, disk."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import apsw

from germane.store import Checkup
from germane.stores.sqlite.database import APPLICATION, Database, migrations
from germane.stores.sqlite.encoding import moment
from germane.stores.sqlite.erasure import ErasureState, erasure_state
from germane.stores.sqlite.failures import mapped
from germane.stores.sqlite.rows import only, rows
from germane.stores.sqlite.verification import verify

__all__ = ["examine", "verified"]

_ROOM = 100 << 20
"""Free bytes on the disk below which the finding isn't fine."""
_COUNTED = ("partitions", "sessions", "events", "memories", "blocks", "tombstones")


async def verified(database: Database, *, full: bool, progress: Callable[[int, int], None] | None) -> Checkup:
    """Compares the content with what was derived from it, in a thread; see `verification.py`."""
    return await asyncio.to_thread(_verified, database, full, progress)


def _verified(database: Database, full: bool, progress: Callable[[int, int], None] | None) -> Checkup:
    with mapped(database.name):
        connection = database.connect(reading=True)
        try:
            return Checkup(findings=tuple(verify(connection, full=full, progress=progress)))
        finally:
            connection.close()


async def examine(database: Database, model: str, *, stale: int, refused: int, read_only: bool, waiting_for: str) -> Checkup:
    """Examines the file in a thread. `stale` is the number of texts without a vector of `model`, `refused` of those that the
    embedder refuses, `waiting_for` what delayed this process's last scrub, in words."""
    return await asyncio.to_thread(_examine, database, _vectors(model, stale, refused), read_only, waiting_for)


def _examine(database: Database, vectors: tuple[str, str, bool], read_only: bool, waiting_for: str) -> Checkup:
    findings: list[tuple[str, str, bool]] = [("file", database.name, True)]
    with mapped(database.name):
        connection = database.connect(reading=True)
        try:
            findings += _structure(connection)
            findings.append(_erasure(erasure_state(connection), waiting_for))
        finally:
            connection.close()
    findings.append(("access", "read-only" if read_only else "read and write", not read_only))
    findings.append(vectors)
    if database.path is not None:
        findings += _mode(database.path)
        free = shutil.disk_usage(database.path.parent).free
        findings.append(("disk", f"{free >> 20} MB free", free >= _ROOM))
    return Checkup(findings=tuple(findings))


def _vectors(model: str, stale: int, refused: int) -> tuple[str, str, bool]:
    said = f"{model}, {stale} texts without one" if stale else model
    said += f", {refused} of them refused by the embedder" if refused else ""
    said += ": an open store makes them in the background, germane reembed now" if stale > refused else ""
    return ("vectors", said, not stale)


def _erasure(found: ErasureState, waiting_for: str) -> tuple[str, str, bool]:
    if not found.due:
        return ("erasure", "nothing that was forgotten is left in the files", True)
    since = "" if found.since is None else f" since {moment(found.since).isoformat(timespec='seconds')}"
    return ("erasure", f"unfinished{since}, " + (f"waits for {waiting_for}" if waiting_for else "under way"), False)


def _undivided(connection: apsw.Connection) -> list[tuple[str, str, bool]]:
    (count,) = only(connection, "SELECT count(*) FROM undivided")
    waiting = f"{count} of an earlier version are still to be divided for search: that goes on while the store is open"
    return [("long texts", waiting, False)] if count else []


def _unoutlined(connection: apsw.Connection) -> list[tuple[str, str, bool]]:
    (count,) = only(connection, "SELECT count(*) FROM unoutlined")
    waiting = f"{count} sessions still lack lines of their outlines: that goes on while the store is open"
    return [("outlines", waiting, True)] if count else []


def _untold(connection: apsw.Connection) -> list[tuple[str, str, bool]]:
    (count,) = only(connection, "SELECT count(*) FROM untold")
    waiting = f"{count} sessions are still to be read for what they tell of their users: that goes on while the store is open"
    return [("profiles", waiting, True)] if count else []


def _mode(path: Path) -> list[tuple[str, str, bool]]:
    """Reports the file's mode on POSIX systems. A readable file is still fine: its owner may want that."""
    if os.name != "posix":
        return []
    mode = stat.S_IMODE(path.stat().st_mode)
    others = f", everybody on this machine may read it (chmod 600 {path} changes that)" if mode & stat.S_IROTH else ""
    return [("mode", f"{mode:04o}{others}", True)]


def _structure(connection: apsw.Connection) -> list[tuple[str, str, bool]]:
    application, version = connection.pragma("application_id"), connection.pragma("user_version")
    journal, size = connection.pragma("journal_mode"), connection.pragma("page_count") * connection.pragma("page_size")
    faults = [row[0] for row in rows(connection, "PRAGMA integrity_check(10)")]
    counts = [f"{only(connection, f'SELECT count(*) FROM {table}')[0]} {table}" for table in _COUNTED]
    return [
        ("application", "germane" if application == APPLICATION else f"{application:#x}", application == APPLICATION),
        ("schema", f"version {version}", version == len(migrations())),
        ("integrity", "; ".join(faults), faults == ["ok"]),
        ("journal", str(journal), journal in ("wal", "memory", "delete", "off")),
        ("size", f"{size >> 10} KB", True),
        ("contents", ", ".join(counts), True),
        *_undivided(connection),
        *_unoutlined(connection),
        *_untold(connection),
    ]
