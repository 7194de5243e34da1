"""Tombstones: what is left of forgotten things, without content: what and when, by whom and why; and ids that are taken."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from germane.kinds.memories.reads import Forget, IdsInUse, IdUse, PutTombstones
from germane.stores.sql.injections import withdraw
from germane.stores.sql.links import unbind
from germane.stores.sql.listing import FORGOTTEN_ORG, VisiblePartition
from germane.stores.sql.search.units import UNIT_TABLES, delete_units
from germane.stores.sql.statements import LISTED, Row, micros, rows, to_json, to_sql
from germane.stores.sql.tasks.task_rows import drop_pointers
from germane.stores.sql.transaction import Transaction
from germane.types.inventory import StoredKind, TombstoneKind

TOMBSTONE_KINDS: dict[str, TombstoneKind] = {
    "memories": "memory",
    "events": "message",
    "blocks": "block",
    "entities": "entity",
    "relations": "relation",
    "patterns": "pattern",
    "tasks": "task",
    "history_archive": "archived",
    "history_summaries": "summary",
    "directives": "directive",
}
"""What a tombstone stands for, by the domain in its row."""
_STORED_KINDS: dict[str, StoredKind] = {**TOMBSTONE_KINDS, "archival_entries": "entry"}
"""What a row with an id is, by its table."""
_STORED = " UNION ALL ".join(
    f"SELECT id, partition, '{kind}' FROM {table} WHERE id IN {LISTED}" for table, kind in _STORED_KINDS.items()
)
_TOMBSTONE = "INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_KEPT = _TOMBSTONE.replace("REPLACE", "IGNORE")


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
    transaction.connection.executemany(_TOMBSTONE, stones)
    for partition in {row[2] for row in found}:
        transaction.erase(partition)


def ids_in_use(transaction: Transaction, partition: VisiblePartition | None, read: IdsInUse) -> IdUse:
    transaction.write_events()
    ids, connection = to_json(read.ids), transaction.connection
    forgotten = rows(connection, f"SELECT id FROM tombstones WHERE id IN {LISTED}", (ids,))
    elsewhere, own = set[str](), dict[str, StoredKind]()
    for id, whose, kind in rows(connection, _STORED, (ids,) * len(_STORED_KINDS)):
        if partition is not None and whose == partition.id:
            own[id] = kind
        else:
            elsewhere.add(id)
    return IdUse(frozenset(id for (id,) in forgotten), frozenset(elsewhere), own)


def put_tombstones(transaction: Transaction, partition: int | None, change: PutTombstones) -> None:
    """Keeps tombstones of another store. Those without a partition get one that nobody can reach, as if its owner had been
    forgotten here. Their rows get new keys, which no text has."""
    connection = transaction.connection
    if partition is None:
        row = (FORGOTTEN_ORG, secrets.token_hex(16))
        connection.execute("INSERT INTO partitions (org, agent, user) VALUES (?, ?, '')", row)
        partition = connection.last_insert_rowid()
    for domain, kind in TOMBSTONE_KINDS.items():
        stones = [stone for stone in change.tombstones if stone.what == kind]
        new = [
            (stone.id, domain, key, partition, transaction.revision, micros(stone.at), to_sql(stone.by), to_sql(stone.reason))
            for key, stone in zip(_keys(transaction, domain, len(stones)), stones, strict=True)
        ]
        connection.executemany(_KEPT, new)
    transaction.touch((partition,))


def _keys(transaction: Transaction, domain: str, count: int) -> Sequence[int]:
    """Row keys that nothing has; of tasks and of the graph no search rows are derived, so theirs say nothing."""
    return transaction.keys(domain, count) if domain in UNIT_TABLES else [0] * count
