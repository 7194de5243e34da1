"""Graph walks: answers the walks of `graph/traverse.py`, with one query for each level, or for a part of a large one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from germane.graph.traverse import Edge
from germane.stores.sqlite.encoding import LISTED, micros, to_json
from germane.stores.sqlite.graph_rows import entity_clause, sensitivity_codes
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, visible_ids
from germane.types.query import Filters

__all__ = ["all_edges", "directed_edges", "heaviest_edges", "holding"]

_ENDS = (("source", "target"), ("target", "source"))
_PART = 32
"""Entities whose relations are read with one statement where a walk may not need those of all."""
Answer = Callable[[Sequence[int]], Mapping[int, Sequence[Edge]]]


class _InParts(Mapping[int, Sequence[Edge]]):
    """The relations of many entities, read for some of them at a time when they are asked for, in the order of the entities: a
    walk that has reached its limit doesn't ask for the rest."""

    def __init__(self, entities: Sequence[int], read: Answer) -> None:
        self._parts = {
            entity: entities[start : start + _PART]
            for start in range(0, len(entities), _PART)
            for entity in entities[start : start + _PART]
        }
        self._read, self._found = read, dict[int, Sequence[Edge]]()

    def __getitem__(self, entity: int) -> Sequence[Edge]:
        if entity not in self._found:
            part = self._parts[entity]
            answered = self._read(part)
            self._found |= {one: answered.get(one, ()) for one in part}
        return self._found[entity]

    def __iter__(self) -> Iterator[int]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


def holding(at: datetime | None) -> tuple[str, list[Any]]:
    """Returns the condition for relations `r` that hold at a time, and the values bound to it; None accepts all."""
    if at is None:
        return "", []
    return " AND r.valid_from <= ? AND (r.valid_to IS NULL OR r.valid_to > ?)", [micros(at)] * 2


def heaviest_edges(
    connection: apsw.Connection,
    visible: tuple[VisiblePartition, ...],
    *,
    at: datetime | None,
    filters: Filters,
    limit: int,
) -> Answer:
    """Returns what answers with the `limit` heaviest relations of each entity, in both directions, the heaviest first. Of an
    entity with many relations no more are read than that."""
    seen, also = entity_clause(visible, filters, "o")
    holds, times = holding(at)
    halves, bound = list[str](), list[Any]()
    for here, there in _ENDS:
        halves.append(
            f"SELECT f.value, x.key, x.source, x.target, x.strength, x.id FROM json_each(?1) f CROSS JOIN relations x"
            f" ON x.key IN (SELECT r.key FROM relations r INDEXED BY relations_{here}"
            f" CROSS JOIN entities o ON o.key = r.{there}"
            f" WHERE r.{here} = f.value"
            f" AND r.partition IN {IN_VISIBLE} AND r.sensitivity IN {sensitivity_codes(filters)} AND {seen}{holds}"
            f" ORDER BY r.strength DESC, r.id LIMIT {int(limit)})"
        )
        bound += [*visible_ids(visible), *also, *times]
    sql = " UNION ".join(halves)

    def heaviest(entities: Sequence[int]) -> Mapping[int, Sequence[Edge]]:
        found = dict[int, list[tuple[float, str, Edge]]]()
        for entity, key, source, target, strength, id in rows(connection, sql, [to_json(list(entities)), *bound]):
            found.setdefault(entity, []).append((-strength, id, Edge(key, source, target, strength)))
        return {entity: [edge for _, _, edge in sorted(edges)[:limit]] for entity, edges in found.items()}

    return lambda entities: heaviest(entities) if len(entities) <= _PART else _InParts(entities, heaviest)


def all_edges(
    connection: apsw.Connection, visible: tuple[VisiblePartition, ...], *, at: datetime | None, filters: Filters, limit: int
) -> Answer:
    """Returns what answers with all relations of each entity, at most `limit` of one level."""
    seen, also = entity_clause(visible, filters, "o")
    holds, times = holding(at)
    halves = [
        f"SELECT r.{here}, r.key, r.source, r.target, r.strength FROM relations r JOIN entities o ON o.key = r.{there}"
        f" WHERE r.{here} IN {LISTED} AND +r.partition IN {IN_VISIBLE}"
        f" AND r.sensitivity IN {sensitivity_codes(filters)} AND {seen}{holds}"
        for here, there in _ENDS
    ]
    sql = f"{' UNION ALL '.join(halves)} LIMIT {int(limit)}"
    return lambda entities: _grouped(connection, sql, [to_json(list(entities)), *visible_ids(visible), *also, *times] * 2)


def directed_edges(
    connection: apsw.Connection,
    visible: tuple[VisiblePartition, ...],
    types: Sequence[str],
    *,
    backwards: bool,
    at: datetime | None,
    filters: Filters,
    limit: int,
) -> Answer:
    """Returns what answers with the relations of these types that begin (`backwards`: end) at each entity, by time."""
    here, there = _ENDS[backwards]
    seen, also = entity_clause(visible, filters, "o")
    holds, times = holding(at)
    sql = (
        f"SELECT r.{here}, r.key, r.source, r.target, r.strength FROM relations r JOIN entities o ON o.key = r.{there}"
        f" WHERE r.{here} IN {LISTED} AND r.type IN {LISTED} AND +r.partition IN {IN_VISIBLE}"
        f" AND r.sensitivity IN {sensitivity_codes(filters)} AND {seen}{holds} ORDER BY r.valid_from, r.id LIMIT {int(limit)}"
    )
    return lambda entities: _grouped(
        connection, sql, [to_json(list(entities)), to_json(list(types)), *visible_ids(visible), *also, *times]
    )


def _grouped(connection: apsw.Connection, sql: str, bound: Sequence[Any]) -> dict[int, list[Edge]]:
    found = dict[int, list[Edge]]()
    for entity, key, source, target, strength in rows(connection, sql, bound):
        found.setdefault(entity, []).append(Edge(key, source, target, strength))
    return found
