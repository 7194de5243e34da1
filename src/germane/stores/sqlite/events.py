"""Event rows: converts events to rows and back, and runs the reads and changes of plans about events."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import apsw

from germane.events.event import Event, EventHead, Session
from germane.events.operations import (
    EventsById,
    EventsByMessageId,
    LastSaid,
    PutEvent,
    ReservePositions,
    SessionLength,
    SessionTail,
)
from germane.events.own_words import told_by
from germane.search.parts import parts
from germane.search.unit import SENSITIVITY_CODES, Analysis, Unit, analysed_parts, describe
from germane.stores.sqlite.encoding import (
    LISTED,
    from_json,
    micros,
    moment,
    provenance_of,
    sensitivity_of,
    shown,
    stored,
    to_json,
    written_provenance,
)
from germane.stores.sqlite.passage import passage
from germane.stores.sqlite.replacements import OUTDATED, REPLACES, newer_ids, replaced_in, with_outdated
from germane.stores.sqlite.rows import first
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition, in_clause, owners
from germane.types.candidate import LONG

__all__ = [
    "BRIEF",
    "EVENT",
    "brief_of",
    "by_id",
    "by_message_id",
    "event_of",
    "last_said",
    "length",
    "put_events",
    "reserve_positions",
    "session_of",
    "tail",
    "units_of",
    "with_newer",
]

EVENT = (
    "SELECT e.key, e.partition, e.id, e.type, s.id, e.position, e.text, e.created_at, e.recorded_at, e.role, e.name,"
    " e.message_id, e.sensitivity, e.content_hash, s.started_at, s.number, e.raw, e.provenance,"
    f" e.outcome, e.task, {REPLACES}"
    " FROM events e JOIN sessions s ON s.key = e.session"
)
"""The rows that `event_of` takes."""
BRIEF = (
    EVENT.replace("e.text,", f"CASE WHEN octet_length(e.text) <= {LONG} THEN e.text END,")
    .replace("e.raw,", "NULL,")
    .replace(REPLACES, f"'[]', octet_length(e.text), {OUTDATED}")
)
"""The rows that `brief_of` takes: without long texts and the callers' dicts, with what was replaced since."""
_HEAD = "SELECT position, role, content_hash, message_id, created_at, recorded_at, provenance FROM events WHERE session = ?"
_NEWER = 3
"""How often in a row what replaced a message may have been replaced."""
_NOWHERE = 1 << 62
"""Larger than every position."""


def event_of(row: tuple[Any, ...], users: Mapping[int, str | None]) -> Event:
    """Returns the event in a row that begins as one of `EVENT`; `users` maps partition ids to users."""
    session, message_id = shown(row[4]), None if row[11] is None else shown(row[11])
    return Event(
        id=row[2],
        type=shown(row[3]),
        user=users[row[1]],
        session=session,
        position=row[5],
        text=shown(row[6]),
        created_at=moment(row[7]),
        recorded_at=moment(row[8]),
        role=row[9],
        name=shown(row[10]),
        message_id=message_id,
        sensitivity=sensitivity_of(row[12]),
        content_hash=row[13],
        session_started_at=moment(row[14]),
        session_number=row[15],
        raw=from_json(row[16]),
        provenance=provenance_of(row[17], session=session, message_id=message_id),
        outcome=shown(row[18]),
        task=None if row[19] is None else shown(row[19]),
        replaces=replaced_in(row[20]),
    )


def brief_of(
    connection: apsw.Connection,
    row: tuple[Any, ...],
    users: Mapping[int, str | None],
    place: tuple[int, int] | None = None,
) -> Event:
    """Returns the event in a row of `BRIEF`, of a long text the part at `place` (bytes), by default its first part."""
    key, size, outdated = row[0], row[21], row[22]
    if row[6] is not None:
        event = event_of(row, users)
    else:
        found = passage(connection, key, size, place)
        event = event_of((*row[:6], "", *row[7:]), users)._replace(text=found.text, passage=found.passage)
    return with_outdated(event, outdated)


def with_newer(
    connection: apsw.Connection, visible: tuple[VisiblePartition, ...], found: Sequence[Event], best: Collection[str] = ()
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
        row = first(transaction.connection, sql, (session, stored(message_id)))
        if row is not None:
            found[message_id] = _head(row)
    return found


def tail(transaction: Transaction, partition: VisiblePartition, read: SessionTail) -> tuple[EventHead, ...]:
    session = _written(transaction, partition, read.session)
    if session is None:
        return ()
    sql = f"{_HEAD} AND position >= 0 AND position < ? ORDER BY position DESC LIMIT ?"
    before = _NOWHERE if read.before is None else read.before
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
    said = None if message_id is None else shown(message_id)
    kept_hash = None if provenance is None else from_json(provenance).get("metadata", {}).get("kept_hash")
    return EventHead(position, role, content_hash, said, moment(created_at), moment(recorded_at), kept_hash)


def length(transaction: Transaction, partition: VisiblePartition, read: SessionLength) -> int:
    return transaction.events.session(partition.id, read.session).next


def put_events(transaction: Transaction, partition: int, changes: Sequence[PutEvent]) -> None:
    """Appends the events to their sessions. Their rows and their search rows are written with those of the other plans."""
    analysed = [analysed_parts(change.event.text) if change.analysis is None else change.analysis for change in changes]
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
            batch.add(_row(key, partition, number, event), speaker, clauses)
            batch.replace([(one.id, key, one.ends) for one in event.replaces])
            units += found
    transaction.derive("events", partition, units)
    transaction.touch((partition,))


def reserve_positions(transaction: Transaction, partition: int, change: ReservePositions) -> None:
    transaction.write_events()
    sql = "UPDATE sessions SET next = ? WHERE partition = ? AND id = ? AND next < ?"
    transaction.connection.execute(sql, (change.next, partition, stored(change.session), change.next))


def _row(key: int, partition: int, session: int, event: Event) -> tuple[Any, ...]:
    return (
        key,
        event.id,
        partition,
        session,
        event.position,
        stored(event.type),
        event.role,
        stored(event.name),
        stored(event.text),
        None if event.message_id is None else stored(event.message_id),
        micros(event.created_at),
        micros(event.recorded_at),
        SENSITIVITY_CODES[event.sensitivity],
        event.content_hash,
        to_json(event.raw) if event.raw else None,
        written_provenance(event.provenance, session=event.session, message_id=event.message_id),
        stored(event.outcome),
        None if event.task is None else stored(event.task),
    )


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
    analysis = analysed_parts(event.text) if analysis is None else analysis
    if len(analysis) == 1:
        return [(described(text=event.text, analysis=analysis[0]), event.text)]
    return [
        (described(text=part.text, analysis=one, part=number), part.text)
        for number, (part, one) in enumerate(zip(parts(event.text), analysis, strict=True))
    ]


def session_of(row: tuple[Any, ...], users: Mapping[int, str | None]) -> Session:
    """Returns the session in a row of partition, id, number, started_at, last_at and length."""
    return Session(
        id=shown(row[1]),
        user=users[row[0]],
        number=row[2],
        started_at=moment(row[3]),
        last_at=moment(row[4]),
        length=row[5],
    )
