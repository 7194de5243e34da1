"""Backup: writes a consistent copy of a store in use, with SQLite's online backup API."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import quote

import apsw

from germane.errors import InvalidInput, StoreUnavailable
from germane.stores.contract import Checkup
from germane.stores.sql.statements import moment, only, rows
from germane.stores.sql.verification import verify
from germane.stores.sqlite.database import APPLICATION, SqliteDatabase, migrations, private_mode, store_errors
from germane.stores.sqlite.erasure import ErasureState, erasure_state
from germane.stores.sqlite.scrub import Scrub

_PAGES = 2000
"""Pages copied between two progress reports."""


async def back_up(database: SqliteDatabase, target: Path, progress: Callable[[int, int], None] | None) -> None:
    """Copies the database to `target`, which must not exist; it is created only when the copy is complete. Where a scrub is due
    in the database, the copy is scrubbed: it holds nothing that was forgotten before. `progress(done, total)` is called in the
    event loop, with pages. Cancelling stops the copy and removes it. Raises `InvalidInput` where the target exists, and
    `StoreUnavailable` where it can't be written."""
    loop, stop = asyncio.get_running_loop(), threading.Event()

    def report(done: int, total: int) -> None:
        if progress is not None and not loop.is_closed():
            loop.call_soon_threadsafe(progress, done, total)

    try:
        await asyncio.to_thread(_copy, database, target, report, stop)
    finally:
        stop.set()


def _copy(database: SqliteDatabase, target: Path, report: Callable[[int, int], None], stop: threading.Event) -> None:
    if target.exists():
        raise InvalidInput("backup target {} exists", str(target), advice="choose another name")
    if not target.absolute().parent.is_dir():
        raise StoreUnavailable(f"backup target {str(target)!r}: the directory doesn't exist")
    partial = target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        with store_errors(str(target)):
            _pages(database, partial, report, stop)
            if not stop.is_set():
                _scrubbed(partial, str(target))
        if not stop.is_set():
            partial.replace(target)
    except OSError as error:
        raise StoreUnavailable(f"backup target {str(target)!r} can't be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)


def _scrubbed(partial: Path, target: str) -> None:
    """Overwrites what the copy holds of forgotten texts, if anything."""
    copy = SqliteDatabase.at(partial)
    connection, guard = copy.connect(), copy.connect(reading=True)
    try:
        if erasure_state(connection).due and (waiting := Scrub(copy, connection, guard, nullcontext()).run()):
            raise StoreUnavailable(f"backup target {target!r} can't be scrubbed, it waits for {waiting}: try again")
    finally:
        guard.close()
        connection.close()


def _pages(database: SqliteDatabase, partial: Path, report: Callable[[int, int], None], stop: threading.Event) -> None:
    source = database.connect(reading=True)
    with private_mode(partial) as mode:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        copy = apsw.Connection(f"file:{quote(str(partial.absolute()))}{mode}", flags=flags)
    try:
        source.execute("BEGIN; SELECT 1 FROM meta")  # one snapshot, so that writes meanwhile don't restart the backup
        with copy.backup("main", source, "main") as backup:
            while not backup.done and not stop.is_set():
                backup.step(_PAGES)
                report(backup.page_count - backup.remaining, backup.page_count)
    finally:
        copy.close()
        source.close()


# Checkup: examines a store's file for `germane doctor`: schema, integrity, erasure, vectors, permissions, disk.


_MIN_FREE_BYTES = 100 << 20
"""Free bytes on the disk below which the finding isn't fine."""
_COUNTED_TABLES = ("partitions", "sessions", "events", "memories", "blocks", "tombstones")


async def verify_store(database: SqliteDatabase, *, full: bool, progress: Callable[[int, int], None] | None) -> Checkup:
    """Compares the content with what was derived from it, in a thread; see `verification.py`."""
    return await asyncio.to_thread(_verified, database, full, progress)


def _verified(database: SqliteDatabase, full: bool, progress: Callable[[int, int], None] | None) -> Checkup:
    with store_errors(database.name):
        connection = database.connect(reading=True)
        try:
            return Checkup(findings=tuple(verify(connection, full=full, progress=progress)))
        finally:
            connection.close()


async def examine(
    database: SqliteDatabase, model: str, *, stale: int, refused: int, read_only: bool, waiting_for: str
) -> Checkup:
    """Examines the file in a thread. `stale` is the number of texts without a vector of `model`, `refused` of those that the
    embedder refuses, `waiting_for` what delayed this process's last scrub, in words."""
    return await asyncio.to_thread(_examine, database, _vectors(model, stale, refused), read_only, waiting_for)


def _examine(database: SqliteDatabase, vectors: tuple[str, str, bool], read_only: bool, waiting_for: str) -> Checkup:
    findings: list[tuple[str, str, bool]] = [("file", database.name, True)]
    with store_errors(database.name):
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
        findings.append(("disk", f"{free >> 20} MB free", free >= _MIN_FREE_BYTES))
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
    counts = [f"{only(connection, f'SELECT count(*) FROM {table}')[0]} {table}" for table in _COUNTED_TABLES]
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
