"""Links: the links between memories, and derivations, which say what was made of what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from germane.kinds.memories.value import Memory
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.statements import LISTED, first, only, rows, to_json
from germane.types.plan import Derivation, uuid7

_PUT_LINK = "INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, NULL)"
_NEAR = (
    "SELECT l.one, m.id FROM links l JOIN memories m ON m.key = l.other"
    " WHERE l.kind = 'near_duplicate' AND l.one IN (SELECT value FROM json_each(?1))"
    " UNION ALL SELECT l.other, m.id FROM links l JOIN memories m ON m.key = l.one"
    " WHERE l.kind = 'near_duplicate' AND l.other IN (SELECT value FROM json_each(?1))"
)


def put_link(
    connection: Connection,
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
    connection.execute(_PUT_LINK, (uuid7(now // 1000), partition, kind, one, other, reason, cosine, now))


def mark_restored(connection: Connection, partition: int, key: int, now: int) -> None:
    """Marks a memory as restored, by a link to itself: like other links it goes with the memory, and with its text."""
    put_link(connection, partition, "restored", key, key, now=now)


def both_restored(connection: Connection, one: int, other: int) -> bool:
    """Whether both memories were restored, and have had the same text since."""
    sql = "SELECT count(*) FROM links WHERE kind = 'restored' AND one = other AND one IN (?, ?)"
    return int(only(connection, sql, (one, other))[0]) == 2


def delete_links(connection: Connection, keys: Iterable[int]) -> None:
    """Removes the links of these memories."""
    connection.executemany("DELETE FROM links WHERE one = ?1 OR other = ?1", [(key,) for key in keys])


def with_near_duplicates(connection: Connection, memories: Mapping[int, Memory]) -> dict[int, Memory]:
    """Returns the memories, by their keys, with the ids of their near-duplicates."""
    if not memories or first(connection, "SELECT 1 FROM links LIMIT 1") is None:
        return dict(memories)
    near: dict[int, list[str]] = {}
    for key, id in rows(connection, _NEAR, (to_json(list(memories)),)):
        near.setdefault(key, []).append(id)
    return {
        key: replace(memory, near_duplicates=tuple(near[key])) if key in near else memory for key, memory in memories.items()
    }


# Derivations, by id: forgetting follows them, whatever kind a thing is of. A memory that others took the place of (a
# consolidation) is gone, while what was made of it stays. Its own rows stay too, as a *bridge*: what was made of it is
# forgotten with what it was made of.


_DERIVED = (
    "WITH RECURSIVE derived (id) AS ("
    " SELECT d.thing FROM json_each(?1) s JOIN derivations d ON d.source = s.value JOIN partitions p ON p.id = d.partition"
    " WHERE p.org = ?2 AND p.agent = ?3 UNION"
    " SELECT d.thing FROM derived JOIN derivations d ON d.source = derived.id JOIN partitions p ON p.id = d.partition"
    " WHERE p.org = ?2 AND p.agent = ?3)"
    " SELECT id FROM derived"
)
MADE = ("memories", "tasks")
"""The tables of things that may be made of others."""
_IS_BRIDGE = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM derivations WHERE thing = ?1) AND NOT EXISTS (SELECT 1 FROM derivations WHERE"
    f" source = ?1){''.join(f' AND NOT EXISTS (SELECT 1 FROM {table} WHERE id = ?1)' for table in MADE)}"
)
"""Whether an id is that of something gone of which nothing is left that was made of it."""
_RELATED = (
    "SELECT DISTINCT p.id, p.user, p.revision FROM {} t JOIN partitions p ON p.id = t.partition"
    f" WHERE t.id IN {LISTED} AND p.org = ? AND p.agent = ?"
)


def bind(connection: Connection, partition: int, derivation: Derivation) -> None:
    """Keeps what a thing was made of, in place of what was kept of that before."""
    connection.execute("DELETE FROM derivations WHERE thing = ?", (derivation.thing,))
    if derivation.sources:
        made = [(source, derivation.thing, partition) for source in dict.fromkeys(derivation.sources)]
        connection.executemany("INSERT INTO derivations VALUES (?, ?, ?)", made)


def unbind(connection: Connection, things: Iterable[str], *, replaced: bool) -> None:
    """Removes what is kept of these things, which are gone, and the bridges that lead nowhere then. Where others `replaced`
    them, those of which something was made stay as bridges."""
    waiting = list(things)
    if replaced:
        waiting = [id for id in waiting if first(connection, "SELECT 1 FROM derivations WHERE source = ?", (id,)) is None]
    else:
        connection.executemany("DELETE FROM derivations WHERE source = ?", [(id,) for id in waiting])
    while waiting:
        thing = waiting.pop()
        sources = [id for (id,) in rows(connection, "DELETE FROM derivations WHERE thing = ? RETURNING source", (thing,))]
        waiting += [id for id in sources if first(connection, _IS_BRIDGE, (id,)) is not None]


def derived_ids(connection: Connection, owner: tuple[str, str], sources: Sequence[str]) -> list[str]:
    """Returns the ids of all that was made of these, directly or through others, by the same agent: `owner` is its org and its
    name. A user's memory may be made of what is agent-wide, so it may be anyone's of the agent."""
    return [id for (id,) in rows(connection, _DERIVED, (to_json(list(sources)), *owner))]


def related_partitions(
    connection: Connection, owner: tuple[str, str], table: str, ids: Sequence[str]
) -> list[VisiblePartition]:
    """Returns the agent's partitions in which rows of `table` with these ids stand."""
    found = rows(connection, _RELATED.format(table), (to_json(list(ids)), *owner))
    return [VisiblePartition(id, user or None, revision) for id, user, revision in found]
