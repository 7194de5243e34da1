"""Checkup: what `doctor` looks at in a store."""

from __future__ import annotations

import asyncio
import shutil

import apsw

from germane.shelf import Checkup
from germane.stores.sqlite.database import APPLICATION, Database, migrations
from germane.stores.sqlite.failures import mapped
from germane.stores.sqlite.rows import only, rows

__all__ = ["examine"]

_ROOM = 100 << 20
"""Bytes free on the disk below which it is told."""
_COUNTED = ("partitions", "sessions", "events", "memories", "tombstones")


async def examine(database: Database, model: str, *, stale: int, read_only: bool) -> Checkup:
    """`stale` texts have no vector of `model`."""
    return await asyncio.to_thread(_examine, database, model, stale, read_only)


def _examine(database: Database, model: str, stale: int, read_only: bool) -> Checkup:
    findings: list[tuple[str, str, bool]] = [("file", database.name, True)]
    with mapped(database.name):
        connection = database.connect(reading=True)
        try:
            findings += _structure(connection)
        finally:
            connection.close()
    findings.append(("access", "read-only" if read_only else "read and write", not read_only))
    findings.append(("vectors", f"{model}, {stale} texts without one" if stale else model, not stale))
    if database.path is not None:
        free = shutil.disk_usage(database.path.parent).free
        findings.append(("disk", f"{free >> 20} MB free", free >= _ROOM))
    return Checkup(findings=tuple(findings))


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
    ]
