"""Link rows: writes and removes the links between memories, and reads the near-duplicates of some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import apsw

from germane.memories.memory import Memory
from germane.stores.sqlite.encoding import to_json
from germane.stores.sqlite.rows import first, only, rows
from germane.types.ids import uuid7

__all__ = ["both_restored", "delete_links", "mark_restored", "put_link", "with_near_duplicates"]

_PUT = "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)"
_NEAR = (
    "SELECT l.one, m.id FROM links l JOIN memories m ON m.key = l.other"
    " WHERE l.kind = 'near_duplicate' AND l.one IN (SELECT value FROM json_each(?1))"
    " UNION ALL SELECT l.other, m.id FROM links l JOIN memories m ON m.key = l.one"
    " WHERE l.kind = 'near_duplicate' AND l.other IN (SELECT value FROM json_each(?1))"
)


def put_link(
    connection: apsw.Connection,
    partition: int,
    kind: str,
    one: int,
    other: int,
    *,
    reason: str = "",
    cosine: float | None = None,
    now: int,
) -> None:
    """Links two memories by their keys, the older one first. A link that exists stays as it is, with how it was resolved."""
    connection.execute(_PUT, (uuid7(now // 1000), partition, kind, one, other, reason, cosine, now))


def mark_restored(connection: apsw.Connection, partition: int, key: int, now: int) -> None:
    """Marks a memory as restored, by a link to itself: like other links it goes with the memory, and with its text."""
    put_link(connection, partition, "restored", key, key, now=now)


def both_restored(connection: apsw.Connection, one: int, other: int) -> bool:
    """Whether both memories were restored, and have had the same text since."""
    sql = "SELECT count(*) FROM links WHERE kind = 'restored' AND one = other AND one IN (?, ?)"
    return int(only(connection, sql, (one, other))[0]) == 2


def delete_links(connection: apsw.Connection, keys: Iterable[int]) -> None:
    """Removes the links of these memories."""
    connection.executemany("DELETE FROM links WHERE one = ?1 OR other = ?1", [(key,) for key in keys])


def with_near_duplicates(connection: apsw.Connection, memories: Mapping[int, Memory]) -> dict[int, Memory]:
    """Returns the memories, by their keys, with the ids of their near-duplicates."""
    if not memories or first(connection, "SELECT 1 FROM links LIMIT 1") is None:
        return dict(memories)
    near: dict[int, list[str]] = {}
    for key, id in rows(connection, _NEAR, (to_json(list(memories)),)):
        near.setdefault(key, []).append(id)
    return {
        key: replace(memory, near_duplicates=tuple(near[key])) if key in near else memory for key, memory in memories.items()
    }
