"""Reader: reads and lists the events and sessions of one scope, tells who speaks there; the tables of reads and changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from heapq import heappop, heappush, merge
from itertools import islice
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput
from germane.kinds.events.reads import (
    EventsById,
    EventsByMessageId,
    EventsNamed,
    LastSaid,
    LatestHighlights,
    LatestTyped,
    ListEvents,
    ListSessions,
    MessagePage,
    PositionsTaken,
    PutReplacement,
    RecentEvents,
    ReservePositions,
    SaidBefore,
    SaidLately,
    SeenEvents,
    SessionLength,
    SessionPage,
    SessionTail,
    TypedPosition,
)
from germane.kinds.events.value import DOCUMENT, FIRST_TYPED, Event
from germane.stores.sql.events import event_rows
from germane.stores.sql.events.event_rows import BRIEF, EVENT, brief_of, event_of, session_of, with_newer
from germane.stores.sql.events.event_table import EVENTS
from germane.stores.sql.events.sessions import latest_sessions
from germane.stores.sql.events.typed_events import events_named, highlights_of, latest_typed, positions_taken, typed_position
from germane.stores.sql.listing import (
    IN_VISIBLE,
    SECRET,
    Listing,
    VisiblePartition,
    in_clause,
    owners,
    visible_ids,
)
from germane.stores.sql.memories.memory_rows import said_lately
from germane.stores.sql.reading import Answers, Readers, Reading, ScopeReading, nothing
from germane.stores.sql.search.partitions import Searcher, SqlSearch, speaker_names
from germane.stores.sql.statements import LISTED, Row, moment, only, rows, to_json, to_sql
from germane.stores.sql.transaction import Appliers, of_plan, to_own
from germane.stores.sql.where_clauses import TYPED_ONLY, Clause, excluded, for_events, impossible
from germane.types.query import Filters
from germane.types.scope import Scope

_SESSIONS = 5
"""Latest sessions that `recent` reads."""


class SqlEventSearch(SqlSearch[Event]):
    """Implements `germane.stores.contract.EventSearch`."""

    def __init__(self, scope: Scope, readers: Readers, searcher: Searcher[Event]) -> None:
        super().__init__(scope, searcher)
        self._readers = readers

    async def speakers(self, said_in: str | None = None) -> tuple[str, ...]:
        def work(reading: Reading) -> tuple[str, ...]:
            visible = reading.visible(self._scope)
            if said_in is not None:
                return self._searcher.speaking(reading, visible, said_in)
            return speaker_names(reading.connection, visible)

        return await self._readers.read_batched(work)


def _seen(reading: ScopeReading, read: SeenEvents) -> tuple[Event, ...]:
    visible = reading.visible
    sql = f"{EVENT} WHERE +e.partition IN {in_clause(visible)} AND e.id IN {LISTED}"
    users = owners(visible)
    events = [event_of(row, users) for row in rows(reading.connection, sql, (to_json(read.ids),))]
    found = {event.id: event for event in events}
    return tuple(found[id] for id in dict.fromkeys(read.ids) if id in found)


def _highlights(reading: ScopeReading, read: LatestHighlights) -> tuple[Event, ...]:
    return highlights_of(
        reading.connection, reading.visible, read.filters, sessions=read.sessions, limit=read.limit, but=read.but
    )


def _recent(reading: ScopeReading, read: RecentEvents) -> tuple[Event, ...]:
    """Reads session by session, latest first, until no session can hold an event newer than those found."""
    limit, filters, whole = read.limit, read.filters, read.whole
    if limit <= 0 or impossible(filters, "events"):
        return ()
    if read.session is not None and filters.session not in (None, read.session):
        return ()
    session = read.session if read.session is not None else filters.session
    connection, visible = reading.connection, reading.visible
    clause, values = for_events(visible, filters)
    clause += TYPED_ONLY[read.typed]
    sql = f"{EVENT if whole else BRIEF} WHERE e.session = ? AND {clause} ORDER BY e.created_at DESC, e.position DESC"
    users = owners(visible)
    newest: list[Event] = []
    for key, last_at in _latest(reading, visible, session):
        if len(newest) == limit and newest[-1].created_at > moment(last_at):
            break
        found = connection.execute(sql, [key, *values])
        events = (event_of(row, users) if whole else brief_of(connection, row, users) for row in found)
        wanted = islice((event for event in events if not excluded(event, filters)), limit)
        newest = list(islice(merge(newest, wanted, key=_age, reverse=True), limit))
    return tuple(newest) if whole else with_newer(connection, visible, newest)


def _latest(reading: ScopeReading, visible: tuple[VisiblePartition, ...], session: str | None) -> list[tuple[int, int]]:
    condition, values = ("", []) if session is None else (" AND id = ?", [to_sql(session)])
    found = latest_sessions(reading.connection, visible, condition, values)
    return [(key, last_at) for last_at, key, _ in islice(found, _SESSIONS)]


def _age(event: Event) -> tuple[datetime, int]:
    return event.created_at, event.position


def fetch_events(
    reading: Reading,
    visible: tuple[VisiblePartition, ...],
    places: Mapping[int, tuple[int, int]],
    best: Collection[int],
) -> dict[int, Event]:
    """Of the best events of a search, what may have made them outdated is read too."""
    sql = f"{BRIEF} WHERE e.key IN {LISTED} AND +e.partition IN {IN_VISIBLE}"
    users, connection = owners(visible), reading.connection
    found: list[tuple[Any, ...]] = connection.execute(sql, (to_json(list(places)), *visible_ids(visible))).fetchall()
    events = {row[0]: brief_of(connection, row, users, places[row[0]]) for row in found}
    leading = {events[key].id for key in best if key in events}
    return dict(zip(events, with_newer(connection, visible, list(events.values()), leading), strict=True))


# Pages, newest first. Events have an index by time within each session only. A page opens the sessions by their latest
# event, and the next one only when it may hold an event that is newer than those still to come, so that a page reads
# little more than it returns.


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
_MAX_SORTED = 256
"""Other events than messages, of one session, up to which all are read and sorted by time. With more, all events of the
session are looked at in the order of time."""
_TYPED_BY_TIME = " AND +e.position < 0"
_SESSION = "partition, id, number, started_at, last_at, length, key"
_KEY, _CREATED = EVENTS.place("key"), EVENTS.place("created_at")
"""Columns of the rows of `EVENT` and `BRIEF`."""


def _listed(reading: ScopeReading, read: ListEvents) -> MessagePage:
    filters, limit, whole, typed = read.filters, read.limit, read.whole, read.typed
    listing, after = _continued(reading, _NAMES[typed], filters, limit, read.cursor)
    if impossible(filters, "events"):
        return MessagePage(messages=())
    connection, visible = reading.connection, reading.visible
    clause, values = for_events(visible, filters)
    condition, bound = _holding(visible, filters, typed)
    if filters.session is not None:
        condition += " AND id = ?"
        bound.append(to_sql(filters.session))
    if after is not None:
        condition += " AND started_at <= ?"
        bound.append(after[0])
        clause += " AND e.created_at <= ? AND (e.created_at, e.key) < (?, ?)"
        values += [after[0], *after]

    def events_of(session: int, length: int, messages: int) -> Iterator[Row]:
        only = _TYPED_BY_TIME if typed and length - messages > _MAX_SORTED else TYPED_ONLY[typed]
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
        return condition, [to_sql(filters.task)]
    if filters.event_types is not None:
        kind = TYPED_ONLY[typed].replace("+", "")
        condition = f" AND EXISTS (SELECT 1 FROM events e WHERE e.session = sessions.key{kind} AND e.type IN {LISTED})"
        return condition, [to_json(filters.event_types)]
    return _HOLDING[typed], []


def _listed_sessions(reading: ScopeReading, read: ListSessions) -> SessionPage:
    limit, visible = read.limit, reading.visible
    listing, after = _continued(reading, "sessions", Filters(), limit, read.cursor)
    latest = latest_sessions(reading.connection, visible, columns=_SESSION, after=after)
    found = [row[2:] for row in islice(latest, limit + 1)]
    users, last = owners(visible), found[limit - 1] if len(found) > limit else None
    sessions = tuple(session_of(row, users) for row in found[:limit])
    return SessionPage(sessions=sessions, cursor=None if last is None else listing.cursor(last[4], last[6]))


def _continued(
    reading: ScopeReading, what: str, filters: Filters, limit: int, cursor: str | None
) -> tuple[Listing, tuple[int, int] | None]:
    if limit < 1:
        raise InvalidInput(f"limit must be 1 or more, not {limit}")
    listing = Listing(only(reading.connection, SECRET)[0], reading.scope, filters, what)
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


# The tables of the kind. Events that follow one another are written together (`PlanRun`).


EVENT_READS: Answers = {
    SeenEvents: _seen,
    ListEvents: _listed,
    RecentEvents: _recent,
    LatestHighlights: _highlights,
    ListSessions: _listed_sessions,
    EventsById: of_plan(event_rows.by_id, dict),
    EventsByMessageId: of_plan(event_rows.by_message_id, dict),
    EventsNamed: of_plan(events_named, dict),
    LatestTyped: of_plan(latest_typed, tuple),
    SessionTail: of_plan(event_rows.tail, tuple),
    SessionLength: of_plan(event_rows.length, int),
    LastSaid: of_plan(event_rows.last_said, nothing),
    SaidLately: of_plan(said_lately, SaidBefore),
    TypedPosition: of_plan(typed_position, lambda: FIRST_TYPED),
    PositionsTaken: of_plan(positions_taken, frozenset),
}
EVENT_CHANGES: Appliers = {
    PutReplacement: to_own(event_rows.put_replacement),
    ReservePositions: to_own(event_rows.reserve_positions),
}
