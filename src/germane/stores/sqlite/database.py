"""Database: the file: opens connections, migrates the schema, and refuses files that aren't a germane store.

The settings that all connections share are here; `writer.py` and `readers.py` use the connections. `Reserve` is a second file
beside the database: disk space that is kept for forgetting.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import quote

import apsw

from germane.clock import Clock
from germane.errors import Conflict, InvalidInput, StoreCorrupt, StoreError, StoreTooNew, StoreUnavailable
from germane.stores.sql.progress import log
from germane.stores.sql.statements import first, micros

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
class SqliteDatabase:
    """`name` stands in messages, SQLite opens `uri`, and `path` is None for a database in memory."""

    name: str
    uri: str
    path: Path | None
    vfs: str | None = None

    @classmethod
    def at(cls, path: str | Path, vfs: str | None = None) -> SqliteDatabase:
        """Returns the database at `path`. Each `:memory:` is a new database that lives as long as its connections."""
        if str(path) == ":memory:":
            return cls(name=":memory:", uri=f"file:/germane-{secrets.token_hex(8)}?vfs=memdb", path=None)
        place = Path(path).resolve()  # what lies beside it lies beside the file, not beside a link to it
        return cls(name=str(path), uri=f"file:{quote(str(place))}", path=place, vfs=vfs)

    def connect(self, *, reading: bool = False) -> apsw.Connection:
        """Opens a connection with germane's settings. Raises what SQLite raises."""
        access = apsw.SQLITE_OPEN_READONLY if reading else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        with private_mode(None if reading else self.path) as mode:
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

    def snapshot(self) -> apsw.Connection:
        """Opens a connection that reads the database as it is now until it is closed; a database in memory is copied, since its
        readers would block its writer. Raises what SQLite raises."""
        connection = self.connect(reading=True)
        if self.path is None:
            copy = apsw.Connection(":memory:")
            with copy.backup("main", connection, "main") as backup:
                backup.step(-1)
            connection.close()
            return copy
        connection.execute("BEGIN; SELECT 1 FROM meta")
        return connection

    def errors(self) -> AbstractContextManager[None]:
        """Within this block germane's errors are raised in place of SQLite's."""
        return store_errors(self.name)

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

    def open(self, clock: Clock) -> tuple[apsw.Connection | None, SqliteDatabase]:
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

    def _opened(self, clock: Clock) -> tuple[apsw.Connection | None, SqliteDatabase]:
        with store_errors(self.name):
            try:
                connection = self.connect()
            except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError):
                return None, self._readable()
            try:
                return self._prepared(connection, clock)
            except BaseException:
                connection.close()
                raise

    def _prepared(self, connection: apsw.Connection, clock: Clock) -> tuple[apsw.Connection | None, SqliteDatabase]:
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

    def _readable(self) -> SqliteDatabase:
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

    def _frozen(self) -> SqliteDatabase:
        log = Path(f"{self.path}-wal")
        if log.exists() and log.stat().st_size:
            return self  # an immutable file is read without its log, whose commits would be missing
        return SqliteDatabase(name=self.name, uri=f"{self.uri}?immutable=1", path=self.path, vfs=self.vfs)

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
def private_mode(path: Path | None) -> Iterator[str]:
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


# A deletion needs disk space too, since its changes go to the log first. So that forgetting works on a full disk, a
# file reserves some space while there is any. A forgetting that finds the disk full deletes the reserve, and it is
# created again afterwards.


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


# Read without opening the store: an embedder whose endpoint would have to be asked for its dimension learns it from the
# file.


def known_dimension(path: str | Path, family: str) -> int | None:
    """Returns the dimension of the latest model in the store at `path` whose identity is `family` and its dimension; None
    without one, and where there is no readable store."""
    if str(path) == ":memory:" or not Path(path).is_file():
        return None
    try:
        connection = SqliteDatabase.at(path).connect(reading=True)
        try:
            sql = "SELECT dimension FROM models WHERE identity = ? || '/' || dimension ORDER BY id DESC LIMIT 1"
            found = first(connection, sql, (family,))
        finally:
            connection.close()
    except apsw.Error:
        return None
    return None if found is None else int(found[0])


# Failures: translates SQLite's exceptions to germane's errors, whose messages hold no content.


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


def to_store_error(error: BaseException, name: str) -> BaseException:
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
        return Conflict("store {} already holds something under this id; nothing was written", name)
    return StoreError(f"store {name!r} failed ({type(error).__name__})")


@contextmanager
def store_errors(name: str) -> Iterator[None]:
    """Raises germane's errors in place of SQLite's."""
    try:
        yield
    except apsw.Error as error:
        raise to_store_error(error, name) from error
