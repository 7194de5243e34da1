"""Typed events: what plans and sources read of events that aren't messages: by the caller's id, the latest, highlights."""

from __future__ import annotations

from itertools import islice
from typing import Any

from germane.kinds.events.highlights import EventMark, highlights
from germane.kinds.events.reads import EventsNamed, LatestTyped, PositionsTaken, TypedPosition
from germane.kinds.events.value import Event
from germane.stores.sql.connection import Connection
from germane.stores.sql.events.event_rows import BRIEF, EVENT, brief_of, event_of
from germane.stores.sql.events.event_table import select_events
from germane.stores.sql.events.sessions import latest_sessions
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, owners, visible_ids
from germane.stores.sql.statements import LISTED, first, from_sql, micros, rows, to_json, to_sql
from germane.stores.sql.transaction import Transaction
from germane.stores.sql.where_clauses import excluded, for_events, impossible
from germane.types.query import Filters

_MAX_LATEST = 256
"""The latest events of a session among which its highlights are chosen."""
_HEAD, _TAIL = 8_192, 4_096
"""Characters of the beginning and the end of a long text that `latest_typed` reads."""
_LONG_TEXT = f"typeof(e.text) = 'text' AND length(e.text) > {_HEAD + _TAIL}"
_SHORTENED = select_events(
    text=f"CASE WHEN {_LONG_TEXT} THEN substr(e.text, 1, {_HEAD}) || char(10) || substr(e.text, -{_TAIL}) ELSE e.text END",
    raw=f"CASE WHEN octet_length(e.raw) <= {_HEAD} THEN e.raw END",
)
"""The rows that `event_of` takes, with long texts cut and without long contents."""


def typed_position(transaction: Transaction, partition: VisiblePartition, read: TypedPosition) -> int:
    return transaction.events.session(partition.id, read.session).typed_next


def events_named(transaction: Transaction, partition: VisiblePartition, read: EventsNamed) -> dict[str, Event]:
    session, users = _written(transaction, partition, read.session), {partition.id: partition.user}
    found: dict[str, Event] = {}
    for message_id in read.message_ids if session is not None else ():
        sql = f"{EVENT} WHERE e.session = ? AND e.message_id = ?"
        row = first(transaction.connection, sql, (session, to_sql(message_id)))
        if row is not None:
            found[message_id] = event_of(row, users)
    return found


def latest_typed(transaction: Transaction, partition: VisiblePartition, read: LatestTyped) -> tuple[Event, ...]:
    session, users = _written(transaction, partition, read.session), {partition.id: partition.user}
    if session is None:
        return ()
    sql = (
        f"{_SHORTENED} WHERE e.session = ? AND e.position < 0 AND e.created_at <= ?"
        " ORDER BY e.created_at DESC, e.position DESC LIMIT ?"
    )
    found = [event_of(row, users) for row in rows(transaction.connection, sql, (session, micros(read.until), read.limit))]
    return tuple(reversed(found))


def positions_taken(transaction: Transaction, partition: VisiblePartition, read: PositionsTaken) -> frozenset[int]:
    session = _written(transaction, partition, read.session)
    sql = "SELECT position FROM events WHERE session = ? AND position BETWEEN ? AND ?"
    return frozenset(at for (at,) in rows(transaction.connection, sql, (session, read.first, read.last)))


def highlights_of(
    connection: Connection,
    visible: tuple[VisiblePartition, ...],
    filters: Filters,
    *,
    sessions: int,
    limit: int,
    but: str | None,
) -> tuple[Event, ...]:
    """Answers `LatestHighlights`. Of each session the times, types and outcomes of the latest events are read, and the texts
    of those that are chosen."""
    if impossible(filters, "events") or sessions < 1 or limit < 1:
        return ()
    clause, values = for_events(visible, filters)
    marks = (
        "SELECT e.key, e.type, e.role, e.outcome, e.created_at, e.position FROM events e"
        f" WHERE e.session = ? AND {clause} ORDER BY e.created_at DESC, e.position DESC LIMIT {_MAX_LATEST}"
    )
    chosen: list[int] = []
    for key in _sessions(connection, visible, filters, sessions, but):
        found = [
            EventMark(event, from_sql(type), role, from_sql(outcome), at, position)
            for event, type, role, outcome, at, position in rows(connection, marks, (key, *values))
        ]
        chosen += [mark.key for mark in highlights(found, limit)]
    users = owners(visible)
    sql = f"{BRIEF} WHERE e.key IN {LISTED} AND +e.partition IN {IN_VISIBLE}"
    wanted = (to_json(chosen), *visible_ids(visible))
    events = {row[0]: brief_of(connection, row, users) for row in rows(connection, sql, wanted)}
    return tuple(events[key] for key in chosen if key in events and not excluded(events[key], filters))


def _sessions(
    connection: Connection, visible: tuple[VisiblePartition, ...], filters: Filters, limit: int, but: str | None
) -> list[int]:
    condition, values = "", list[Any]()
    if filters.session is not None:
        condition += " AND id = ?"
        values.append(to_sql(filters.session))
    if but is not None:
        condition += " AND id <> ?"
        values.append(to_sql(but))
    return [row[1] for row in islice(latest_sessions(connection, visible, condition, values), limit)]


def _written(transaction: Transaction, partition: VisiblePartition, session: str) -> int | None:
    """Returns the session's key, None where there is no such session; its events are written first."""
    if transaction.events.session(partition.id, session).grown:
        transaction.write_events()
    return transaction.events.session(partition.id, session).key
