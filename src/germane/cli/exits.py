"""Exits: what an exception means to somebody at a terminal: one line and an exit code."""

from __future__ import annotations

import errno
import traceback
from enum import IntEnum
from pathlib import Path

from germane.errors import GermaneError, InvalidInput, StoreError

__all__ = ["Exit", "told"]


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    STORE = 3
    INTERRUPTED = 130
    PIPE = 141


def told(error: BaseException) -> tuple[Exit, str]:
    """The exit code for this exception and what to say about it, in one line, without a traceback."""
    match error:
        case KeyboardInterrupt():
            return Exit.INTERRUPTED, "interrupted"
        case BrokenPipeError():
            return Exit.PIPE, ""
        case StoreError():
            return Exit.STORE, _line(error)
        case InvalidInput():
            return Exit.USAGE, _line(error)
        case GermaneError():
            return Exit.FAILED, _line(error)
        case MemoryError():
            return Exit.FAILED, "out of memory (import in smaller files)"
        case OSError():
            return Exit.FAILED, _system(error)
    return Exit.FAILED, f"{type(error).__name__} in {_place(error)}: a fault of germane's own (please report it)"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _system(error: OSError) -> str:
    what = {errno.ENOSPC: "no space left (free some, or write elsewhere)", errno.EACCES: "permission denied"}
    why = what.get(error.errno or 0, error.strerror or str(error))
    return f"{error.filename}: {why}" if error.filename else str(why)


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "an unknown place"
