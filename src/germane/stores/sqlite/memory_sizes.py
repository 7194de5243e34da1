"""Memory sizes: reads memories with the bytes that they take in the file, and drops their vectors."""

from __future__ import annotations

import apsw

from germane.memories.consolidation.holding import Stored
from germane.memories.operations import DropVectors
from germane.stores.sqlite.encoding import LISTED, to_json
from germane.stores.sqlite.links import with_near_duplicates
from germane.stores.sqlite.memories import MEMORY, memory_of
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["drop_vectors", "sizes"]

_FIXED = 400
"""Bytes of a memory besides its texts, terms and vector: numbers, times, and its entries in the indexes; measured."""
_SIZES = (
    "SELECT m.key, octet_length(m.content) + octet_length(m.tags) + ifnull(octet_length(m.provenance), 0)"
    " + ifnull(octet_length(u.terms), 0), ifnull(octet_length(u.vector), 0)"
    f" FROM memories m LEFT JOIN units_memories u ON u.key = m.key WHERE m.key IN {LISTED}"
)


def sizes(connection: apsw.Connection, partition: VisiblePartition, after: int, limit: int) -> tuple[Stored, ...]:
    sql = f"{MEMORY} WHERE +partition = ? AND key > ? ORDER BY key LIMIT ?"
    found = {
        row[0]: memory_of(row, {partition.id: partition.user}) for row in rows(connection, sql, (partition.id, after, limit))
    }
    found = with_near_duplicates(connection, found)
    sized = {key: (size, vector) for key, size, vector in rows(connection, _SIZES, (to_json(list(found)),))}
    return tuple(
        Stored(memory=memory, bytes=_FIXED + sum(sized[key]), vector_bytes=sized[key][1], position=key)
        for key, memory in found.items()
    )


def drop_vectors(transaction: Transaction, partition: int, change: DropVectors) -> None:
    """An empty vector isn't a missing one, which would be made again."""
    transaction.flush()
    sql = "UPDATE units_memories SET vector = x'', revision = ? WHERE key IN"
    sql += f" (SELECT key FROM memories WHERE +partition = ? AND id IN {LISTED}) AND vector NOT NULL"
    transaction.connection.execute(sql, (transaction.revision, partition, to_json(list(change.ids))))
    transaction.touch((partition,))
