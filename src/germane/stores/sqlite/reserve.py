"""Reserve: room on the disk that is kept back for forgetting, as a file beside the database.

Deleting needs room too: what it changes goes to the log first. So that a full disk refuses no forgetting, some room is taken
while there is any, given back when a forgetting finds none, and taken again afterwards.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["ROOM", "Reserve"]

ROOM = 512 << 10
"""Bytes: a forgetting of some dozen messages or memories."""


class Reserve:
    """Of the database at `path`; None keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = None if path is None else path.with_name(f"{path.name}-reserve")

    def keep(self) -> bool:
        """Take the room, where it isn't taken yet. Returns whether it is there now; that it isn't is no error."""
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
        """Give the room back. Returns whether there was any."""
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
