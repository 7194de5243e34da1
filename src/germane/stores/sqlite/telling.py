"""Telling: finds the telling clauses that a store lacks: of an earlier version's messages, and all where they are read anew.

It reads some messages outside any transaction, then replaces the clauses of those that are still there. It may be stopped and
started again at any point.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import apsw

from germane.events.own_words import READ, told_by
from germane.profile.telling import VERSION, TellingClause
from germane.stores.sqlite.events import EVENT, event_of
from germane.stores.sqlite.progress import Progress
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.rows import first, only, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.writer import Writer

__all__ = ["expect_clauses", "tell_sessions", "untold"]

_KNOWN = str(VERSION).encode()
_MESSAGES, _CHARACTERS = 128, 65_536
"""Messages that are read at once at most, and characters of them after which it is enough."""
_NEXT = "SELECT u.session, u.next, s.partition FROM untold u JOIN sessions s ON s.key = u.session ORDER BY u.session LIMIT 1"
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


def expect_clauses(connection: apsw.Connection) -> None:
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
    while (portion := await readers.run(partial(_read, breath))) is not None:
        await writer.run(partial(_replace, portion))
        if portion.next is None:
            done += 1
            progress.step()
    return done


def _read(breath: Callable[[], None], reading: Reading) -> _Portion | None:
    waiting = first(reading.connection, _NEXT)
    if waiting is None:
        return None
    session, position, partition = waiting
    told, left = list[tuple[int, tuple[TellingClause, ...]]](), _CHARACTERS
    for row in rows(reading.connection, _SAID, (session, position)):
        event = event_of(row, {partition: None})
        told.append((row[0], told_by(event)))
        left -= min(len(event.text), READ)
        if len(told) == _MESSAGES or left <= 0:
            return _Portion(session, partition, told, event.position + 1)
        breath()
    return _Portion(session, partition, told, None)


def _replace(portion: _Portion, transaction: Transaction) -> None:
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
