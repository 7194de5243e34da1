"""Reserve: disk space that is kept for forgetting, as a file beside the database.

A deletion needs disk space too, since its changes go to the log first. So that forgetting works on a full disk, a file reserves
some space while there is any. The file is deleted when a forgetting finds the disk full, and created again afterwards.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["ROOM", "Reserve"]

ROOM = 512 << 10
"""Bytes: enough to forget some dozen messages or memories."""


class Reserve:
    """The reserve of the database at `path`; None reserves nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = None if path is None else path.with_name(f"{path.name}-reserve")

    def keep(self) -> bool:
        """Reserves the space unless it is reserved already. Returns whether it is reserved now; raises nothing."""
        if self._path is None:
            return False
        try:
            if self._path.stat().st_size >= ROOM:
                return True
            self._path.unlink()
        except FileNotFoundError:
            pass
        except OSError:
            return False
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError:
            return False
        try:
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, 0o600)
            _fill(descriptor)
        except OSError:
            self.release()
            return False
        finally:
            os.close(descriptor)
        return True

    def release(self) -> bool:
        """Frees the space. Returns whether any was reserved."""
        if self._path is None:
            return False
        with suppress(OSError):
            self._path.unlink()
            return True
        return False


def _fill(descriptor: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, ROOM)
        return
    block = bytes(64 << 10)
    for _ in range(ROOM // len(block)):
        os.write(descriptor, block)
