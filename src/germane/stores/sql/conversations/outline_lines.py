"""Outline lines: reads the lines of the outlines of sessions, and makes those of exchanges that go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from germane.errors import InvalidInput
from germane.kinds.conversations.outline import OutlinedMessage, OutlineLine, OutlinePage, line_of_exchange, split_exchanges
from germane.kinds.conversations.reads import LatestLines, ListOutline, OutlineLeft
from germane.search.unit import SENSITIVITY_CODES
from germane.stores.sql.connection import Connection
from germane.stores.sql.conversations.outlines import has_unoutlined, messages_between
from germane.stores.sql.events.sessions import latest_sessions
from germane.stores.sql.listing import SECRET, Listing, VisiblePartition
from germane.stores.sql.reading import ScopeReading
from germane.stores.sql.statements import Row, first, from_sql, micros, moment, only, rows, sensitivity_of, to_sql
from germane.stores.sql.where_clauses import impossible
from germane.types.query import Filters

_LINE = (
    "SELECT o.line, f.id, l.id, f.created_at, l.created_at, o.messages, o.sensitivity, o.first FROM history_outlines o"
    " JOIN events f ON f.session = o.session AND f.position = o.first"
    " JOIN events l ON l.session = o.session AND l.position = o.last WHERE o.session = ?"
)
_EVENT_AT = "SELECT id, created_at FROM events WHERE session = ? AND position = ?"


def outline_page(reading: ScopeReading, read: ListOutline) -> OutlinePage:
    """A cursor has the position at which the last line's exchange begins."""
    connection, own, session, limit = reading.connection, reading.own, read.session, read.limit
    if limit < 1:
        raise InvalidInput(f"limit must be 1 or more, not {limit}")
    if own is None:
        return OutlinePage(lines=())
    listing = Listing(only(connection, SECRET)[0], reading.scope, Filters(session=session), "outline")
    after = -1 if read.cursor is None else listing.position(read.cursor)[1]
    key = session_key(connection, own.id, session)
    if key is None:
        return OutlinePage(lines=())
    found = list(rows(connection, f"{_LINE} AND o.first > ? ORDER BY o.first LIMIT ?", (key, after, limit + 1)))
    places = [row[-1] for row in found]
    lines = [*_lines(session, [row if row[0] else _worded(connection, key, row) for row in found])]
    if len(found) <= limit:
        (outlined,) = only(connection, "SELECT outlined FROM sessions WHERE key = ?", (key,))
        for said in split_exchanges(messages_between(connection, key, max(outlined, after + 1))):
            places.append(said[0].position)
            lines.append(_open(connection, session, key, said))
    further = listing.cursor(0, places[limit - 1]) if len(lines) > limit else None
    return OutlinePage(lines=tuple(lines[:limit]), cursor=further)


def outline_left(connection: Connection, own: VisiblePartition, read: OutlineLeft) -> bool:
    key = session_key(connection, own.id, read.session)
    return key is not None and has_unoutlined(connection, key)


def session_key(connection: Connection, partition: int, session: str) -> int | None:
    """Returns the key of a session that is a conversation; None where there is none."""
    sql = "SELECT key FROM sessions WHERE partition = ? AND id = ? AND document IS NULL"
    row = first(connection, sql, (partition, to_sql(session)))
    return None if row is None else int(row[0])


def latest_lines(reading: ScopeReading, read: LatestLines) -> tuple[OutlineLine, ...]:
    """Opens the sessions by their latest message, until there are enough lines."""
    limit, filters = read.limit, read.filters
    if impossible(filters, "events") or filters.event_types is not None or filters.task is not None:
        return ()
    connection, visible = reading.connection, reading.visible
    among, bound = "", list[Any]()
    if filters.session is not None:
        among += " AND id = ?"
        bound.append(to_sql(filters.session))
    if filters.since is not None:
        among += " AND last_at >= ?"
        bound.append(micros(filters.since))
    levels = ", ".join(str(code) for level, code in SENSITIVITY_CODES.items() if level in filters.sensitivities)
    clause, values = f" AND o.messages > 1 AND o.sensitivity IN ({levels})", list[Any]()
    for condition, moment_asked in (("f.created_at >= ?", filters.since), ("l.created_at <= ?", filters.until)):
        if moment_asked is not None:
            clause += f" AND {condition}"
            values.append(micros(moment_asked))
    lines: list[OutlineLine] = []
    for _, key, session in latest_sessions(connection, visible, among, bound):
        if len(lines) >= limit:
            break
        found = rows(connection, f"{_LINE}{clause} ORDER BY o.first DESC LIMIT ?", (key, *values, limit - len(lines)))
        lines += [
            line for line in _lines(from_sql(session), list(found)) if filters.exclude.isdisjoint((line.first_id, line.last_id))
        ]
    return tuple(sorted(lines, key=lambda line: line.first_at))


def _lines(session: str, found: Sequence[Row]) -> tuple[OutlineLine, ...]:
    return tuple(
        OutlineLine(
            session=session,
            text=from_sql(line),
            first_id=first_id,
            last_id=last_id,
            first_at=moment(first_at),
            last_at=moment(last_at),
            messages=messages,
            sensitivity=sensitivity_of(level),
        )
        for line, first_id, last_id, first_at, last_at, messages, level, _ in found
    )


def _worded(connection: Connection, key: int, row: Row) -> Row:
    """The row of a line that was stored without its text."""
    return (line_of_exchange(messages_between(connection, key, row[-1], row[-1])), *row[1:]) if row[5] == 1 else row


def _open(connection: Connection, session: str, key: int, said: Sequence[OutlinedMessage]) -> OutlineLine:
    """The line of an exchange that goes on, made for this reading."""
    (first_id, first_at), (last_id, last_at) = (only(connection, _EVENT_AT, (key, one.position)) for one in (said[0], said[-1]))
    return OutlineLine(
        session=session,
        text=line_of_exchange(said),
        first_id=first_id,
        last_id=last_id,
        first_at=moment(first_at),
        last_at=moment(last_at),
        messages=len(said),
        sensitivity=sensitivity_of(max(one.sensitivity for one in said)),
    )
