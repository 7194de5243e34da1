"""Log: which pages stand in the write-ahead log (file format: sqlite.org/fileformat2.html, 4.1)."""

from __future__ import annotations

from pathlib import Path

import apsw

from germane.stores.sqlite.raw import Raw

__all__ = ["empty", "logged"]

_HEADER, _FRAME = 32, 24
"""Bytes of the log's own header, and of the one before each page."""


def empty(connection: apsw.Connection) -> bool:
    """Whether the log holds nothing at all."""
    return not Path(connection.filename_wal).stat().st_size


def logged(connection: apsw.Connection) -> frozenset[int]:
    """The pages in the log, and perhaps some of commits that never came about. To be asked while nobody can write."""
    if empty(connection):
        return frozenset()
    size, pages = connection.pragma("page_size"), set[int]()
    log = Raw(connection, log=True)
    salts = log.read(_HEADER, 0).tobytes()[16:24]
    for start in range(_HEADER, log.size - _FRAME - size + 1, _FRAME + size):
        frame = log.read(16, start).tobytes()
        if frame[8:16] != salts:  # left over from before the log began anew
            break
        pages.add(int.from_bytes(frame[:4], "big"))
    return frozenset(pages)
