"""SqliteEvents: reads, lists and searches the events and sessions of one scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from heapq import merge
from itertools import islice
from typing import Any

from germane.events.event import Event
from germane.events.reader import MessagePage, SessionPage
from germane.search.hit import Found
from germane.stores.sqlite.encoding import LISTED, moment, stored, to_json
from germane.stores.sqlite.event_listing import listed_events, listed_sessions
from germane.stores.sqlite.events import BRIEF, EVENT, brief_of, event_of, with_newer
from germane.stores.sqlite.latest_sessions import latest_sessions
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.search import Searcher
from germane.stores.sqlite.speakers import speaking
from germane.stores.sqlite.typed_events import highlights_of
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, in_clause, owners, visible_ids
from germane.stores.sqlite.where_clauses import TYPED_ONLY, excluded, for_events, impossible
from germane.types.query import Filters, Query
from germane.types.scope import Scope

__all__ = ["SqliteEvents", "fetch_events"]

_SESSIONS = 5
"""Latest sessions that `recent` reads."""
_BEST = 10
"""The best events of a search, of which what may have made them outdated is read too."""


class SqliteEvents:
    """Implements `germane.events.reader.EventReader`."""

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
            return speaking(reading.connection, visible)

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
        condition, values = ("", []) if session is None else (" AND id = ?", [stored(session)])
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
    best = {events[key].id for key in islice(places, _BEST) if key in events}
    return dict(zip(events, with_newer(connection, visible, list(events.values()), best), strict=True))
