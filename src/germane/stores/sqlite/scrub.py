"""Scrub: make sure that what was deleted is in no file.

SQLite's `secure_delete` overwrites a deleted row where it lies, but not the copies that were left in a page's unallocated
space when its B-tree was balanced before: about one text in four hundred stayed readable. So after a deletion the log is
emptied into the file, and then the unallocated space of every B-tree page is overwritten in place (file format:
sqlite.org/fileformat2.html, 1.6: it lies between the cell pointers and the cell content).

Only bytes that mean nothing are written, so readers aren't disturbed and a crash midway does no harm. The write lock is held
meanwhile, and a small commit after it tells the other connections to forget the pages they had in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from germane.stores.sqlite.database import BUSY, Database
from germane.stores.sqlite.rows import rows

__all__ = ["scrub"]

_HEADER = {2: 12, 5: 12, 10: 8, 13: 8}
"""Bytes of a B-tree page's header, by its type."""
_PATIENCE = 1000
"""Milliseconds to wait for readers; it is tried again later."""


def scrub(connection: apsw.Connection, database: Database) -> bool:
    """Whether everything is clean now; false where a reader stood in the way, or another process wrote in between."""
    connection.set_busy_timeout(_PATIENCE)
    try:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        if database.path is None:
            return True
        connection.execute("BEGIN IMMEDIATE")
        try:
            clean = not Path(f"{database.path}-wal").stat().st_size
            if clean:
                _overwrite(connection, database)
                connection.execute("UPDATE counters SET erasures = erasures + 1")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return clean
    except (apsw.Error, OSError):
        return False
    finally:
        connection.set_busy_timeout(BUSY)


def _overwrite(connection: apsw.Connection, database: Database) -> None:
    size = connection.pragma("page_size")
    pages = [page for (page,) in rows(connection, "SELECT pageno FROM dbstat WHERE pagetype <> 'overflow'")]
    connection.release_memory()
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
    # through SQLite's own file layer: closing a descriptor of ours would drop the locks that its connections hold
    file = apsw.VFSFile(database.vfs or connection.open_vfs, str(database.path), [flags, 0])
    try:
        for number in pages:
            start = (number - 1) * size
            for gap in _gaps(file.xRead(size, start), 100 if number == 1 else 0):
                file.xWrite(bytes(len(gap)), start + gap.start)
        file.xSync(apsw.SQLITE_SYNC_FULL)
    finally:
        file.xClose()


def _gaps(page: bytes, at: int) -> Iterator[range]:
    """The unallocated space of a B-tree page whose header lies `at`, where anything is in it."""
    header = _HEADER.get(page[at])
    if header is None:
        return
    cells = int.from_bytes(page[at + 3 : at + 5], "big")
    first, end = at + header + 2 * cells, int.from_bytes(page[at + 5 : at + 7], "big") or 65536
    if first < end <= len(page) and page.count(0, first, end) < end - first:
        yield range(first, end)
