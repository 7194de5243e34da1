"""Tombstones: what is left of forgotten things, without content: what and when, by whom and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from germane.kinds.memories.reads import Forget
from germane.stores.sql.connection import Connection
from germane.stores.sql.injections import withdraw
from germane.stores.sql.links import unbind
from germane.stores.sql.search.units import UNIT_TABLES, delete_units
from germane.stores.sql.statements import Row, first, micros, to_sql
from germane.stores.sql.tasks.task_rows import drop_pointers
from germane.stores.sql.transaction import Transaction

PUT_TOMBSTONE = "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


def found_by_id(connection: Connection, sql: str, ids: Iterable[str]) -> list[Row]:
    """Returns the rows that `sql` finds for each of the ids; `bury` takes them, where they begin with key, id and partition."""
    found = (first(connection, sql, (id,)) for id in dict.fromkeys(ids))
    return [row for row in found if row is not None]


def bury(transaction: Transaction, domain: str, found: Sequence[Row], change: Forget) -> None:
    """Writes tombstones of rows (key, id, partition) that are deleted, and takes out of use all that refers to them: their
    search rows, what they were made of, what was injected of them, and what tasks say of them."""
    if not found:
        return
    if domain in UNIT_TABLES:
        delete_units(transaction.connection, domain, [row[0] for row in found])
    ids = [row[1] for row in found]
    unbind(transaction.connection, ids, replaced=change.replaced)
    withdraw(transaction, ids)
    drop_pointers(transaction, ids)
    said = (micros(change.at), to_sql(change.by), to_sql(change.reason))
    stones = [(row[1], domain, row[0], row[2], transaction.revision, *said) for row in found]
    transaction.connection.executemany(PUT_TOMBSTONE, stones)
    for partition in {row[2] for row in found}:
        transaction.erase(partition)
