"""Reader: reads one scope's own archive, summaries and outlines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from germane.errors import InvalidInput
from germane.kinds.archive.outline import OutlinedMessage, OutlineLine, OutlinePage, line_of_exchange, split_exchanges
from germane.kinds.archive.value import KeptEntry, KeptSummary
from germane.search.unit import SENSITIVITY_CODES
from germane.stores.sql.archive.archive_rows import (
    entries_by_handle,
    forgotten_handles,
    handles_kept,
    latest_summaries,
    session_key,
    summaries_kept,
)
from germane.stores.sql.archive.outlines import has_unoutlined, messages_between
from germane.stores.sql.connection import Connection
from germane.stores.sql.events.sessions import latest_sessions
from germane.stores.sql.listing import SECRET, Listing, VisiblePartition
from germane.stores.sql.reading import Readers, Reading
from germane.stores.sql.statements import Row, from_sql, micros, moment, only, rows, sensitivity_of, to_sql
from germane.stores.sql.where_clauses import impossible
from germane.types.query import Filters
from germane.types.scope import Scope

T = TypeVar("T")
_LINE = (
    "SELECT o.line, f.id, l.id, f.created_at, l.created_at, o.messages, o.sensitivity, o.first FROM history_outlines o"
    " JOIN events f ON f.session = o.session AND f.position = o.first"
    " JOIN events l ON l.session = o.session AND l.position = o.last WHERE o.session = ?"
)
_EVENT_AT = "SELECT id, created_at FROM events WHERE session = ? AND position = ?"


class SqlHistory:
    """Implements `germane.kinds.archive.value.HistoryReader`."""

    def __init__(self, scope: Scope, readers: Readers) -> None:
        self._scope, self._readers = scope, readers

    async def archived(self, handles: Sequence[str], session: str | None = None) -> tuple[KeptEntry, ...]:
        return await self._own(lambda connection, own: entries_by_handle(connection, own, handles, session), ())

    async def handles(self, session: str, handles: Sequence[str]) -> frozenset[str]:
        none = frozenset[str]()
        return await self._own(lambda connection, own: handles_kept(connection, own, session, handles), none)

    async def forgotten(self, handles: Sequence[str]) -> frozenset[str]:
        scope = self._scope

        def read(reading: Reading) -> frozenset[str]:
            return forgotten_handles(reading.connection, scope.org, scope.agent, scope.user, handles)

        return await self._readers.run(read)

    async def summaries_of(self, session: str, fingerprint: str) -> tuple[KeptSummary, ...]:
        return await self._own(lambda connection, own: summaries_kept(connection, own, session, (fingerprint,)), ())

    async def summaries(self, session: str, limit: int) -> tuple[KeptSummary, ...]:
        return await self._own(lambda connection, own: latest_summaries(connection, own, session, limit), ())

    async def outline_page(self, session: str, *, limit: int, cursor: str | None = None) -> OutlinePage:
        if limit < 1:
            raise InvalidInput(f"limit must be 1 or more, not {limit}")

        def read(connection: Connection, own: int) -> OutlinePage:
            """A cursor has the position at which the last line's exchange begins."""
            listing = Listing(only(connection, SECRET)[0], self._scope, Filters(session=session), "outline")
            after = -1 if cursor is None else listing.position(cursor)[1]
            key = session_key(connection, own, session)
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

        return await self._own(read, OutlinePage(lines=()))

    async def latest_lines(self, limit: int, *, filters: Filters) -> tuple[OutlineLine, ...]:
        if impossible(filters, "events") or filters.event_types is not None or filters.task is not None:
            return ()

        def work(reading: Reading) -> tuple[OutlineLine, ...]:
            return _latest(reading.connection, reading.visible(self._scope), limit, filters)

        return await self._readers.run(work)

    async def outline_left(self, session: str) -> bool:
        def read(connection: Connection, own: int) -> bool:
            key = session_key(connection, own, session)
            return key is not None and has_unoutlined(connection, key)

        return await self._own(read, False)

    async def _own(self, read: Callable[[Connection, int], T], empty: T) -> T:
        def work(reading: Reading) -> T:
            visible = reading.visible(self._scope)
            own = next((partition.id for partition in visible if partition.user == self._scope.user), None)
            return empty if own is None else read(reading.connection, own)

        return await self._readers.run(work)


def _latest(
    connection: Connection, visible: tuple[VisiblePartition, ...], limit: int, filters: Filters
) -> tuple[OutlineLine, ...]:
    """See `HistoryReader.latest_lines`. Opens the sessions by their latest message, until there are enough lines."""
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
