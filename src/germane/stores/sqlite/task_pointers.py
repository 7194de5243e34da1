"""Task pointers: which frames point to which stored things: forgetting a thing takes the title that somebody gave it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import apsw

from germane.stores.sqlite.encoding import LISTED, stored, to_json
from germane.stores.sqlite.injections import withdraw
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.transaction import Transaction

__all__ = ["drop_pointers", "put_pointers"]

_POINTING = (
    "SELECT DISTINCT t.key, t.id, t.partition, t.artifacts FROM task_pointers p JOIN tasks t ON t.key = p.task"
    f" WHERE p.thing IN {LISTED}"
)


def put_pointers(connection: apsw.Connection, task: int, things: Iterable[str]) -> None:
    """Keeps what a frame, by its key, points to, in place of what it pointed to before."""
    connection.execute("DELETE FROM task_pointers WHERE task = ?", (task,))
    connection.executemany("INSERT INTO task_pointers VALUES (?, ?)", [(stored(id), task) for id in dict.fromkeys(things)])


def drop_pointers(transaction: Transaction, ids: Sequence[str]) -> None:
    """Removes what frames, whoever has them, say of things that are gone: their ids, and the titles that somebody gave them."""
    if not ids:
        return
    gone, connection = frozenset(ids), transaction.connection
    for key, id, partition, text in list(rows(connection, _POINTING, (to_json(list(gone)),))):
        left = [pair for pair in json.loads(text) if pair[0] not in gone]
        connection.execute("UPDATE tasks SET artifacts = ?, version = version + 1 WHERE key = ?", (to_json(left), key))
        put_pointers(connection, key, [thing for thing, _ in left])
        withdraw(transaction, (id,))
        transaction.erase(partition)
