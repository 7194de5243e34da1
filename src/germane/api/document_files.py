"""Document files: finds the files of a folder that can be ingested, and reads one, within limits and without following links
out of the folder."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from germane.errors import InvalidInput
from germane.types.limits import DOCUMENT_BYTES, DOCUMENT_FILES, DOCUMENT_SOURCE

__all__ = ["FoundFile", "SkippedFile", "files_in", "read_file", "source_for"]

_IGNORED = frozenset({"node_modules", "bower_components", "__pycache__", "venv", "site-packages"})
_CHANGED = "changes while it is read: ingest it once it is written"


class FoundFile(NamedTuple):
    """A file of a folder, its path below the folder with `/`, and its size in bytes."""

    path: Path
    name: str
    size: int


class SkippedFile(NamedTuple):
    """A file that wasn't ingested, and the reason."""

    path: str
    reason: str


def files_in(folder: Path) -> tuple[list[FoundFile], list[SkippedFile]]:
    """Returns the regular files of a folder and of those inside it, by name, and what can't be read. Links aren't followed;
    what begins with a dot, and folders of installed packages, are left out. Raises `InvalidInput` for too many files."""
    found, skipped = list[FoundFile](), list[SkippedFile]()

    def refused(error: OSError) -> None:
        skipped.append(SkippedFile(os.fsdecode(error.filename or folder), error.strerror or "can't be read"))

    for where, folders, names in os.walk(folder, onerror=refused):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _IGNORED)
        for name in sorted(names):
            path = Path(where) / name
            if name.startswith("."):
                continue
            try:
                status = path.lstat()
            except OSError as error:
                refused(error)
                continue
            if stat.S_ISREG(status.st_mode):
                found.append(FoundFile(path, path.relative_to(folder).as_posix(), status.st_size))
            if len(found) > DOCUMENT_FILES.maximum:
                raise InvalidInput(
                    f"{folder} has more than {DOCUMENT_FILES.maximum:,} files, {DOCUMENT_FILES.maximum:,} are allowed:"
                    f" {DOCUMENT_FILES.instead}"
                )
    return found, skipped


def read_file(path: Path) -> bytes:
    """Returns the content of a regular file as it was at one moment. Raises `InvalidInput`, with the reason."""
    for _ in range(2):
        try:
            before, data, after = _read(path)
        except FileNotFoundError:
            raise InvalidInput("there is no such file (check the path)") from None
        except PermissionError:
            raise InvalidInput("can't be read: permission denied") from None
        except (OSError, ValueError) as error:
            raise InvalidInput(f"can't be read: {getattr(error, 'strerror', None) or error}") from None
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(data) == after.st_size:
            return data
    raise InvalidInput(_CHANGED)


def _read(path: Path) -> tuple[os.stat_result, bytes, os.stat_result]:
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        before = os.fstat(descriptor)
        _check(before)
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return before, stream.read(DOCUMENT_BYTES.maximum + 1), os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _check(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InvalidInput("is a folder: use ingest_folder")
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInput("is no regular file")
    if status.st_size > DOCUMENT_BYTES.maximum:
        raise InvalidInput(f"has {status.st_size:,} bytes, {DOCUMENT_BYTES.maximum:,} are allowed: {DOCUMENT_BYTES.instead}")


def source_for(path: str) -> str:
    """Returns the source of a file: its path; of a very long path, a hash and the end of it. What can't be
    printed becomes U+FFFD."""
    named = "".join(char if char.isprintable() else "\ufffd" for char in os.fsencode(path).decode("utf-8", "replace"))
    if len(named) <= DOCUMENT_SOURCE.maximum:
        return named
    digest = sha256(named.encode()).hexdigest()[:16]
    return f"{digest}…{named[-(DOCUMENT_SOURCE.maximum - 17) :]}"
