"""Database: the file: opens connections, migrates the schema, and refuses files that aren't a germane store.

The settings that all connections share are here; `writer.py` and `readers.py` use the connections.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import quote

import apsw

from germane.clock import Clock
from germane.errors import StoreCorrupt, StoreTooNew, StoreUnavailable
from germane.stores.sqlite.encoding import micros
from germane.stores.sqlite.failures import mapped
from germane.stores.sqlite.progress import log
from germane.stores.sqlite.reserve import Reserve

__all__ = ["APPLICATION", "BUSY", "Database", "migrations", "private"]

APPLICATION = 0x6765726D
"""SQLite's application id in the file's header, `germ` in ASCII: it distinguishes a germane store from other SQLite files."""
BUSY = 5000
"""Milliseconds that a write waits for another process's write."""
_WRITE_CACHE, _READ_CACHE = 16_000, 4_000
"""KiB of pages that a connection keeps. There are six connections for reading, and the operating system has the pages too."""
_STEP = 256 << 10
"""Bytes by which the file grows at least."""


@cache
def migrations() -> tuple[str, ...]:
    """Returns the migration scripts in order; the first one brings an empty file to version 1."""
    folder = files("germane.stores.sqlite") / "migrations"
    scripts = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return tuple(script.read_text("utf-8") for script in scripts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """`name` stands in messages, SQLite opens `uri`, and `path` is None for a database in memory."""

    name: str
    uri: str
    path: Path | None
    vfs: str | None = None

    @classmethod
    def at(cls, path: str | Path, vfs: str | None = None) -> Database:
        """Returns the database at `path`. Each `:memory:` is a new database that lives as long as its connections."""
        if str(path) == ":memory:":
            return cls(name=":memory:", uri=f"file:/germane-{secrets.token_hex(8)}?vfs=memdb", path=None)
        place = Path(path).resolve()  # what lies beside it lies beside the file, not beside a link to it
        return cls(name=str(path), uri=f"file:{quote(str(place))}", path=place, vfs=vfs)

    def connect(self, *, reading: bool = False) -> apsw.Connection:
        """Opens a connection with germane's settings. Raises what SQLite raises."""
        access = apsw.SQLITE_OPEN_READONLY if reading else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        with private(None if reading else self.path) as mode:
            connection = apsw.Connection(
                self.uri + mode, flags=access | apsw.SQLITE_OPEN_URI, vfs=self.vfs, statementcachesize=200
            )
        connection.set_busy_timeout(BUSY)
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # else statements are planned anew for other values
        if self.path is not None and not reading:
            step = ctypes.c_int(_STEP)
            connection.file_control("main", apsw.SQLITE_FCNTL_CHUNK_SIZE, ctypes.addressof(step))
        connection.execute("PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA cache_size = -{_READ_CACHE if reading else _WRITE_CACHE}")
        return connection

    def room(self, connection: apsw.Connection, pages: int) -> int:
        """Extends the file to the size that the open transaction needs, where that is more than the `pages` that it has room
        for. So a full disk is noticed before the commit, and not when the log is copied into the file, where it would block
        every later checkpoint. Returns the number of pages that there is room for now. Raises `apsw.FullError`."""
        wanted: int = connection.pragma("page_count")
        if self.path is None or wanted <= pages:
            return pages
        needed = ctypes.c_int64(wanted * connection.pragma("page_size"))
        try:
            connection.file_control("main", apsw.SQLITE_FCNTL_SIZE_HINT, ctypes.addressof(needed))
        except apsw.IOError as error:  # some file systems don't support size hints
            if shutil.disk_usage(self.path.parent).free < 2 * _STEP:
                raise apsw.FullError("the disk is full") from error
        return wanted

    def open(self, clock: Clock) -> tuple[apsw.Connection | None, Database]:
        """Opens and migrates the store. Returns the connection for writing (None where the store is read-only), and the
        database to open connections for reading from. Raises `StoreUnavailable`, `StoreCorrupt` or `StoreTooNew`."""
        if self.path is not None and self.path.is_dir():
            raise StoreUnavailable(f"store {self.name!r} is a directory: name a file in it")
        if self.path is not None and not self.path.parent.is_dir():
            raise StoreUnavailable(f"store {self.name!r} can't be made: the directory {str(self.path.parent)!r} doesn't exist")
        try:
            return self._opened(clock)
        except StoreUnavailable as error:  # on a full disk there may be no room for the log
            if not isinstance(error.__cause__, apsw.FullError | apsw.IOError) or not Reserve(self.path).release():
                raise
            return self._opened(clock)

    def _opened(self, clock: Clock) -> tuple[apsw.Connection | None, Database]:
        with mapped(self.name):
            try:
                connection = self.connect()
            except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError):
                return None, self._readable()
            try:
                return self._prepared(connection, clock)
            except BaseException:
                connection.close()
                raise

    def _prepared(self, connection: apsw.Connection, clock: Clock) -> tuple[apsw.Connection | None, Database]:
        try:
            self._known(connection)
            if connection.readonly("main"):
                raise apsw.ReadOnlyError
            if not self._version(connection):
                connection.execute("PRAGMA page_size = 8192")
            self._journal(connection)
            connection.execute("PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864")
            self._migrate(connection, clock)
        except (apsw.ReadOnlyError, apsw.CantOpenError):
            connection.close()
            return None, self._readable()
        return connection, self

    def _journal(self, connection: apsw.Connection) -> None:
        for _ in range(5):  # the switch doesn't wait for another process that is switching too
            try:
                connection.pragma("journal_mode", "wal")
                return
            except apsw.BusyError:
                connection.execute("BEGIN IMMEDIATE; COMMIT")
        connection.pragma("journal_mode", "wal")

    def _readable(self) -> Database:
        """Returns this database as it can be read: with its log, or as an immutable file where no log can be created beside
        it."""
        if self.path is None or not self.path.exists():
            raise StoreUnavailable(f"store {self.name!r} can't be made: check that the directory may be written")
        last: BaseException | None = None
        for candidate in (self, self._frozen()):
            try:
                connection = candidate.connect(reading=True)
                try:
                    if self._known(connection) < len(migrations()):
                        raise StoreUnavailable(f"store {self.name!r} must be brought up to date, but it is read-only")
                    return candidate
                finally:
                    connection.close()
            except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.IOError) as error:
                last = error
        raise StoreUnavailable(f"store {self.name!r} can't be opened: check its permissions") from last

    def _frozen(self) -> Database:
        log = Path(f"{self.path}-wal")
        if log.exists() and log.stat().st_size:
            return self  # an immutable file is read without its log, whose commits would be missing
        return Database(name=self.name, uri=f"{self.uri}?immutable=1", path=self.path, vfs=self.vfs)

    def _known(self, connection: apsw.Connection) -> int:
        """Returns the schema's version, 0 for an empty file. Raises `StoreCorrupt` where the file isn't a germane store, and
        `StoreTooNew` where it is newer than this germane."""
        application = connection.pragma("application_id")
        version = self._version(connection)
        if application != APPLICATION and (application or connection.execute("SELECT 1 FROM sqlite_schema").fetchone()):
            raise StoreCorrupt(f"{self.name!r} is an SQLite file, but not a germane store")
        if version > len(migrations()):
            raise StoreTooNew(
                f"store {self.name!r} was written by a newer germane (version {version} of the file, this one knows up to "
                f"{len(migrations())}): upgrade germane"
            )
        return version

    def _version(self, connection: apsw.Connection) -> int:
        return int(connection.pragma("user_version"))

    def _migrate(self, connection: apsw.Connection, clock: Clock) -> None:
        if self._version(connection) == len(migrations()):
            return
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = self._known(connection)  # another process may have migrated it meanwhile
            if 0 < version < len(migrations()):
                log("store %r is brought from version %d to version %d of the file", self.name, version, len(migrations()))
            for number, script in enumerate(migrations()[version:], start=version + 1):
                connection.execute(script)
                connection.execute(f"PRAGMA user_version = {number}")
            if version == 0:
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                created = str(micros(clock.now())).encode()
                rows = [("nonce_key", secrets.token_bytes(32)), ("created_at", created)]
                connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


@contextmanager
def private(path: Path | None) -> Iterator[str]:
    """Yields what to append to the URI of a file that doesn't exist yet, so that SQLite creates it and its log with mode 0600
    whatever the umask. A file that exists keeps its mode."""
    if path is None or os.name != "posix" or path.exists():
        yield ""
        return
    try:
        example = NamedTemporaryFile(dir=path.parent, prefix=".germane-")  # noqa: SIM115
    except OSError:  # then the file can't be made here either
        yield ""
        return
    with example:
        os.fchmod(example.fileno(), 0o600)
        yield f"?modeof={quote(example.name)}"
