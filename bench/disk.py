"""Disk: a SQLite VFS that calls a hook before every write, for tests of full disks and killed processes.

    disk = Disk("mine")                                    # a unique name: SQLite registers each VFS by name
    disk.before = full_at(folder, 4 << 20)                 # or a hook that copies the files or kills the process
    store = SqliteStore.open(folder / "a.db", vfs=disk.name, …)

`bench/kills.py` and the store's tests use it. It skips fsync, which is slow: what a process wrote before it was killed is in
the system's cache anyway. So it can't simulate a power failure.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

__all__ = ["Disk", "full_at"]


_FRAME = 24
"""Bytes of the header before each page of the write-ahead log."""


class Disk(apsw.VFS):
    """Calls `before` ahead of each write, with the number of bytes by which the file will grow (0 for other changes)."""

    def __init__(self, name: str) -> None:
        self.before: Callable[[int], None] = lambda growth: None
        self.name = name
        super().__init__(name, base="")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.before(0)
        super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        if len(data) != _FRAME:  # a page of the log comes right after its header
            self._disk.before(max(0, offset + len(data) - self.xFileSize()))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.before(0)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.before(0)

    def xFileControl(self, op: int, pointer: int) -> bool:  # noqa: N802
        if op == apsw.SQLITE_FCNTL_SIZE_HINT:
            self._disk.before(max(0, ctypes.c_int64.from_address(pointer).value - self.xFileSize()))
        return super().xFileControl(op, pointer)


def full_at(folder: Path, room: int) -> Callable[[int], None]:
    """A hook that raises when all files in the folder together would exceed `room` bytes."""

    def before(growth: int) -> None:
        if growth and growth + sum(path.stat().st_size for path in folder.iterdir() if not path.name.endswith("-shm")) > room:
            raise apsw.FullError("no room")

    return before
