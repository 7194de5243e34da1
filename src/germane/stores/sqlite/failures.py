"""Failures: translates SQLite's exceptions to germane's errors, whose messages hold no content."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from germane.errors import Conflict, InvalidInput, StoreCorrupt, StoreError, StoreUnavailable

__all__ = ["mapped", "read_as"]

_UNAVAILABLE: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.ReadOnlyError, "is read-only: check the permissions of the file and of its directory"),
    (apsw.FullError, "can't be written: the disk is full"),
    (apsw.BusyError, "is busy: another process has been writing for too long"),
    (apsw.LockedError, "is busy: another process has been writing for too long"),
    (apsw.CantOpenError, "can't be opened: check that the directory exists and may be written"),
    (apsw.PermissionsError, "can't be opened: permission denied"),
    (apsw.AuthError, "can't be opened: permission denied"),
    (apsw.NoMemError, "can't be used: out of memory"),
    (apsw.IOError, "can't be read or written: the disk reported an error"),
    (apsw.ConnectionClosedError, "is closed"),
    (apsw.InterruptError, "was asked to stop"),
)
_CORRUPT = (apsw.CorruptError, apsw.NotADBError, apsw.FormatError)


def read_as(error: BaseException, name: str) -> BaseException:
    """Returns the germane error for `error` in the store called `name`; an error that isn't SQLite's is returned unchanged."""
    if isinstance(error, UnicodeEncodeError | apsw.TooBigError):
        return InvalidInput(f"the request holds a value that no store can hold ({type(error).__name__})")
    if not isinstance(error, apsw.Error):
        return error
    for kind, meaning in _UNAVAILABLE:
        if isinstance(error, kind):
            return StoreUnavailable(f"store {name!r} {meaning}")
    if isinstance(error, _CORRUPT):
        return StoreCorrupt(f"store {name!r} is not a germane store, or it is damaged: restore a backup")
    if isinstance(error, apsw.ConstraintError):
        return Conflict(f"store {name!r} already holds something under this id; nothing was written")
    return StoreError(f"store {name!r} failed ({type(error).__name__})")


@contextmanager
def mapped(name: str) -> Iterator[None]:
    """Raises germane's errors in place of SQLite's."""
    try:
        yield
    except apsw.Error as error:
        raise read_as(error, name) from error
