"""Raw file: reads and writes bytes of the file and of its log without SQLite's cache, and finds what to overwrite.

Opening the file a second time isn't safe: POSIX drops a process's locks on a file when *any* descriptor of it is closed. So the
bytes are read and written through the file handle of a connection (`sqlite3_file`, sqlite.org/c3ref/file.html), which works
with every VFS. The calls release the GIL. The log's format is in sqlite.org/fileformat2.html, 4.1.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

_HEADER, _FRAME = 32, 24
"""Bytes of the log's own header, and of the one before each page."""
_FILE = ctypes.c_void_p
_OFFSET = ctypes.c_int64


class _Methods(ctypes.Structure):
    """The first fields of `sqlite3_io_methods`; new versions of SQLite only append fields."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("close", ctypes.c_void_p),
        ("read", ctypes.CFUNCTYPE(ctypes.c_int, _FILE, ctypes.c_void_p, ctypes.c_int, _OFFSET)),
        ("write", ctypes.CFUNCTYPE(ctypes.c_int, _FILE, ctypes.c_char_p, ctypes.c_int, _OFFSET)),
        ("truncate", ctypes.c_void_p),
        ("sync", ctypes.CFUNCTYPE(ctypes.c_int, _FILE, ctypes.c_int)),
        ("size", ctypes.CFUNCTYPE(ctypes.c_int, _FILE, ctypes.POINTER(_OFFSET))),
    )


class RawFile:
    """The main file of `connection`, or with `log` its log, which must be there. Of no use once the connection is closed.
    Every method raises what SQLite raises."""

    def __init__(self, connection: apsw.Connection, *, log: bool = False) -> None:
        found = ctypes.c_void_p()
        kind = apsw.SQLITE_FCNTL_JOURNAL_POINTER if log else apsw.SQLITE_FCNTL_FILE_POINTER
        connection.file_control("main", kind, ctypes.addressof(found))
        self._file = found.value
        methods = ctypes.cast(found, ctypes.POINTER(ctypes.c_void_p)).contents.value if found.value else None
        if methods is None:
            raise apsw.CantOpenError("the file isn't open")
        self._methods = ctypes.cast(methods, ctypes.POINTER(_Methods)).contents

    @property
    def size(self) -> int:
        """Bytes."""
        size = _OFFSET()
        _check(self._methods.size(self._file, ctypes.byref(size)))
        return size.value

    def read(self, length: int, start: int) -> NDArray[np.uint8]:
        """`length` bytes from `start` on; zeros for what lies beyond the end."""
        content = np.empty(length, np.uint8)
        _check(self._methods.read(self._file, content.ctypes.data, length, start))
        return content

    def write(self, content: bytes, start: int) -> None:
        _check(self._methods.write(self._file, content, len(content), start))

    def sync(self) -> None:
        """Returns when the bytes written survive a power failure."""
        _check(self._methods.sync(self._file, apsw.SQLITE_SYNC_FULL))


def _check(code: int) -> None:
    if code not in (apsw.SQLITE_OK, apsw.SQLITE_IOERR_SHORT_READ):
        raise apsw.exception_for(code)


def log_is_empty(connection: apsw.Connection) -> bool:
    """Whether the log file has no bytes."""
    return not Path(connection.filename_wal).stat().st_size


def pages_in_log(connection: apsw.Connection) -> frozenset[int]:
    """Returns the pages in the log; they may include pages of commits that never completed. Call it while nobody can write."""
    if log_is_empty(connection):
        return frozenset()
    size, pages = connection.pragma("page_size"), set[int]()
    log = RawFile(connection, log=True)
    salts = log.read(_HEADER, 0).tobytes()[16:24]
    for start in range(_HEADER, log.size - _FRAME - size + 1, _FRAME + size):
        frame = log.read(16, start).tobytes()
        if frame[8:16] != salts:  # a frame from before the log was restarted
            break
        pages.add(int.from_bytes(frame[:4], "big"))
    return frozenset(pages)


# Gaps: the unallocated space of B-tree pages that isn't empty, found in many pages at once. The space lies between a
# page's cell pointers and its cell content (sqlite.org/fileformat2.html, 1.6). Nothing reads it, so it may be
# overwritten. SQLite leaves copies of rows there when it balances a B-tree.


CLASSIFIABLE_PAGES = 1 << 25
"""Number of pages below which a page's first byte tells whether it is a B-tree page. Other pages begin with the number of
another page, whose highest byte is 0 or 1 in files of this size; no B-tree page begins with these."""
_BTREE_HEADER = np.zeros(256, np.int64)
_BTREE_HEADER[[2, 5, 10, 13]] = 12, 12, 8, 8
_BTREE_HEADER.setflags(write=False)
"""Bytes of a B-tree page's header, by the page's first byte; 0 for pages of other kinds."""
_FILE_HEADER = 100
"""Bytes of the file's header, which precedes the header of page 1."""


def gaps(content: NDArray[np.uint8], size: int, first: int) -> Iterator[tuple[int, int, int]]:
    """Yields the gaps that aren't all zeros, as (page, from, to) with `to` excluded. `content`, of shape (pages · size,), holds
    whole pages of `size` bytes, beginning with page `first`. Pages count from 1, bytes from the beginning of their page."""
    pages = content.reshape(-1, size)
    at = np.zeros(len(pages), np.int64)
    if first == 1:
        at[0] = _FILE_HEADER
    rows = np.arange(len(pages))
    header = _BTREE_HEADER[pages[rows, at]]
    begins = at + header + 2 * _pair(pages, rows, at + 3)
    ends = _pair(pages, rows, at + 5)
    ends[ends == 0] = 65536
    real = np.flatnonzero((header > 0) & (begins < ends) & (ends <= size))
    edges = np.empty(2 * len(real), np.int64)
    edges[0::2] = real * size + begins[real]
    edges[1::2] = real * size + ends[real]
    if len(edges) and edges[-1] == len(content):  # reduceat's last segment ends at the end of the array anyway
        edges = edges[:-1]
    filled = np.bitwise_or.reduceat(content, edges)[0::2] if len(edges) else content[:0]
    for row in real[filled > 0].tolist():
        yield first + row, int(begins[row]), int(ends[row])


def _pair(pages: NDArray[np.uint8], rows: NDArray[np.int64], at: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the big-endian 16-bit number at byte `at` of each page."""
    return pages[rows, at].astype(np.int64) * 256 + pages[rows, at + 1]
