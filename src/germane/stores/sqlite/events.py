"""Event rows: converts events to rows and back, and runs the reads and changes of plans about events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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
from germane.stores.sqlite.rows import first
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.types.candidate import LONG, Outdated

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
]

EVENT = (
    "SELECT e.key, e.partition, e.id, e.type, s.id, e.position, e.text, e.created_at, e.recorded_at, e.role, e.name,"
    " e.message_id, e.sensitivity, e.content_hash, s.started_at, s.number, e.raw, e.provenance,"
    " e.outcome, e.task"
    " FROM events e JOIN sessions s ON s.key = e.session"
)
"""The rows that `event_of` takes."""
_OUTDATED = (
    "(SELECT json_group_array(json_array(m.valid_to, m.fact_key)) FROM derivations d JOIN memories m ON m.key = d.memory"
    " WHERE d.source = e.id AND m.superseded_by IS NOT NULL AND m.valid_to IS NOT NULL AND typeof(m.fact_key) = 'text')"
)
BRIEF = (
    EVENT.replace("e.text,", f"CASE WHEN octet_length(e.text) <= {LONG} THEN e.text END,")
    .replace("e.raw,", "NULL,")
    .replace(" FROM", f", octet_length(e.text), {_OUTDATED} FROM", 1)
)
"""The rows that `brief_of` takes: without long texts and the callers' dicts, with what was replaced since."""
_HEAD = "SELECT position, role, content_hash, message_id, created_at, recorded_at, provenance FROM events WHERE session = ?"
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
    )


def brief_of(
    connection: apsw.Connection,
    row: tuple[Any, ...],
    users: Mapping[int, str | None],
    place: tuple[int, int] | None = None,
) -> Event:
    """Returns the event in a row of `BRIEF`, of a long text the part at `place` (bytes), by default its first part."""
    key, size, replaced = row[0], row[20], row[21]
    if row[6] is not None:
        event = event_of(row, users)
    else:
        found = passage(connection, key, size, place)
        event = event_of((*row[:6], "", *row[7:]), users)._replace(text=found.text, passage=found.passage)
    return event if replaced == "[]" else event._replace(outdated=_outdated(replaced))


def _outdated(text: str) -> tuple[Outdated, ...]:
    pairs = sorted((since, key) for since, key in json.loads(text))
    return tuple(Outdated(moment(since), (key.rpartition(".")[2],)) for since, key in pairs)


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
            batch.add(_row(key, partition, number, event), (partition, event.name, found[0][0].speaker) if event.name else None)
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
