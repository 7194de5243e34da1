"""Profile rows: the most telling clauses and the marked lines of a scope, and the marks that plans set.

The text of a clause isn't stored a second time: it is read from its message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from germane.extraction.messages import MAX_READ
from germane.kinds.profile.reads import (
    ChatsWithAssistant,
    LineMarks,
    LinesNamed,
    MarkedLine,
    MarkLine,
    NamedLines,
    StillHolding,
    TellingClauses,
    ToldClause,
    clause_hash,
    clause_name,
    parse_clause_name,
    thing_of,
)
from germane.kinds.profile.value import Mark
from germane.stores.sql.columns import TEXT, TIME, Column, Derived, Given, Table
from germane.stores.sql.connection import Connection
from germane.stores.sql.events.event_rows import OUTDATED, outdated_in
from germane.stores.sql.kind import Counted, GateQuestion, KindTable, SqlKind, of_ids, of_keys
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, visible_ids
from germane.stores.sql.reading import Answers, ScopeReading, of_own
from germane.stores.sql.search.units import text_bytes
from germane.stores.sql.statements import LISTED, Row, from_sql, moment, only, rows, sensitivity_of, to_json, to_sql
from germane.stores.sql.transaction import Appliers, ScopeWriting, Transaction
from germane.stores.sql.where_clauses import for_events, impossible
from germane.types.candidate import LONG_TEXT

if TYPE_CHECKING:
    from germane.transfer.contents import Owner, Thing

_MOST_TELLING = (
    "SELECT e.id, t.start, t.stop, t.rule, t.matters, s.id, e.created_at, e.name, e.message_id, e.sensitivity, e.content_hash,"
    f" {OUTDATED}, CASE WHEN octet_length(e.text) <= {LONG_TEXT} THEN e.text END, e.key, octet_length(e.text)"
    " FROM telling_clauses t INDEXED BY telling_clauses_most CROSS JOIN events e ON e.key = t.event"
    " CROSS JOIN sessions s ON s.key = e.session WHERE t.partition = ?"
)
_BY_WEIGHT = " ORDER BY max(t.rule, t.matters) DESC, t.event DESC, t.start"
_WITH_ASSISTANT = (
    f"SELECT s.id FROM sessions s WHERE s.partition = ? AND s.id IN {LISTED} AND EXISTS (SELECT 1 FROM"
    " (SELECT role FROM events e WHERE e.session = s.key AND e.position >= 0 ORDER BY e.position LIMIT 40)"
    " WHERE role = 'assistant')"
)
_STORED = f"SELECT e.id, {OUTDATED} FROM events e INDEXED BY events_id WHERE e.id IN {LISTED} AND +e.partition = ?"
_READ_BYTES = 4 * MAX_READ
"""Bytes that hold all that is read of a text."""


def _with_assistant(connection: Connection, own: VisiblePartition, read: ChatsWithAssistant) -> frozenset[str]:
    found = rows(connection, _WITH_ASSISTANT, (own.id, to_json([to_sql(session) for session in read.sessions])))
    return frozenset(from_sql(row[0]) for row in found)


def _holding(connection: Connection, own: VisiblePartition, read: StillHolding) -> frozenset[str]:
    found = rows(connection, _STORED, (to_json(list(read.messages)), own.id))
    return frozenset(id for id, replaced in found if not any(one.since <= read.at for one in outdated_in(replaced)))


def _marks(connection: Connection, own: VisiblePartition, _: LineMarks) -> dict[str, Mark]:
    return {one.line: one.mark for one in marks_of(connection, own.id)}


def _most_telling(connection: Connection, own: VisiblePartition, read: TellingClauses) -> tuple[ToldClause, ...]:
    """Reads the index from its beginning, until enough clauses have passed."""
    limit, filters = read.limit, read.filters
    if limit < 1 or impossible(filters, "events"):
        return ()
    condition, bound = for_events((own,), filters)
    sql, values = f"{_MOST_TELLING} AND {condition}", [own.id, *bound]
    if filters.session is not None:
        sql += " AND s.id = ?"
        values.append(to_sql(filters.session))
    found, long = list[ToldClause](), dict[int, str]()
    for row in rows(connection, sql + _BY_WEIGHT, values):
        *told, text, key, size = row
        if text is None:
            if key not in long:
                long[key] = text_bytes(connection, key, 0, min(size, _READ_BYTES)).decode("utf-8", "replace")
            text = long[key]
        clause = _clause(told, from_sql(text))
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
        session=from_sql(session),
        created_at=moment(created_at),
        speaker=from_sql(speaker),
        message_id=None if message_id is None else from_sql(message_id),
        sensitivity=sensitivity_of(level),
        content_hash=content_hash,
        outdated=outdated_in(replaced),
    )


# Marks: set by plans on lines of a profile, and removed with what is forgotten.


_THINGS = (
    f"SELECT id, 1 FROM memories INDEXED BY memories_id WHERE id IN {LISTED} AND +partition IN {IN_VISIBLE} UNION ALL"
    f" SELECT id, 0 FROM events INDEXED BY events_id WHERE id IN {LISTED} AND +partition IN {IN_VISIBLE}"
)
_TOLD = (
    "SELECT e.id, t.start, t.stop FROM events e INDEXED BY events_id CROSS JOIN telling_clauses t ON t.event = e.key"
    f" WHERE e.id IN {LISTED} AND +e.partition IN {IN_VISIBLE}"
)
MARKS = Table(
    "profile_marks",
    MarkedLine,
    (
        Given("partition"),
        Column("line", TEXT),
        Derived("thing", lambda marked: to_sql(thing_of(marked.line))),
        Column("mark"),
        Column("at", TIME),
    ),
)
_MARKED = f"{MARKS.upsert('partition, line')} WHERE mark <> excluded.mark"


def _lines_named(reading: ScopeReading, read: LinesNamed) -> NamedLines:
    reading.write_events()
    connection, own, here = reading.connection, reading.own, visible_ids(reading.visible)
    things = to_json(list(dict.fromkeys(map(thing_of, read.names))))
    found = list(rows(connection, _THINGS, (things, *here, things, *here)))
    told = {clause_name(*row) for row in rows(connection, _TOLD, (things, *here))}
    memories = {id for id, memory in found if memory}
    names = frozenset(read.names)
    marks = {} if own is None else {one.line: one.mark for one in marks_of(connection, own.id) if one.line in names}
    return NamedLines(names & (told | memories), frozenset(id for id, _ in found), marks)


def _mark_line(writing: ScopeWriting, change: MarkLine) -> None:
    connection, partition = writing.connection, writing.own_id()
    if change.mark is None:
        sql = "DELETE FROM profile_marks WHERE partition = ? AND line = ?"
        connection.execute(sql, (partition, to_sql(change.line)))
    else:
        connection.execute(_MARKED, MARKS.cells(MarkedLine(change.line, change.mark, change.at), partition))
    if connection.changes():
        writing.transaction.touch((partition,))


def marks_of(connection: Connection, partition: int) -> Iterator[MarkedLine]:
    """Yields the marks of a partition, by line."""
    sql = f"SELECT {MARKS.selected()} FROM profile_marks WHERE partition = ? ORDER BY line"
    yield from map(MARKS.value, rows(connection, sql, (partition,)))


def forget_marks(transaction: Transaction, ids: Sequence[str]) -> None:
    """Removes every mark, whoever made it, of the memories and messages with these ids, which are forgotten."""
    sql = f"DELETE FROM profile_marks WHERE thing IN {LISTED} RETURNING partition"
    for (partition,) in list(rows(transaction.connection, sql, (to_json(list(ids)),))):
        transaction.erase(partition)


# The kind: clauses are made of the messages; what is stored of a profile itself are its marks.


def _dump(connection: Connection, partition: int, _: Owner) -> Iterator[Thing]:
    return marks_of(connection, partition)


def _count(connection: Connection, here: str, at: datetime) -> Counted:
    tables = ("telling_clauses", "profile_marks")
    return Counted({table: only(connection, f"SELECT count(*) FROM {table} WHERE partition IN {here}")[0] for table in tables})


def _is_clause(name: str) -> bool:
    return parse_clause_name(name) is not None


def _shown(asked: GateQuestion, names: Sequence[str]) -> Mapping[str, int]:
    """A clause may be shown while its message may."""
    named = {name: clause for name in names if (clause := parse_clause_name(name)) is not None}
    event, bound = for_events(asked.visible, asked.filters)
    sql = f"SELECT e.id, e.content_hash FROM events e INDEXED BY events_id WHERE e.id IN {LISTED} AND {event}"
    hashes: dict[str, int] = dict(rows(asked.connection, sql, [to_json(sorted({id for id, _, _ in named.values()})), *bound]))
    return {name: clause_hash(hashes[id], start, end) for name, (id, start, end) in named.items() if id in hashes}


PROFILE_KIND = SqlKind(
    tables=(KindTable("profile_marks", cleared=True, exported="profile_marks", changed="at"),),
    dump=_dump,
    count=_count,
    remains={
        "telling clauses": (of_keys("telling_clauses", "event", "events"),),
        "marks of profiles": (of_ids("profile_marks", "thing"),),
    },
    shown=_shown,
    named=_is_clause,
    orphans={
        "telling clauses": (
            "telling_clauses t WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = t.event AND partition = t.partition)"
        ),
        "marks of profiles": (
            "profile_marks p WHERE NOT EXISTS (SELECT 1 FROM memories WHERE id = p.thing)"
            " AND NOT EXISTS (SELECT 1 FROM events WHERE id = p.thing)"
        ),
    },
)
PROFILE_READS: Answers = {
    TellingClauses: of_own(_most_telling, tuple),
    ChatsWithAssistant: of_own(_with_assistant, frozenset),
    StillHolding: of_own(_holding, frozenset),
    LineMarks: of_own(_marks, dict),
    LinesNamed: _lines_named,
}
PROFILE_CHANGES: Appliers = {MarkLine: _mark_line}
