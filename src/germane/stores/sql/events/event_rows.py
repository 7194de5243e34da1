"""Event rows: converts events to rows and back, and runs the reads and changes of plans about events."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from germane.extraction.messages import told_by
from germane.kinds.events.reads import (
    EventsById,
    EventsByMessageId,
    LastSaid,
    PutEvent,
    PutReplacement,
    ReservePositions,
    SessionLength,
    SessionTail,
)
from germane.kinds.events.value import Event, EventHead, ReplacementLink, Session
from germane.search.unit import Analysis, Unit, analyse_parts, describe, parts
from germane.stores.sql.connection import Connection
from germane.stores.sql.events.event_table import EVENTS, select_events
from germane.stores.sql.listing import VisiblePartition, in_clause, owners
from germane.stores.sql.search.units import passage
from germane.stores.sql.statements import LISTED, Row, first, from_json, from_sql, moment, to_json, to_sql
from germane.stores.sql.transaction import Transaction
from germane.types.candidate import LONG_TEXT, Outdated

# Replacement rows: which messages make earlier ones outdated, or may, and what a request reads of them beside a
# message. What a message replaces is read with its row.


OUTDATED = (
    "(SELECT json_group_array(json_array(since, about, ends, by)) FROM ("
    " SELECT m.valid_to AS since, m.fact_key AS about, 1 AS ends,"
    " (SELECT n.id FROM memories s JOIN derivations t ON t.thing = s.id JOIN events n ON n.id = t.source"
    " WHERE s.id = m.superseded_by AND n.id <> e.id AND n.partition = e.partition LIMIT 1) AS by"
    " FROM derivations d JOIN memories m ON m.id = d.thing"
    " WHERE d.source = e.id AND m.superseded_by IS NOT NULL AND m.valid_to IS NOT NULL AND typeof(m.fact_key) = 'text'"
    " AND NOT EXISTS (SELECT 1 FROM memories s WHERE s.id = m.superseded_by AND s.content_hash = m.content_hash)"
    " UNION ALL"
    " SELECT n.created_at, '', r.ends, n.id FROM replacements r JOIN events n ON n.key = r.newer"
    " WHERE r.older = e.id AND n.partition = e.partition))"
)
"""What makes the event `e` outdated, or may: since when, a fact's key, whether it ended something, and the message's id."""
_PUT = (
    "INSERT INTO replacements SELECT o.id, n.key, 1 FROM events o INDEXED BY events_id, events n INDEXED BY events_id"
    " WHERE o.id = ? AND n.id = ? AND +o.partition = ? AND +n.partition = ? AND o.id <> n.id"
    " ON CONFLICT (older, newer) DO UPDATE SET ends = 1 WHERE ends = 0"
)

_MAX_POSSIBLE = 3
"""Messages that only may have made another one outdated and are known of it: somebody may say the opposite every day."""


def with_outdated(event: Event, text: str) -> Event:
    """Returns the event with what `OUTDATED` says of it; of those that only may have made it outdated, the latest."""
    if text == "[]":
        return event
    links: dict[str, bool] = {}
    for _, _, ends, by in _found(text):
        if by is not None:
            links[by] = links.get(by, False) or bool(ends)
    unsure = [by for by, ends in links.items() if not ends][:-_MAX_POSSIBLE]
    replaced_by = tuple(ReplacementLink(by, ends) for by, ends in links.items() if by not in unsure)
    return event._replace(outdated=outdated_in(text), replaced_by=replaced_by)


def outdated_in(text: str) -> tuple[Outdated, ...]:
    """Reads from `OUTDATED` what was ended in an event, the oldest ending first."""
    if text == "[]":
        return ()
    return tuple(
        Outdated(moment(since), (name,) if (name := key.rpartition(".")[2]) else ())
        for since, key, ends, _ in _found(text)
        if ends
    )


def _found(text: str) -> list[tuple[int, str, int, str | None]]:
    return sorted(json.loads(text), key=lambda one: (one[0], one[1], one[3] or ""))


def put_replacement(transaction: Transaction, partition: int, change: PutReplacement) -> None:
    """See `PutReplacement`."""
    transaction.write_events()
    transaction.connection.execute(_PUT, (change.older, change.newer, partition, partition))
    if transaction.connection.changes():
        transaction.touch((partition,))


def delete_replacements(connection: Connection, events: Iterable[tuple[int, str]]) -> None:
    """Removes what is noted of these events, by key and id."""
    gone = list(events)
    connection.executemany("DELETE FROM replacements WHERE newer = ?", [(key,) for key, _ in gone])
    connection.executemany("DELETE FROM replacements WHERE older = ?", [(id,) for _, id in gone])


def newer_ids(events: Iterable[Event], known: Mapping[str, Event], best: Collection[str] = ()) -> list[str]:
    """Returns the ids of what ended something in the events, or in the `best` of them may have, without those that are
    `known`."""
    return sorted(
        {one.id for event in events for one in event.replaced_by if (one.ends or event.id in best) and one.id not in known}
    )


EVENT = select_events()
"""The rows that `event_of` takes."""
BRIEF = select_events(
    f", octet_length(e.text), {OUTDATED}",
    text=f"CASE WHEN octet_length(e.text) <= {LONG_TEXT} THEN e.text END",
    raw="NULL",
    replaces="'[]'",
)
"""The rows that `brief_of` takes: without long texts and the callers' dicts, with what was replaced since."""
_KEY, _TEXT = EVENTS.place("key"), EVENTS.place("text")
_HEAD = "SELECT position, role, content_hash, message_id, created_at, recorded_at, provenance FROM events WHERE session = ?"
_NEWER = 3
"""How often in a row what replaced a message may have been replaced."""
_MAX_POSITION = 1 << 62
"""Larger than every position."""


event_of: Callable[[Row, Mapping[int, str | None]], Event] = EVENTS.value
"""Returns the event in a row that begins as one of `EVENT`; `users` maps partition ids to users."""


def brief_of(
    connection: Connection,
    row: tuple[Any, ...],
    users: Mapping[int, str | None],
    place: tuple[int, int] | None = None,
) -> Event:
    """Returns the event in a row of `BRIEF`, of a long text the part at `place` (bytes), by default its first part."""
    size, outdated = row[-2], row[-1]
    if row[_TEXT] is not None:
        event = event_of(row, users)
    else:
        found = passage(connection, row[_KEY], size, place)
        event = event_of((*row[:_TEXT], found.text, *row[_TEXT + 1 :]), users)._replace(passage=found.passage)
    return with_outdated(event, outdated)


def with_newer(
    connection: Connection, visible: tuple[VisiblePartition, ...], found: Sequence[Event], best: Collection[str] = ()
) -> tuple[Event, ...]:
    """Returns the events, each with those that ended something in it, and in these in turn, up to three of a row; the `best` of
    them, by id, also with those that only may have. Reads nothing where none is outdated."""
    known: dict[str, Event] = {}
    wanted = newer_ids(found, known, best)
    users = owners(visible)
    for _ in range(_NEWER):
        if not wanted:
            break
        sql = f"{BRIEF} WHERE e.id IN {LISTED} AND +e.partition IN {in_clause(visible)}"
        read = [brief_of(connection, row, users) for row in connection.execute(sql, (to_json(wanted),)).fetchall()]
        known |= {event.id: event for event in read}
        wanted = newer_ids(read, known)
    return tuple(event._replace(newer=_newer(event, known, best)) if event.replaced_by else event for event in found)


def _newer(event: Event, known: Mapping[str, Event], best: Collection[str]) -> tuple[Event, ...]:
    """What `known` events ended something in the event, or in one of these; of the best, also what may have."""
    reached: dict[str, Event] = {}
    waiting = [event]
    while waiting:
        older = waiting.pop()
        for one in older.replaced_by:
            if (one.ends or older.id in best) and one.id in known and one.id not in reached and one.id != event.id:
                reached[one.id] = known[one.id]
                waiting.append(known[one.id])
    return tuple(reached.values())


def by_id(transaction: Transaction, partition: VisiblePartition, read: EventsById) -> dict[str, Event]:
    transaction.write_events()
    sql = f"{EVENT} WHERE +e.partition = ? AND e.id IN {LISTED}"
    rows = transaction.connection.execute(sql, (partition.id, to_json(read.ids)))
    found = [event_of(row, {partition.id: partition.user}) for row in rows]
    return {event.id: event for event in found}


def by_message_id(transaction: Transaction, partition: VisiblePartition, read: EventsByMessageId) -> dict[str, EventHead]:
    session = _written(transaction, partition, read.session)
    sql = f"{_HEAD} AND message_id = ?"
    found: dict[str, EventHead] = {}
    for message_id in read.message_ids if session is not None else ():
        row = first(transaction.connection, sql, (session, to_sql(message_id)))
        if row is not None:
            found[message_id] = _head(row)
    return found


def tail(transaction: Transaction, partition: VisiblePartition, read: SessionTail) -> tuple[EventHead, ...]:
    session = _written(transaction, partition, read.session)
    if session is None:
        return ()
    sql = f"{_HEAD} AND position >= 0 AND position < ? ORDER BY position DESC LIMIT ?"
    before = _MAX_POSITION if read.before is None else read.before
    rows = transaction.connection.execute(sql, (session, before, read.limit)).fetchall()
    return tuple(map(_head, reversed(rows)))


def last_said(transaction: Transaction, partition: VisiblePartition, read: LastSaid) -> str | None:
    session = _written(transaction, partition, read.session)
    sql = "SELECT id FROM events WHERE session = ? AND position >= 0 AND role = 'user' ORDER BY position DESC LIMIT 1"
    row = None if session is None else first(transaction.connection, sql, (session,))
    return None if row is None else str(row[0])


def _written(transaction: Transaction, partition: VisiblePartition, session: str) -> int | None:
    """Returns the session's key, None where there is no such session; its events are written first."""
    if transaction.events.session(partition.id, session).grown:
        transaction.write_events()
    return transaction.events.session(partition.id, session).key


def _head(row: tuple[Any, ...]) -> EventHead:
    position, role, content_hash, message_id, created_at, recorded_at, provenance = row
    said = None if message_id is None else from_sql(message_id)
    kept_hash = None if provenance is None else from_json(provenance).get("metadata", {}).get("kept_hash")
    return EventHead(position, role, content_hash, said, moment(created_at), moment(recorded_at), kept_hash)


def length(transaction: Transaction, partition: VisiblePartition, read: SessionLength) -> int:
    return transaction.events.session(partition.id, read.session).next


def put_events(transaction: Transaction, partition: int, changes: Sequence[PutEvent]) -> None:
    """Appends the events to their sessions. Their rows and their search rows are written with those of the other plans."""
    analysed = [analyse_parts(change.event.text) if change.analysis is None else change.analysis for change in changes]
    batch, units = transaction.events, list[tuple[Unit, str]]()
    with transaction.unprotected():
        for key, change, analysis in zip(transaction.keys("events", len(changes)), changes, analysed, strict=True):
            event = change.event
            session = batch.session(partition, event.session)
            session.add(event)
            number = session.create(transaction.connection)
            found = units_of(key, number, event, analysis)
            speaker = (partition, event.name, found[0][0].speaker) if event.name else None
            told = told_by(event) if change.telling is None else change.telling
            clauses = [(key, one.start, one.end, partition, one.rule, one.matters) for one in told]
            batch.add(EVENTS.cells(event, key, partition, number), speaker, clauses)
            batch.replace([(one.id, key, one.ends) for one in event.replaces])
            units += found
    transaction.derive("events", partition, units)
    transaction.touch((partition,))


def reserve_positions(transaction: Transaction, partition: int, change: ReservePositions) -> None:
    transaction.write_events()
    sql = "UPDATE sessions SET next = ? WHERE partition = ? AND id = ? AND next < ?"
    transaction.connection.execute(sql, (change.next, partition, to_sql(change.session), change.next))


def units_of(key: int, session: int, event: Event, analysis: Sequence[Analysis] | None = None) -> list[tuple[Unit, str]]:
    """Returns the event's search rows, one for each part of its text, each with the text of its part."""
    described = partial(
        describe,
        key=key,
        session=session,
        created_at=event.created_at.timestamp(),
        role=event.role,
        name=event.name,
        sensitivity=event.sensitivity,
        kind=event.type,
    )
    analysis = analyse_parts(event.text) if analysis is None else analysis
    if len(analysis) == 1:
        return [(described(text=event.text, analysis=analysis[0]), event.text)]
    return [
        (described(text=part.text, analysis=one, part=number), part.text)
        for number, (part, one) in enumerate(zip(parts(event.text), analysis, strict=True))
    ]


def session_of(row: tuple[Any, ...], users: Mapping[int, str | None]) -> Session:
    """Returns the session in a row of partition, id, number, started_at, last_at and length."""
    return Session(
        id=from_sql(row[1]),
        user=users[row[0]],
        number=row[2],
        started_at=moment(row[3]),
        last_at=moment(row[4]),
        length=row[5],
    )
