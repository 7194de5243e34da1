"""Process stats: resident memory and open files of this process, from Linux's /proc; 0 on other systems."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["open_files", "resident_bytes"]


def resident_bytes() -> int:
    """Resident memory (RSS) in bytes."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def open_files() -> int:
    """Open file descriptors, sockets included."""
    descriptors = Path("/proc/self/fd")
    try:
        return descriptors.stat().st_size or len([*descriptors.iterdir()])  # the size is 0 before Linux 6.2
    except OSError:
        return 0
