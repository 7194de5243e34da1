"""Reader: reads, lists and searches the events and sessions of one scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import heappop, heappush, merge
from itertools import islice
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput
from germane.kinds.events.reads import MessagePage, SessionPage
from germane.kinds.events.value import DOCUMENT, Event
from germane.stores.sql.events.event_rows import BRIEF, EVENT, brief_of, event_of, session_of, with_newer
from germane.stores.sql.events.sessions import latest_sessions
from germane.stores.sql.events.typed_events import highlights_of
from germane.stores.sql.listing import (
    IN_VISIBLE,
    SECRET,
    Listing,
    VisiblePartition,
    in_clause,
    owners,
    visible_ids,
    visible_partitions,
)
from germane.stores.sql.reading import Readers, Reading
from germane.stores.sql.search.partitions import Searcher, speaker_names
from germane.stores.sql.statements import LISTED, Row, moment, only, rows, to_json, to_sql
from germane.stores.sql.where_clauses import TYPED_ONLY, Clause, excluded, for_events, impossible
from germane.types.evidence import Found
from germane.types.query import Filters, Query
from germane.types.scope import Scope

_SESSIONS = 5
"""Latest sessions that `recent` reads."""
_MAX_WITH_NEWER = 10
"""The best events of a search, of which what may have made them outdated is read too."""


class SqlEvents:
    """Implements `germane.kinds.events.reads.EventReader`."""

    def __init__(self, scope: Scope, readers: Readers, searcher: Searcher[Event]) -> None:
        self._scope, self._readers, self._searcher = scope, readers, searcher

    async def get(self, ids: Sequence[str]) -> tuple[Event, ...]:
        def work(reading: Reading) -> tuple[Event, ...]:
            visible = reading.visible(self._scope)
            sql = f"{EVENT} WHERE +e.partition IN {in_clause(visible)} AND e.id IN {LISTED}"
            users = owners(visible)
            found = {row[2]: event_of(row, users) for row in reading.connection.execute(sql, (to_json(ids),))}
            return tuple(found[id] for id in dict.fromkeys(ids) if id in found)

        return await self._readers.run(work)

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[Event]:
        return await self._searcher.search(self._scope, query, limit, keywords=keywords, vectors=vectors, wait=wait)

    async def recent(
        self,
        limit: int,
        *,
        session: str | None = None,
        filters: Filters,
        whole: bool = False,
        typed: bool | None = None,
    ) -> tuple[Event, ...]:
        if limit <= 0 or impossible(filters, "events"):
            return ()
        chosen = session if session is not None else filters.session
        if session is not None and filters.session not in (None, session):
            return ()
        return await self._readers.read_batched(lambda reading: self._recent(reading, limit, chosen, filters, whole, typed))

    async def highlights(self, sessions: int, *, limit: int, filters: Filters, but: str | None = None) -> tuple[Event, ...]:
        def work(reading: Reading) -> tuple[Event, ...]:
            visible = reading.visible(self._scope)
            return highlights_of(reading.connection, visible, filters, sessions=sessions, limit=limit, but=but)

        return await self._readers.read_batched(work)

    async def speakers(self, said_in: str | None = None) -> tuple[str, ...]:
        def work(reading: Reading) -> tuple[str, ...]:
            visible = reading.visible(self._scope)
            if said_in is not None:
                return self._searcher.speaking(reading, visible, said_in)
            return speaker_names(reading.connection, visible)

        return await self._readers.read_batched(work)

    async def page(
        self,
        filters: Filters,
        *,
        limit: int,
        cursor: str | None = None,
        whole: bool = True,
        typed: bool | None = None,
    ) -> MessagePage:
        def work(reading: Reading) -> MessagePage:
            return listed_events(reading, self._scope, filters, limit, cursor, whole=whole, typed=typed)

        return await self._readers.run(work)

    async def sessions(self, limit: int, cursor: str | None = None) -> SessionPage:
        return await self._readers.run(lambda reading: listed_sessions(reading, self._scope, limit, cursor))

    def _recent(
        self, reading: Reading, limit: int, session: str | None, filters: Filters, whole: bool, typed: bool | None
    ) -> tuple[Event, ...]:
        """Reads session by session, latest first, until no session can hold an event newer than those found."""
        connection = reading.connection
        visible = reading.visible(self._scope)
        clause, values = for_events(visible, filters)
        clause += TYPED_ONLY[typed]
        sql = f"{EVENT if whole else BRIEF} WHERE e.session = ? AND {clause} ORDER BY e.created_at DESC, e.position DESC"
        users = owners(visible)
        newest: list[Event] = []
        for key, last_at in self._latest(reading, visible, session):
            if len(newest) == limit and newest[-1].created_at > moment(last_at):
                break
            found = connection.execute(sql, [key, *values])
            events = (event_of(row, users) if whole else brief_of(connection, row, users) for row in found)
            wanted = islice((event for event in events if not excluded(event, filters)), limit)
            newest = list(islice(merge(newest, wanted, key=_age, reverse=True), limit))
        return tuple(newest) if whole else with_newer(connection, visible, newest)

    def _latest(self, reading: Reading, visible: tuple[VisiblePartition, ...], session: str | None) -> list[tuple[int, int]]:
        condition, values = ("", []) if session is None else (" AND id = ?", [to_sql(session)])
        found = latest_sessions(reading.connection, visible, condition, values)
        return [(key, last_at) for last_at, key, _ in islice(found, _SESSIONS)]


def _age(event: Event) -> tuple[datetime, int]:
    return event.created_at, event.position


def fetch_events(
    reading: Reading,
    visible: tuple[VisiblePartition, ...],
    places: Mapping[int, tuple[int, int]],
) -> dict[int, Event]:
    sql = f"{BRIEF} WHERE e.key IN {LISTED} AND +e.partition IN {IN_VISIBLE}"
    users, connection = owners(visible), reading.connection
    found: list[tuple[Any, ...]] = connection.execute(sql, (to_json(list(places)), *visible_ids(visible))).fetchall()
    events = {row[0]: brief_of(connection, row, users, places[row[0]]) for row in found}
    best = {events[key].id for key in islice(places, _MAX_WITH_NEWER) if key in events}
    return dict(zip(events, with_newer(connection, visible, list(events.values()), best), strict=True))


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
