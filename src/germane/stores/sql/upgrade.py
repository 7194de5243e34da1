"""Upgrade: makes what a store of an earlier version lacks: parts of long texts, outlines and telling clauses.

Each may be stopped and started again at any point. Texts and messages are read and analysed outside any transaction; the rows
are replaced if the thing is still there. Outlines are made of some hundred messages in one transaction, also for messages that
were stored all at once. Telling clauses are found again of all messages where they are read anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from germane.extraction.messages import MAX_READ, told_by
from germane.kinds.events.value import Event
from germane.kinds.profile.telling import TELLING_VERSION, TellingClause
from germane.search.unit import Analysis, analyse_parts
from germane.stores.sql.connection import Connection
from germane.stores.sql.conversations.outlines import complete_outline
from germane.stores.sql.events.event_rows import EVENT, event_of, units_of
from germane.stores.sql.progress import Progress
from germane.stores.sql.reading import Readers, Reading
from germane.stores.sql.search.units import delete_units
from germane.stores.sql.statements import first, only, rows
from germane.stores.sql.transaction import Transaction, Writer

_NEXT_UNDIVIDED = "SELECT key FROM undivided ORDER BY key LIMIT 1"
_FOUND = tuple[int, Event | None, tuple[Analysis, ...]]


async def undivided(readers: Readers) -> int:
    """Returns the number of texts that wait."""
    return await readers.run(lambda reading: int(only(reading.connection, "SELECT count(*) FROM undivided")[0]))


async def divide(readers: Readers, writer: Writer, progress: Progress) -> int:
    """Divides all texts that wait; returns how many."""
    done = 0
    while (found := await readers.run(_read_text)) is not None:
        await writer.run(partial(_replace_units, *found))
        done += 1
        progress.step()
    return done


def _read_text(reading: Reading) -> _FOUND | None:
    waiting = first(reading.connection, _NEXT_UNDIVIDED)
    if waiting is None:
        return None
    row = first(reading.connection, f"{EVENT} WHERE e.key = ?", waiting)
    if row is None:
        return waiting[0], None, ()
    event = event_of(row, {row[1]: None})
    return waiting[0], event, analyse_parts(event.text)


def _replace_units(key: int, event: Event | None, analysis: tuple[Analysis, ...], transaction: Transaction) -> None:
    connection = transaction.connection
    there = first(connection, "SELECT partition, session FROM events WHERE key = ?", (key,))
    if there is not None and event is not None:
        partition, session = there
        delete_units(connection, "events", (key,))
        transaction.derive("events", partition, units_of(key, session, event, analysis))
        transaction.touch((partition,))
    connection.execute("DELETE FROM undivided WHERE key = ?", (key,))


# Outlines: the lines that a session lacks.


_NEXT_UNOUTLINED = (
    "SELECT u.session, s.partition FROM unoutlined u JOIN sessions s ON s.key = u.session ORDER BY u.session LIMIT 1"
)


async def unoutlined(readers: Readers) -> int:
    """Returns the number of sessions that lack lines."""
    return await readers.run(lambda reading: int(only(reading.connection, "SELECT count(*) FROM unoutlined")[0]))


async def outline_sessions(writer: Writer, progress: Progress) -> int:
    """Completes the outlines of all sessions; returns of how many."""
    done = 0
    while (left := await writer.run(_outline_step)) is not None:
        if not left:
            done += 1
            progress.step()
    return done


def _outline_step(transaction: Transaction) -> bool | None:
    """Makes lines of one session. Returns whether more are left of it; None where no session lacks any."""
    transaction.write_events()
    row = first(transaction.connection, _NEXT_UNOUTLINED)
    if row is None:
        return None
    session, partition = row
    transaction.touch((partition,))
    return complete_outline(transaction.connection, session)


# Telling clauses of messages, which profiles show.


_KNOWN = str(TELLING_VERSION).encode()
_MESSAGES, _CHARACTERS = 128, 65_536
"""Messages that are read at once at most, and characters of them after which it is enough."""
_NEXT_UNTOLD = (
    "SELECT u.session, u.next, s.partition FROM untold u JOIN sessions s ON s.key = u.session ORDER BY u.session LIMIT 1"
)
_SAID = f"{EVENT} WHERE e.session = ? AND e.position >= ? AND +e.type = 'user_message' ORDER BY e.position"
_PUT = (
    "INSERT OR IGNORE INTO telling_clauses SELECT key, ?2, ?3, partition, ?4, ?5 FROM events WHERE key = ?1"  # if it is there
)


class _Portion(NamedTuple):
    """What some messages of a session tell, by row key. `next` is the position to go on from; None behind the last message."""

    session: int
    partition: int
    told: list[tuple[int, tuple[TellingClause, ...]]]
    next: int | None


def expect_clauses(connection: Connection) -> None:
    """Has all sessions read in the background, where another version of germane has read them, or none."""
    known = first(connection, "SELECT value FROM meta WHERE key = 'telling'")
    if known == (_KNOWN,):
        return
    with connection:
        connection.execute("INSERT OR REPLACE INTO untold SELECT key, 0 FROM sessions WHERE document IS NULL")
        connection.execute("INSERT OR REPLACE INTO meta VALUES ('telling', ?)", (_KNOWN,))


async def untold(readers: Readers) -> int:
    """Returns the number of sessions that are still to be read."""
    return await readers.run(lambda reading: int(only(reading.connection, "SELECT count(*) FROM untold")[0]))


async def tell_sessions(readers: Readers, writer: Writer, progress: Progress, breath: Callable[[], None]) -> int:
    """Reads all sessions that wait; returns how many. `breath` is called between two messages, and may sleep."""
    done = 0
    while (portion := await readers.run(partial(_read_messages, breath))) is not None:
        await writer.run(partial(_replace_clauses, portion))
        if portion.next is None:
            done += 1
            progress.step()
    return done


def _read_messages(breath: Callable[[], None], reading: Reading) -> _Portion | None:
    waiting = first(reading.connection, _NEXT_UNTOLD)
    if waiting is None:
        return None
    session, position, partition = waiting
    told, left = list[tuple[int, tuple[TellingClause, ...]]](), _CHARACTERS
    for row in rows(reading.connection, _SAID, (session, position)):
        event = event_of(row, {partition: None})
        told.append((row[0], told_by(event)))
        left -= min(len(event.text), MAX_READ)
        if len(told) == _MESSAGES or left <= 0:
            return _Portion(session, partition, told, event.position + 1)
        breath()
    return _Portion(session, partition, told, None)


def _replace_clauses(portion: _Portion, transaction: Transaction) -> None:
    connection = transaction.connection
    connection.executemany("DELETE FROM telling_clauses WHERE event = ?", [(key,) for key, _ in portion.told])
    found = [(key, one.start, one.end, one.rule, one.matters) for key, told in portion.told for one in told]
    connection.executemany(_PUT, found)
    if portion.next is None:
        connection.execute("DELETE FROM untold WHERE session = ?", (portion.session,))
    else:
        connection.execute("UPDATE untold SET next = ? WHERE session = ?", (portion.next, portion.session))
    if found:
        transaction.touch((portion.partition,))
