"""Where clauses: filters and criteria as SQL conditions, each bound to the partitions that the scope may see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from germane.kinds.blocks.value import ArchivalEntry
from germane.kinds.events.value import Event
from germane.kinds.memories.reads import Select
from germane.kinds.memories.value import Memory
from germane.search.unit import SENSITIVITY_CODES
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, in_clause, visible_ids
from germane.stores.sql.search.units import Domain
from germane.stores.sql.statements import LISTED, first, from_sql, micros, rows, to_json, to_sql
from germane.types.query import Filters

Clause = tuple[str, list[Any]]
"""SQL after WHERE, and the values bound to it."""
BY_KEY = " NOT INDEXED"
"""After a table of which few rows are named by their keys: the planner would read the whole partition and compare."""
TYPED_ONLY: Mapping[bool | None, str] = MappingProxyType(
    {None: "", False: " AND +e.position >= 0", True: " AND e.position < 0"}
)
"""Narrows rows of `events AS e` to messages (False) or to all other events (True). Most events are messages: the plus keeps the
planner from reading and sorting all of a session's by their positions."""


def keys_passing(domain: Domain) -> Callable[[Connection, tuple[VisiblePartition, ...], Filters], frozenset[int] | None]:
    """Returns the function that finds the keys which pass the filters that search doesn't check itself."""
    return {"events": event_keys, "memories": memory_keys, "blocks": _all_keys}[domain]


def _all_keys(connection: Connection, visible: tuple[VisiblePartition, ...], filters: Filters) -> None:
    return None


def impossible(filters: Filters, domain: Domain) -> bool:
    """Whether nothing of the domain can pass: events have no kind and no tags, memories neither event type nor task."""
    if not filters.sensitivities:
        return True
    if domain == "events":
        return filters.kinds is not None or filters.tags is not None
    return filters.event_types is not None or filters.task is not None


def excluded(thing: Memory | Event | ArchivalEntry, filters: Filters) -> bool:
    """Whether the filters exclude this id, germane's or the caller's message id."""
    if isinstance(thing, ArchivalEntry):
        return thing.id in filters.exclude
    message_id = thing.message_id if isinstance(thing, Event) else thing.provenance.message_id
    return thing.id in filters.exclude or (message_id is not None and message_id in filters.exclude)


def for_memories(visible: tuple[VisiblePartition, ...], filters: Filters, at: datetime) -> Clause:
    clause, values = _shared(visible, filters)
    if not filters.with_ended:
        now = micros(at)
        clause += " AND valid_from <= ? AND (valid_to IS NULL OR valid_to > ?) AND (expires_at IS NULL OR expires_at > ?)"
        values += [now, now, now]
    if filters.kinds is not None:
        clause += f" AND kind IN {LISTED}"
        values.append(to_json(filters.kinds))
    if filters.session is not None:
        clause += " AND session = ?"
        values.append(to_sql(filters.session))
    if filters.tags is not None:
        clause += f" AND key IN ({tagged(visible)})"
        values.append(to_json(filters.tags))
    return clause, values


def for_events(visible: tuple[VisiblePartition, ...], filters: Filters) -> Clause:
    """The condition for rows of `events AS e`."""
    clause, values = _shared(visible, filters, "e.")
    if filters.event_types is not None:
        clause += f" AND e.type IN {LISTED}"
        values.append(to_json(filters.event_types))
    if filters.task is not None:
        clause += " AND e.task = ?"
        values.append(to_sql(filters.task))
    return clause, values


def memory_keys(connection: Connection, visible: tuple[VisiblePartition, ...], filters: Filters) -> frozenset[int] | None:
    """Returns the keys that pass the filters that search doesn't check itself (tags, session); None where none is set."""
    if filters.tags is None and filters.session is None:
        return None
    wide = Filters(tags=filters.tags, session=filters.session, sensitivities=filters.sensitivities, with_ended=True)
    clause, values = for_memories(visible, wide, datetime.max)
    how = "" if filters.tags is None else BY_KEY
    return frozenset(key for (key,) in connection.execute(f"SELECT key FROM memories{how} WHERE {clause}", values))


def event_keys(connection: Connection, visible: tuple[VisiblePartition, ...], filters: Filters) -> frozenset[int] | None:
    """Returns the keys that pass the filters that search doesn't check itself (event types, session, task); None where
    none is set."""
    parts, values = [f"partition IN {in_clause(visible)}"], list[Any]()
    if filters.event_types is not None:
        parts.append(f"type IN {LISTED}")
        values.append(to_json(filters.event_types))
    if filters.session is not None:
        parts.append(f"session IN (SELECT key FROM sessions WHERE partition IN {in_clause(visible)} AND id = ?)")
        values.append(to_sql(filters.session))
    if filters.task is not None:
        parts.append("task = ?")
        values.append(to_sql(filters.task))
    if len(parts) == 1:
        return None
    sql = f"SELECT key FROM events WHERE {' AND '.join(parts)}"
    return frozenset(key for (key,) in connection.execute(sql, values))


def tagged(visible: tuple[VisiblePartition, ...]) -> str:
    """Returns SQL for the keys of memories with any of the tags, which are bound to it as one JSON list."""
    return f"SELECT memory FROM memory_tags WHERE partition IN {in_clause(visible)} AND tag IN {LISTED}"


def _shared(visible: tuple[VisiblePartition, ...], filters: Filters, table: str = "") -> Clause:
    codes = sorted({SENSITIVITY_CODES[level] for level in filters.sensitivities if level in SENSITIVITY_CODES})
    clause = f"{table}partition IN {IN_VISIBLE} AND {table}sensitivity IN ({', '.join('?' * len(codes))})"
    values: list[Any] = [*visible_ids(visible), *codes]
    if filters.since is not None:
        clause += f" AND {table}created_at >= ?"
        values.append(micros(filters.since))
    if filters.until is not None:
        clause += f" AND {table}created_at <= ?"
        values.append(micros(filters.until))
    return clause, values


# Criteria: what a selection for a forgetting gives, as SQL.


def by_ids_alone(read: Select) -> bool:
    """Whether a selection gives ids, a user or `everything`, and no criterion that only some kinds have."""
    return all(one is None for one in (read.key, read.tag, read.session, read.source_kind, read.channel))


def all_or_ids(read: Select, partition: int) -> Clause | None:
    """Returns which things of a partition a selection matches, for a kind that has no criterion of its own: all of them, or
    those with its ids. None where it gives another criterion."""
    if not by_ids_alone(read):
        return None
    if read.ids is None:
        return "partition = ?", [partition]
    return f"+partition = ? AND id IN {LISTED}", [partition, to_json(read.ids)]


def provenance_criteria(read: Select) -> list[tuple[str, str | None]]:
    """Returns the criteria of the provenance, each with its value; what is usual in a provenance isn't stored."""
    kind = "coalesce(json_extract(provenance, '$.source_kind'), 'user') = ?"
    return [(kind, read.source_kind), ("json_extract(provenance, '$.channel') = ?", read.channel)]


def matching_ids(
    connection: Connection,
    sql: str,
    values: list[Any],
    ids: tuple[str, ...] | None,
    named: Callable[[Collection[Any]], list[str]],
) -> tuple[str, ...]:
    """Returns the ids of all rows that `sql` selects, by id and message id; or of the rows with one of `ids`. Only ids that
    aren't germane's are looked up with `named` as the caller's message ids."""
    if ids is None:
        return tuple(id for id, _ in rows(connection, f"{sql} ORDER BY key", values))
    wanted = dict.fromkeys(map(to_sql, ids))
    found = dict.fromkeys(id for id in wanted if first(connection, f"{sql} AND id = ?", (*values, id)))
    rest = dict.fromkeys(id for id in wanted if id not in found)
    if rest:
        found |= dict.fromkeys(named(rest))
    return tuple(map(from_sql, found))


def ids_of_messages(connection: Connection, sql: str, values: list[Any], wanted: Collection[Any]) -> list[str]:
    """Returns the ids of those rows that `sql` selects which have one of the wanted message ids. Reads all of them."""
    found = rows(connection, f"{sql} AND message_id IS NOT NULL ORDER BY key", values)
    return [id for id, message_id in found if message_id in wanted]
