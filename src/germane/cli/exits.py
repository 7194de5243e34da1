"""Exits: the exit codes, and the exit code and one-line message of an exception."""

from __future__ import annotations

import errno
import traceback
from enum import IntEnum
from pathlib import Path

from germane.errors import GermaneError, InvalidInput, StoreError

__all__ = ["Exit", "describe_exit"]


class Exit(IntEnum):
    """FAILED also means not found or declined. USAGE: wrong usage or bad input. STORE: the database is missing, damaged,
    read-only, full or written by a newer version. PIPE: the reader of the output went away."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    STORE = 3
    INTERRUPTED = 130
    PIPE = 141


def describe_exit(error: BaseException) -> tuple[Exit, str]:
    """Returns the exit code for `error` and the message to print: one line, no traceback, empty for a broken pipe."""
    match error:
        case KeyboardInterrupt():
            return Exit.INTERRUPTED, "interrupted"
        case BrokenPipeError():
            return Exit.PIPE, ""
        case StoreError():
            return Exit.STORE, _one_line(error)
        case InvalidInput():
            return Exit.USAGE, _one_line(error)
        case GermaneError():
            return Exit.FAILED, _one_line(error)
        case MemoryError():
            return Exit.FAILED, "out of memory (import in smaller files)"
        case OSError():
            return Exit.FAILED, _system_error(error)
    return Exit.FAILED, f"{type(error).__name__} in {_place(error)}: a fault of germane's own (please report it)"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _system_error(error: OSError) -> str:
    advice = {errno.ENOSPC: "no space left (free some, or write elsewhere)", errno.EACCES: "permission denied"}
    reason = advice.get(error.errno or 0, error.strerror or str(error))
    return f"{error.filename}: {reason}" if error.filename else str(reason)


def _place(error: BaseException) -> str:
    """File and line that raised `error`, without any content: a bug report must not hold what is stored."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
