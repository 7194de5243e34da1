"""Event listing: pages of the events and of the sessions of one scope, newest first.

Events have an index by time within each session only. A page opens the sessions by their latest event, and the next one only
when it may hold an event that is newer than those still to come, so that a page reads little more than it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import islice
from types import MappingProxyType

from germane.errors import InvalidInput
from germane.events.event import DOCUMENT, Event
from germane.events.reader import MessagePage, SessionPage
from germane.stores.sqlite.cursor import SECRET, Listing
from germane.stores.sqlite.encoding import LISTED, stored, to_json
from germane.stores.sqlite.events import BRIEF, EVENT, brief_of, event_of, session_of
from germane.stores.sqlite.latest_sessions import latest_sessions
from germane.stores.sqlite.readers import Reading
from germane.stores.sqlite.rows import Row, only, rows
from germane.stores.sqlite.visible_partitions import VisiblePartition, in_clause, owners, visible_partitions
from germane.stores.sqlite.where_clauses import TYPED_ONLY, Clause, excluded, for_events, impossible
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["listed_events", "listed_sessions"]

_NAMES: Mapping[bool | None, str] = MappingProxyType({None: "events", False: "messages", True: "typed"})
"""The name of each listing, which its cursors hold."""
_HOLDING: Mapping[bool | None, str] = MappingProxyType(
    {
        None: "",
        False: " AND next > 0",
        True: " AND EXISTS (SELECT 1 FROM events e WHERE e.session = sessions.key AND e.position < 0)",
    }
)
"""Conditions for sessions in which there ever was a message (False), or there is another event (True)."""
_COUNTS = "length, next"
"""How many events of a session there are, and how many messages there ever were."""
_FEW = 256
"""Other events than messages, of one session, up to which all are read and sorted by time. With more, all events of the
session are looked at in the order of time."""
_TYPED_BY_TIME = " AND +e.position < 0"
_SESSION = "partition, id, number, started_at, last_at, length, key"
_KEY, _CREATED = 0, 7
"""Columns of the rows of `EVENT` and `BRIEF`."""


def listed_events(
    reading: Reading,
    scope: Scope,
    filters: Filters,
    limit: int,
    cursor: str | None,
    *,
    whole: bool,
    typed: bool | None = None,
) -> MessagePage:
    """See `EventReader.page`."""
    listing, after = _continued(reading, _NAMES[typed], scope, filters, limit, cursor)
    if impossible(filters, "events"):
        return MessagePage(messages=())
    connection = reading.connection
    visible = visible_partitions(connection, scope)
    clause, values = for_events(visible, filters)
    condition, bound = _holding(visible, filters, typed)
    if filters.session is not None:
        condition += " AND id = ?"
        bound.append(stored(filters.session))
    if after is not None:
        condition += " AND started_at <= ?"
        bound.append(after[0])
        clause += " AND e.created_at <= ? AND (e.created_at, e.key) < (?, ?)"
        values += [after[0], *after]

    def events_of(session: int, length: int, messages: int) -> Iterator[Row]:
        only = _TYPED_BY_TIME if typed and length - messages > _FEW else TYPED_ONLY[typed]
        sql = f"{EVENT if whole else BRIEF} WHERE e.session = ? AND {clause}{only} ORDER BY e.created_at DESC, e.key DESC"
        return rows(connection, sql, [session, *values])

    if filters.session is not None or DOCUMENT in (filters.event_types or ()):
        sessions = f"SELECT last_at, key, {_COUNTS} FROM sessions WHERE partition IN {in_clause(visible)}{condition}"
        latest = rows(connection, f"{sessions} ORDER BY last_at DESC, key DESC", bound)
    else:
        latest = latest_sessions(connection, visible, condition, bound, columns=_COUNTS)
    users = owners(visible)
    events: list[Event] = []
    last: tuple[int, int] | None = None
    for row in _newest_first(latest, events_of):
        event = event_of(row, users) if whole else brief_of(connection, row, users)
        if excluded(event, filters):
            continue
        if len(events) == limit and last is not None:
            return MessagePage(messages=tuple(events), cursor=listing.cursor(*last))
        events.append(event)
        last = (row[_CREATED], row[_KEY])
    return MessagePage(messages=tuple(events))


def _holding(visible: tuple[VisiblePartition, ...], filters: Filters, typed: bool | None) -> Clause:
    """A condition for the sessions that hold anything of the kind, so that the others aren't opened."""
    if filters.task is not None:
        condition = f" AND key IN (SELECT session FROM events WHERE partition IN {in_clause(visible)} AND task = ?)"
        return condition, [stored(filters.task)]
    if filters.event_types is not None:
        kind = TYPED_ONLY[typed].replace("+", "")
        condition = f" AND EXISTS (SELECT 1 FROM events e WHERE e.session = sessions.key{kind} AND e.type IN {LISTED})"
        return condition, [to_json(filters.event_types)]
    return _HOLDING[typed], []


def listed_sessions(reading: Reading, scope: Scope, limit: int, cursor: str | None) -> SessionPage:
    """See `EventReader.sessions`."""
    listing, after = _continued(reading, "sessions", scope, Filters(), limit, cursor)
    visible = reading.visible(scope)
    latest = latest_sessions(reading.connection, visible, columns=_SESSION, after=after)
    found = [row[2:] for row in islice(latest, limit + 1)]
    users, last = owners(visible), found[limit - 1] if len(found) > limit else None
    sessions = tuple(session_of(row, users) for row in found[:limit])
    return SessionPage(sessions=sessions, cursor=None if last is None else listing.cursor(last[4], last[6]))


def _continued(
    reading: Reading, what: str, scope: Scope, filters: Filters, limit: int, cursor: str | None
) -> tuple[Listing, tuple[int, int] | None]:
    if limit < 1:
        raise InvalidInput(f"limit must be 1 or more, not {limit}")
    listing = Listing(only(reading.connection, SECRET)[0], scope, filters, what)
    return listing, None if cursor is None else listing.position(cursor)


def _newest_first(sessions: Iterable[Row], events_of: Callable[[int, int, int], Iterator[Row]]) -> Iterator[Row]:
    """Merges the sessions' events, each newest first. `sessions`: the latest time, the key and the counts of each, the latest
    first."""
    heap: list[tuple[int, int, Row, Iterator[Row]]] = []

    def push(events: Iterator[Row]) -> None:
        row = next(events, None)
        if row is not None:
            heappush(heap, (-row[_CREATED], -row[_KEY], row, events))

    def pop() -> Row:
        _, _, row, events = heappop(heap)
        push(events)
        return row

    for last_at, session, length, messages in sessions:
        while heap and -heap[0][0] > last_at:
            yield pop()
        push(events_of(session, length, messages))
    while heap:
        yield pop()
