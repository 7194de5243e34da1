"""Event kind: what the operations on all kinds do to messages, typed events and passages of documents, and to sessions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from germane.kinds.events.value import DOCUMENT, MESSAGE_TYPES, Event, event_hash
from germane.kinds.memories.reads import Forget, Select
from germane.search.unit import analyse_parts
from germane.stores.sql.connection import Connection
from germane.stores.sql.conversations.outlines import mend_outlines
from germane.stores.sql.events.event_rows import EVENT, delete_replacements, event_of
from germane.stores.sql.events.sessions import shrink
from germane.stores.sql.graph.totals import unsay
from germane.stores.sql.kind import Counted, GateQuestion, KindTable, SqlKind, StoredTexts, of_ids, of_keys
from germane.stores.sql.listing import VisiblePartition, in_clause
from germane.stores.sql.profile import forget_marks
from germane.stores.sql.search.units import terms_of
from germane.stores.sql.statements import LISTED, UNCLEAR, from_sql, moment, only, rows, to_json, to_sql
from germane.stores.sql.tombstones import bury, found_by_id
from germane.stores.sql.transaction import Transaction
from germane.stores.sql.where_clauses import for_events, ids_of_messages, matching_ids, provenance_criteria

if TYPE_CHECKING:
    from germane.transfer.contents import Owner, Thing

_SESSIONS = "SELECT key, id, next, length, started_at, last_at FROM sessions WHERE partition = ? ORDER BY key"


def _dump(connection: Connection, partition: int, owner: Owner) -> Iterator[Thing]:
    """Yields each session, and then its events by position."""
    from germane.transfer.contents import SessionRecord

    users = {partition: owner.user}
    for key, id, next, length, started_at, last_at in list(rows(connection, _SESSIONS, (partition,))):
        yield SessionRecord(id=from_sql(id), next=next, length=length, started_at=moment(started_at), last_at=moment(last_at))
        for row in rows(connection, f"{EVENT} WHERE e.session = ? ORDER BY e.position", (key,)):
            yield event_of(row, users)


def _size(thing: Thing) -> int:
    return len(thing.text) if isinstance(thing, Event) else 0


_MESSAGES = (
    "SELECT total(length), count(*), min(started_at), max(last_at) FROM sessions WHERE partition IN {} AND document IS NULL"
)
_DOCUMENTS = "SELECT count(*), total(length) FROM sessions WHERE partition IN {} AND document IS NOT NULL"
_TYPED = f"SELECT count(*) FROM events INDEXED BY events_type WHERE partition IN {{}} AND type NOT IN {LISTED}"
_BYTES = "SELECT total(octet_length(text)) FROM events INDEXED BY events_type WHERE partition IN {}"


def _count(connection: Connection, here: str, at: datetime) -> Counted:
    recorded, sessions, started, last = only(connection, _MESSAGES.format(here))
    typed = int(only(connection, _TYPED.format(here), (to_json((*MESSAGE_TYPES, DOCUMENT)),))[0])
    documents, passages = only(connection, _DOCUMENTS.format(here))
    fields = {
        "messages": int(recorded) - typed,
        "events": typed,
        "sessions": sessions,
        "documents": documents,
        "passages": int(passages),
    }
    oldest, newest = ([] if time is None else [time] for time in (started, last))
    return Counted(fields, only(connection, _BYTES.format(here))[0], oldest, newest)


_NAMED = (
    "SELECT e.id FROM sessions s CROSS JOIN events e INDEXED BY events_message"
    " ON e.session = s.key AND e.message_id = ? WHERE s.partition = ?"
)


def _select(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    if read.key is not None or read.tag is not None:
        return ()
    where, values = ["partition = ?"], list[Any]([partition.id])
    if read.session is not None:
        where.append("session = (SELECT key FROM sessions WHERE partition = events.partition AND id = ?)")
        values.append(to_sql(read.session))
    for clause, value in provenance_criteria(read):
        if value is not None:
            where.append(clause)
            values.append(to_sql(value))
    sql = f"SELECT id, message_id FROM events WHERE {' AND '.join(where)}"

    def named(wanted: Collection[Any]) -> list[str]:
        """Finds events by message id: with the index on each session's message ids, unless a scan of all events is less
        work."""
        sessions, events = only(connection, "SELECT count(*), total(length) FROM sessions WHERE partition = ?", (partition.id,))
        if read.session is not None or sessions * len(wanted) > events:
            return ids_of_messages(connection, sql, values, wanted)
        return [id for one in wanted for (id,) in rows(connection, _NAMED, (one, partition.id))]

    return matching_ids(connection, sql, values, read.ids, named)


_SPEAKER_LESS = "UPDATE speakers SET events = events - 1 WHERE partition = ? AND name = ?"
_SPEAKER_GONE = "DELETE FROM speakers WHERE partition = ? AND name = ? AND events <= 0"


def _forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    connection = transaction.connection
    sql = "SELECT key, id, partition, session, name, position FROM events WHERE id = ? AND partition IN " + in_clause(
        partitions
    )
    found = found_by_id(connection, sql, change.event_ids)
    unsay(transaction, "events", found)
    connection.executemany("DELETE FROM events WHERE key = ?", [(row[0],) for row in found])  # with their telling clauses
    forget_marks(transaction, [row[1] for row in found])
    delete_replacements(connection, [(row[0], row[1]) for row in found])
    said = [(row[2], row[4]) for row in found if row[4]]
    connection.executemany(_SPEAKER_LESS, said)
    connection.executemany(_SPEAKER_GONE, list(dict.fromkeys(said)))
    shrink(connection, {row[3] for row in found})
    forgotten: dict[int, list[int]] = {}
    for row in found:
        forgotten.setdefault(row[3], []).append(row[5])
    mend_outlines(connection, forgotten)
    bury(transaction, "events", found, change)


def _joined(asked: GateQuestion) -> tuple[str, Sequence[Any]]:
    clause, bound = for_events(asked.visible, asked.filters)
    return f"SELECT e.id, e.content_hash FROM events e INDEXED BY events_id WHERE e.id IN {LISTED} AND {clause}", bound


def _check(connection: Connection, row: tuple[Any, ...], looked_up: bool) -> tuple[bool | None, bool | None]:
    event = event_of(row, {row[1]: None})
    same = _unchanged(event)
    if not looked_up:
        return same, None
    terms = [one.terms for one in analyse_parts(event.text)]
    whole = terms_of(connection, "units_events", row[0])
    return same, (whole or terms_of(connection, "units_parts", row[0])) == terms


def _unchanged(event: Event) -> bool | None:
    """Whether the event is the one that was stored; None where that can't be told."""
    if UNCLEAR in event.text or (event.typed and UNCLEAR in f"{event.type}{event.outcome}"):
        return None
    noted = event.provenance.metadata
    if event_hash(event) in (event.content_hash, noted.get("kept_hash")):
        return True
    redacted_once = event.typed and "secrets" in noted and "kept_hash" not in noted  # before events kept that hash
    return None if redacted_once else False


EVENT_KIND = SqlKind(
    tables=(
        KindTable("events", "message"),
        KindTable("sessions", keeps="owner", cleared=True, exported="sessions", changed="last_at"),
        KindTable("speakers", cleared=True),
    ),
    dump=_dump,
    size=_size,
    contents={"messages": "SELECT total(length) FROM sessions WHERE partition IN {here}"},
    count=_count,
    ids="event_ids",
    select=_select,
    forget=_forget,
    remains={
        "messages": (of_ids("events"),),
        "replacements": (of_ids("replacements", "older"), of_keys("replacements", "newer", "events")),
    },
    joined=_joined,
    texts=StoredTexts("SELECT count(*) FROM events", EVENT, "e.key", _check),
    orphans={
        "search rows of messages": "units_events u WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = u.key)",
        "parts of messages": "units_parts u WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = u.key)",
        "replacements": "replacements r WHERE NOT EXISTS (SELECT 1 FROM events WHERE key = r.newer)",
        "messages without a search row": (
            "events e WHERE NOT EXISTS (SELECT 1 FROM units_events WHERE key = e.key)"
            " AND NOT EXISTS (SELECT 1 FROM units_parts WHERE key = e.key)"
        ),
        "messages without a session": "events e WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE key = e.session)",
    },
)
