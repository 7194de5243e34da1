"""Mentioning: finds by their search rows what holds certain words, among the latest things of one owner, within a transaction.

The searches of requests run on partitions in memory, which a plan can't see: they don't hold what its own transaction wrote.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from germane.events.operations import SaidLately
from germane.events.said_before import SaidBefore
from germane.memories.memory import Memory
from germane.memories.operations import MemoriesWith
from germane.search.unit import TEMPORAL, USER
from germane.stores.sqlite.encoding import LISTED, shown, to_json
from germane.stores.sqlite.memories import MEMORY, memory_of
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["memories_with", "said_lately"]

_LATEST, _LATEST_SAID = 2_000, 600
"""Search rows of memories and of messages that are looked at, the latest first: a millisecond or two."""
_TERMS_OF_MEMORIES = (
    "SELECT key, terms FROM units_memories WHERE partition = ? AND valid_from <= ?2 AND valid_to > ?2"
    " ORDER BY revision DESC LIMIT ?3"
)
_SAID_LATELY = (
    "SELECT e.id, e.name, u.flags, u.terms FROM units_events u CROSS JOIN events e ON e.key = u.key"
    " WHERE u.partition = ? AND u.flags & ? ORDER BY u.revision DESC LIMIT ?"
)


def said_lately(transaction: Transaction, partition: VisiblePartition, read: SaidLately) -> SaidBefore:
    transaction.flush()
    found = rows(transaction.connection, _SAID_LATELY, (partition.id, USER, _LATEST_SAID))
    return SaidBefore.of((id, shown(name), bool(flags & TEMPORAL), terms) for id, name, flags, terms in found)


def memories_with(transaction: Transaction, partition: VisiblePartition, read: MemoriesWith) -> tuple[Memory, ...]:
    transaction.flush()
    connection, at = transaction.connection, read.at.timestamp()
    found = list(rows(connection, _TERMS_OF_MEMORIES, (partition.id, at, _LATEST)))
    owners_of, hashes = _spread([terms for _, terms in found])
    holding = np.unique(owners_of[np.isin(hashes, np.array(read.hashes, np.uint32))])
    keys = [found[index][0] for index in holding.tolist()]
    sql = f"{MEMORY} WHERE key IN {LISTED} ORDER BY key"
    return tuple(memory_of(row, {partition.id: partition.user}) for row in rows(connection, sql, (to_json(keys),)))


def _spread(terms: Sequence[bytes]) -> tuple[NDArray[np.intp], NDArray[np.uint32]]:
    """Returns all hashes of these rows, and which row each belongs to."""
    lengths = [len(one) // 4 for one in terms]
    return np.repeat(np.arange(len(terms)), lengths), np.frombuffer(b"".join(terms), "<u4")
