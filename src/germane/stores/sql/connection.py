"""Connection: what the SQL of a store needs of its driver: a connection, its cursors, and a database that opens one.

A store fulfils these protocols with its driver's own objects; `stores/sqlite` does so with apsw. Nothing in `stores/sql`
imports a driver, or the package of a store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol


class Cursor(Protocol):
    """The rows of a statement, each a tuple, read as they are asked for."""

    def __iter__(self) -> Iterator[Any]: ...
    def __next__(self) -> Any: ...
    def fetchone(self) -> tuple[Any, ...] | None:
        """Returns the next row, or None after the last one."""

    def fetchall(self) -> list[Any]:
        """Returns all rows that are left."""


class Blob(Protocol):
    """The bytes of one stored value, read without loading all of them."""

    def seek(self, offset: int, /) -> None: ...
    def read(self, length: int, /) -> bytes: ...


class Connection(Protocol):
    """A connection to the database. Its statements run in the transaction that is open."""

    def execute(self, statements: str, bindings: Sequence[Any] | None = None, /) -> Cursor:
        """Runs one statement with these values, or several without any. Returns the rows of the last one."""

    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[Any]], /) -> Cursor:
        """Runs one statement for each of these rows of values."""

    def changes(self) -> int:
        """Returns how many rows the latest statement wrote or deleted."""

    def total_changes(self) -> int:
        """Returns how many rows the connection has written or deleted since it was opened."""

    def last_insert_rowid(self) -> int:
        """Returns the key of the row that was inserted last."""

    def blob_open(self, database: str, table: str, column: str, rowid: int, writeable: bool, /) -> AbstractContextManager[Blob]:
        """Opens the value in this column of the row with this key."""

    def __enter__(self) -> object:
        """Begins a part of a transaction, which is written as a whole, or not at all where the block raises."""

    def __exit__(self, *raised: Any) -> bool | None: ...
    def close(self) -> None: ...


class Database(Protocol):
    """Where connections come from. `name` stands in messages."""

    @property
    def name(self) -> str: ...

    def connect(self, *, reading: bool = False) -> Connection:
        """Opens a connection. Raises what the driver raises."""

    def snapshot(self) -> Connection:
        """Opens a connection that reads the database as it is now until it is closed. Raises what the driver raises."""

    def errors(self) -> AbstractContextManager[None]:
        """Within this block germane's errors are raised in place of the driver's."""
