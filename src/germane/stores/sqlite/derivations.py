"""Derivation rows: what was made of what, by id; forgetting follows them, in whatever room a thing stands.

A memory that others took the place of (a consolidation) is gone, while what was made of it stays. Its own rows stay too, as a
*bridge*: what was made of it goes with what it was made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw

from germane.stores.sqlite.encoding import LISTED, to_json
from germane.stores.sqlite.rows import first, rows
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.types.plan import Derivation

__all__ = ["bind", "derived_ids", "related_partitions", "unbind"]

_DERIVED = (
    "WITH RECURSIVE derived (id) AS ("
    " SELECT d.thing FROM json_each(?1) s JOIN derivations d ON d.source = s.value JOIN partitions p ON p.id = d.partition"
    " WHERE p.org = ?2 AND p.agent = ?3 UNION"
    " SELECT d.thing FROM derived JOIN derivations d ON d.source = derived.id JOIN partitions p ON p.id = d.partition"
    " WHERE p.org = ?2 AND p.agent = ?3)"
    " SELECT id FROM derived"
)
_IS_BRIDGE = (
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM derivations WHERE thing = ?1) AND NOT EXISTS (SELECT 1 FROM derivations WHERE"
    " source = ?1) AND NOT EXISTS (SELECT 1 FROM memories WHERE id = ?1) AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = ?1)"
)
"""Whether an id is that of something gone of which nothing is left that was made of it."""
_RELATED = (
    "SELECT DISTINCT p.id, p.user, p.revision FROM {} t JOIN partitions p ON p.id = t.partition"
    f" WHERE t.id IN {LISTED} AND p.org = ? AND p.agent = ?"
)


def bind(connection: apsw.Connection, partition: int, derivation: Derivation) -> None:
    """Keeps what a thing was made of, in place of what was kept of that before."""
    connection.execute("DELETE FROM derivations WHERE thing = ?", (derivation.thing,))
    if derivation.sources:
        made = [(source, derivation.thing, partition) for source in dict.fromkeys(derivation.sources)]
        connection.executemany("INSERT INTO derivations VALUES (?, ?, ?)", made)


def unbind(connection: apsw.Connection, things: Iterable[str], *, replaced: bool) -> None:
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


def derived_ids(connection: apsw.Connection, owner: tuple[str, str], sources: Sequence[str]) -> list[str]:
    """Returns the ids of all that was made of these, directly or through others, by the same agent: `owner` is its org and its
    name. A user's memory may be made of what is agent-wide, so it may be anyone's of the agent."""
    return [id for (id,) in rows(connection, _DERIVED, (to_json(list(sources)), *owner))]


def related_partitions(
    connection: apsw.Connection, owner: tuple[str, str], table: str, ids: Sequence[str]
) -> list[VisiblePartition]:
    """Returns the agent's partitions in which rows of `table` with these ids stand."""
    found = rows(connection, _RELATED.format(table), (to_json(list(ids)), *owner))
    return [VisiblePartition(id, user or None, revision) for id, user, revision in found]
