"""Spool: entries that wait on disk to be recorded, through restarts and kills. Blocking: for one thread at a time.

Each process has a folder of its own in the spool, and holds a lock on it while it lives. A lock that can be had is that of a
process that is gone: its entries are taken over. An entry is a file that is written under another name and then renamed, so
that it is there whole or not at all; its checksum tells what a machine that lost its power left of it. The database isn't
needed: entries are kept while nothing can be written there. What can't be written to the disk either waits in memory.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from germane.types.plan import uuid7

MAX_ENTRIES, MAX_BYTES = 4_096, 256 * 2**20
"""Entries that may wait, and the bytes of all of them."""
_MAX_IN_MEMORY = 16 * 2**20
"""Bytes of the entries that wait in memory as the disk doesn't take them."""
_MAX_BROKEN = 16
"""Broken files that are set aside; the oldest go first."""
_BROKEN_DAYS_MS = 86_400_000
_MAX_TRIES = 3
_FOR_NOW = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
_LOCK, _ENTRY, _PART, _BROKEN = "lock", ".entry", ".part", "broken"
_MAGIC = b"germane entry 1\n"
_CHECKED = 16
_LOG = logging.getLogger("germane.service")


@dataclass(frozen=True, slots=True)
class SpoolEntry:
    """An entry that waits. `number` gives the order. `path` is None for one that waits in memory."""

    number: int
    size: int
    path: Path | None


class Spool:
    """The entries of this process, and those that it took over. `folder` is made with mode 0700 where it is missing; with None
    all entries wait in memory. Where something is wrong with the disk, this is logged once, and nothing is raised."""

    def __init__(self, folder: Path | None, *, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._root, self._max_entries, self._max_bytes = folder, max_entries, max_bytes
        self._own: Path | None = None
        self._lock: int | None = None
        self._next = 1
        self._waiting = dict[int, SpoolEntry]()
        self._held = dict[int, bytes]()
        self._bytes = 0
        self._warned = False
        self.broken = 0
        """Files that couldn't be read and were set aside."""

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def in_memory(self) -> int:
        """How many entries aren't on disk."""
        return len(self._held)

    def open(self, now_ms: int) -> tuple[SpoolEntry, ...]:
        """Makes the folder of this process, and returns the entries of processes that are gone, oldest first. `now_ms` is the
        Unix time in milliseconds."""
        if self._root is None:
            return ()
        for tries_left in reversed(range(_MAX_TRIES)):
            own = self._root / uuid7(now_ms)
            try:
                self._root.mkdir(mode=0o700, exist_ok=True)
                own.mkdir(mode=0o700)
                self._lock = _locked(own)
                self._own = own
                break
            except OSError as error:
                if not tries_left:  # before, another process may have found the folder without a lock, and removed it
                    self._warn("can't make its folder", error)
        self._clear_broken(now_ms)
        return self.adopt()

    def adopt(self) -> tuple[SpoolEntry, ...]:
        """Takes over the entries of processes that are gone, and returns them, oldest first. What has no room stays where it
        is."""
        taken = list[SpoolEntry]()
        if self._root is None or self._own is None:
            return ()
        with suppress(OSError):
            for folder in sorted(path for path in self._root.iterdir() if path.is_dir() and path.name != _BROKEN):
                if folder != self._own:
                    taken += self._taken(folder, self._own)
        return tuple(taken)

    def _taken(self, folder: Path, own: Path) -> Iterator[SpoolEntry]:
        try:
            lock = _locked(folder)
        except OSError:
            return  # its process lives, or another one takes it over
        try:
            for path in sorted(folder.iterdir()):
                if path.suffix == _PART:
                    path.unlink(missing_ok=True)
                elif path.suffix == _ENTRY:
                    size = path.stat().st_size
                    if not self._has_room(size):
                        return
                    entry = self._entry(size, own)
                    if entry.path is not None:
                        path.rename(entry.path)
                    yield self._added(entry)
            (folder / _LOCK).unlink(missing_ok=True)
            folder.rmdir()
        except OSError as error:
            self._warn("can't take over entries", error)
        finally:
            os.close(lock)

    def put(self, content: bytes) -> SpoolEntry | None:
        """Adds an entry. Returns None where there is no room for it."""
        size = len(content) + len(_MAGIC) + _CHECKED
        if not self._has_room(size):
            return None
        if self._own is not None:
            entry = self._entry(size, self._own)
            try:
                _write(entry.path or self._own, content)
            except OSError as error:
                self._warn("can't write an entry", error)
            else:
                self._warned = False
                return self._added(entry)
        if sum(map(len, self._held.values())) + size > _MAX_IN_MEMORY:
            return None
        entry = self._entry(size, None)
        self._held[entry.number] = content
        return self._added(entry)

    def read(self, entry: SpoolEntry) -> bytes | None:
        """Returns the content of an entry. Returns None for one that is gone or broken, which waits no more: a broken file is
        set aside. Raises `OSError` where the process has no files or memory left for now."""
        if entry.path is None:
            return self._held.get(entry.number)
        try:
            content = entry.path.read_bytes()
        except FileNotFoundError:
            self._drop(entry)
            return None
        except OSError as error:
            if error.errno in _FOR_NOW:
                raise
            content = b""
        kept = content[len(_MAGIC) + _CHECKED :]
        if content[: len(_MAGIC)] == _MAGIC and content[len(_MAGIC) : len(_MAGIC) + _CHECKED] == _checksum(kept):
            return kept
        self.set_aside(entry)
        return None

    def set_aside(self, entry: SpoolEntry) -> None:
        """Takes an entry that can't be read out of the queue; a few such files are kept for who looks into it."""
        self.broken += 1
        self._drop(entry)
        if entry.path is None or self._root is None or self._own is None:
            return
        try:
            aside = self._root / _BROKEN
            aside.mkdir(mode=0o700, exist_ok=True)
            entry.path.rename(aside / f"{self._own.name}-{entry.path.name}")
            for path in sorted(aside.iterdir())[:-_MAX_BROKEN]:
                path.unlink(missing_ok=True)
        except OSError:
            with suppress(OSError):
                entry.path.unlink(missing_ok=True)
        if self.broken == 1:
            _LOG.warning("germane's spool holds an entry that can't be read: it was set aside (said once)")

    def remove(self, entry: SpoolEntry) -> None:
        """Removes an entry. Idempotent."""
        self._drop(entry)
        if entry.path is not None:
            try:
                entry.path.unlink(missing_ok=True)
            except OSError as error:
                self._warn("can't remove an entry", error)

    def close(self) -> None:
        """Gives up the lock, so that another process takes over what is left; removes the folder where nothing is left.
        Idempotent."""
        lock, self._lock = self._lock, None
        own, self._own = self._own, None
        if lock is None or own is None:
            return
        with suppress(OSError):
            if not any(path.suffix == _ENTRY for path in own.iterdir()):
                (own / _LOCK).unlink(missing_ok=True)
                own.rmdir()
                if self._root is not None:
                    self._root.rmdir()  # the last one; fails where another process has its folder there
        os.close(lock)

    def _clear_broken(self, now_ms: int) -> None:
        """Removes what was set aside more than a day ago: it may hold what was forgotten since."""
        with suppress(OSError):
            for path in (Path() if self._root is None else self._root / _BROKEN).glob(f"*{_ENTRY}"):
                if path.stat().st_mtime * 1000 < now_ms - _BROKEN_DAYS_MS:
                    path.unlink(missing_ok=True)

    def _has_room(self, size: int) -> bool:
        return len(self._waiting) < self._max_entries and self._bytes + size <= self._max_bytes

    def _entry(self, size: int, folder: Path | None) -> SpoolEntry:
        number, self._next = self._next, self._next + 1
        return SpoolEntry(number, size, None if folder is None else folder / f"{number:012d}{_ENTRY}")

    def _added(self, entry: SpoolEntry) -> SpoolEntry:
        self._waiting[entry.number] = entry
        self._bytes += entry.size
        return entry

    def _drop(self, entry: SpoolEntry) -> None:
        self._held.pop(entry.number, None)
        if self._waiting.pop(entry.number, None) is not None:
            self._bytes -= entry.size

    def _warn(self, what: str, error: OSError) -> None:
        if not self._warned:
            _LOG.warning("germane's spool %s (%s): what waits to be recorded is kept in memory", what, _named(error))
        self._warned = True


def spool_of(db: Path) -> Path | None:
    """Returns the folder of the turns that wait to be recorded, beside the database; None for one in memory."""
    return None if str(db) == ":memory:" else db.with_name(f"{db.name}-spool")


def spool_finding(folder: Path) -> tuple[str, str, bool] | None:
    """Returns what `germane doctor` says of a spool, by reading names and sizes alone. None where there is nothing to say.
    Raises `OSError` for a folder that can't be read."""
    sizes, broken = list[int](), 0
    for path in folder.glob(f"*/*{_ENTRY}"):
        with suppress(FileNotFoundError):  # recorded meanwhile
            if path.parent.name == _BROKEN:
                broken += 1
            else:
                sizes.append(path.stat().st_size)
    if not (sizes or broken):
        return None
    said = f"{len(sizes)} turns wait in {folder.name} to be recorded ({sum(sizes) >> 10} KB)"
    if broken:
        said += f"; {broken} damaged, set aside in {folder.name}/{_BROKEN} for a day"
    return "proxy", said, not broken


def _locked(folder: Path) -> int:
    """Locks the folder until the descriptor is closed, or the process ends. Raises `OSError` where another process holds it."""
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(descriptor), (folder / _LOCK).stat()):
            raise OSError(errno.EAGAIN, "removed meanwhile")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _write(path: Path, content: bytes) -> None:
    part = path.with_suffix(_PART)
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines((_MAGIC, _checksum(content), content))
        part.rename(path)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _checksum(content: bytes) -> bytes:
    return blake2b(content, digest_size=_CHECKED).digest()


def _named(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, type(error).__name__)
