"""SqliteProfile: reads the most telling clauses and the marked lines of one scope's own.

The text of a clause isn't stored a second time: it is read from its message.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import apsw

from germane.events.own_words import READ
from germane.profile.marking import Mark
from germane.profile.reader import ToldClause
from germane.stores.sqlite.encoding import LISTED, moment, sensitivity_of, shown, stored, to_json
from germane.stores.sqlite.passage import text_bytes
from germane.stores.sqlite.profile_work import marks_of
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.replacements import OUTDATED, outdated_in
from germane.stores.sqlite.rows import Row, rows
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.stores.sqlite.where_clauses import for_events, impossible
from germane.types.candidate import LONG
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["SqliteProfile"]

_MOST = (
    "SELECT e.id, t.start, t.stop, t.rule, t.matters, s.id, e.created_at, e.name, e.message_id, e.sensitivity, e.content_hash,"
    f" {OUTDATED}, CASE WHEN octet_length(e.text) <= {LONG} THEN e.text END, e.key, octet_length(e.text)"
    " FROM telling_clauses t INDEXED BY telling_clauses_most CROSS JOIN events e ON e.key = t.event"
    " CROSS JOIN sessions s ON s.key = e.session WHERE t.partition = ?"
)
_FIRST = " ORDER BY max(t.rule, t.matters) DESC, t.event DESC, t.start"
_WITH_ASSISTANT = (
    f"SELECT s.id FROM sessions s WHERE s.partition = ? AND s.id IN {LISTED} AND EXISTS (SELECT 1 FROM"
    " (SELECT role FROM events e WHERE e.session = s.key AND e.position >= 0 ORDER BY e.position LIMIT 40)"
    " WHERE role = 'assistant')"
)
_STORED = f"SELECT e.id, {OUTDATED} FROM events e INDEXED BY events_id WHERE e.id IN {LISTED} AND +e.partition = ?"
_READ_BYTES = 4 * READ
"""Bytes that hold all that is read of a text."""


class SqliteProfile:
    """Implements `germane.profile.reader.ProfileReader`."""

    def __init__(self, scope: Scope, readers: Readers) -> None:
        self._scope, self._readers = scope, readers

    async def clauses(self, limit: int, *, filters: Filters) -> tuple[ToldClause, ...]:
        if limit < 1 or impossible(filters, "events"):
            return ()

        def work(reading: Reading) -> tuple[ToldClause, ...]:
            own = self._own(reading)
            return () if own is None else _most_telling(reading.connection, own, limit, filters)

        return await self._readers.read_batched(work)

    async def with_assistant(self, sessions: Collection[str]) -> frozenset[str]:
        def work(reading: Reading) -> frozenset[str]:
            own = self._own(reading)
            if own is None:
                return frozenset()
            found = rows(reading.connection, _WITH_ASSISTANT, (own.id, to_json([stored(session) for session in sessions])))
            return frozenset(shown(row[0]) for row in found)

        return await self._readers.read_batched(work)

    async def holding(self, messages: Collection[str], at: datetime) -> frozenset[str]:
        def work(reading: Reading) -> frozenset[str]:
            own = self._own(reading)
            if own is None:
                return frozenset()
            found = rows(reading.connection, _STORED, (to_json(list(messages)), own.id))
            return frozenset(id for id, replaced in found if not any(one.since <= at for one in outdated_in(replaced)))

        return await self._readers.read_batched(work)

    async def marks(self) -> Mapping[str, Mark]:
        def work(reading: Reading) -> Mapping[str, Mark]:
            own = self._own(reading)
            return {} if own is None else {one.line: one.mark for one in marks_of(reading.connection, own.id)}

        return await self._readers.read_batched(work)

    def _own(self, reading: Reading) -> VisiblePartition | None:
        return next((one for one in reading.visible(self._scope) if one.user == self._scope.user), None)


def _most_telling(connection: apsw.Connection, own: VisiblePartition, limit: int, filters: Filters) -> tuple[ToldClause, ...]:
    """Reads the index from its beginning, until enough clauses have passed."""
    condition, bound = for_events((own,), filters)
    sql, values = f"{_MOST} AND {condition}", [own.id, *bound]
    if filters.session is not None:
        sql += " AND s.id = ?"
        values.append(stored(filters.session))
    found, long = list[ToldClause](), dict[int, str]()
    for row in rows(connection, sql + _FIRST, values):
        *told, text, key, size = row
        if text is None:
            if key not in long:
                long[key] = text_bytes(connection, key, 0, min(size, _READ_BYTES)).decode("utf-8", "replace")
            text = long[key]
        clause = _clause(told, shown(text))
        if clause.id not in filters.exclude and clause.message_id not in filters.exclude:
            found.append(clause)
            if len(found) == limit:
                break
    return tuple(found)


def _clause(row: list[Any] | Row, text: str) -> ToldClause:
    id, start, end, rule, matters, session, created_at, speaker, message_id, level, content_hash, replaced = row
    return ToldClause(
        id=id,
        start=start,
        end=end,
        text=text[start:end],
        rule=rule,
        matters=matters,
        session=shown(session),
        created_at=moment(created_at),
        speaker=shown(speaker),
        message_id=None if message_id is None else shown(message_id),
        sensitivity=sensitivity_of(level),
        content_hash=content_hash,
        outdated=outdated_in(replaced),
    )
