"""Backup: writes a consistent copy of a store in use, with SQLite's online backup API."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import quote

import apsw

from germane.errors import InvalidInput, StoreUnavailable
from germane.stores.sqlite.database import Database, private
from germane.stores.sqlite.erasure import erasure_state
from germane.stores.sqlite.failures import mapped
from germane.stores.sqlite.scrub import Scrub

__all__ = ["back_up"]

_PAGES = 2000
"""Pages copied between two progress reports."""


async def back_up(database: Database, target: Path, progress: Callable[[int, int], None] | None) -> None:
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


def _copy(database: Database, target: Path, report: Callable[[int, int], None], stop: threading.Event) -> None:
    if target.exists():
        raise InvalidInput(f"backup target {str(target)!r} exists: choose another name")
    if not target.absolute().parent.is_dir():
        raise StoreUnavailable(f"backup target {str(target)!r}: the directory doesn't exist")
    partial = target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        with mapped(str(target)):
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
    copy = Database.at(partial)
    connection, guard = copy.connect(), copy.connect(reading=True)
    try:
        if erasure_state(connection).due and (waiting := Scrub(copy, connection, guard, nullcontext()).run()):
            raise StoreUnavailable(f"backup target {target!r} can't be scrubbed, it waits for {waiting}: try again")
    finally:
        guard.close()
        connection.close()


def _pages(database: Database, partial: Path, report: Callable[[int, int], None], stop: threading.Event) -> None:
    source = database.connect(reading=True)
    with private(partial) as mode:
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
