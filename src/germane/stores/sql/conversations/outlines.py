"""Outline rows: makes the lines of a session's outline with its messages, and makes them anew with what is forgotten.

Lines stand for exchanges that have ended; `sessions.outlined` is the position at which the exchange begins that goes on. So a
message is read for a line once, in the transaction that stores the first message after its exchange; one that is all of its
exchange is read when its line is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from germane.kinds.conversations.outline import (
    MAX_EXCHANGE_MESSAGES,
    OutlinedMessage,
    begins_exchange,
    line_of_exchange,
    split_exchanges,
)
from germane.kinds.events.value import Event
from germane.search.unit import SENSITIVITY_CODES
from germane.stores.sql.connection import Connection
from germane.stores.sql.events.sessions import GrowingSession
from germane.stores.sql.statements import Row, first, from_json, from_sql, only, rows, to_json, to_sql

_AT_WRITE, _AT_ONCE = 2 * MAX_EXCHANGE_MESSAGES, 5 * MAX_EXCHANGE_MESSAGES
"""Messages that are read at most with a write, and with a change of its own; more than `MAX_SAID`, so that each gets ahead."""
_SAID = (
    "SELECT position, type, role, name, text, raw, sensitivity FROM events WHERE session = ? AND position BETWEEN ? AND ?"
    " ORDER BY position LIMIT ?"
)
_OPEN = (
    "SELECT e.session, e.position, e.type, e.role, e.name, e.text, e.raw, e.sensitivity FROM json_each(?) w CROSS JOIN events e"
    " ON e.session = w.value ->> 0 AND e.position >= w.value ->> 1 AND e.position < w.value ->> 2"
)
_INSERT = "INSERT INTO history_outlines VALUES (?, ?, ?, ?, ?, ?)"
_BEFORE = "SELECT first, last FROM history_outlines WHERE session = ? AND first <= ? ORDER BY first DESC LIMIT 1"
_LATER = "INSERT OR IGNORE INTO unoutlined VALUES (?)"
_MAX_POSITION = 1 << 62
"""Larger than every position."""


def write_outlines(connection: Connection, grown: Iterable[GrowingSession]) -> None:
    """Makes the lines of the exchanges that have ended with what was just written to these sessions, and notes in each where
    its open exchange begins now. Lines behind a message that was written late are made anew."""
    ended = {session.key: session for session in grown if session.ended_exchange and session.key is not None}
    if not ended:
        return
    lines, there = list[Row](), _stored_before(connection, ended)
    for key, session in ended.items():
        if session.lowest is not None:
            known = first(connection, _BEFORE, (key, session.lowest))
            session.outlined = 0 if known is None else known[0]
            connection.execute("DELETE FROM history_outlines WHERE session = ? AND first >= ?", (key, session.outlined))
        before = there.get(key)
        if before is None:
            said = messages_between(connection, key, session.outlined)
        else:
            said = [*before, *map(_said, session.said[: _AT_WRITE - len(before)])]
        *whole, last = list(split_exchanges(said)) or [[]]
        if whole:
            lines += _lines(key, whole)
            session.outlined = last[0].position
        if len(said) == _AT_WRITE:
            connection.execute(_LATER, (key,))
    connection.executemany(_INSERT, lines)


def complete_outline(connection: Connection, session: int) -> bool:
    """Makes lines that the session lacks. Returns whether more are left."""
    left = _extend(connection, session, _AT_ONCE)
    if not left:
        connection.execute("DELETE FROM unoutlined WHERE session = ?", (session,))
    return left


def has_unoutlined(connection: Connection, session: int) -> bool:
    return first(connection, "SELECT 1 FROM unoutlined WHERE session = ?", (session,)) is not None


def messages_between(
    connection: Connection, session: int, start: int, last: int = _MAX_POSITION, limit: int = _AT_WRITE
) -> list[OutlinedMessage]:
    """Returns the session's messages from one position to another, the first `limit` of them."""
    return [_read(*row) for row in rows(connection, _SAID, (session, start, last, limit))]


def mend_outlines(connection: Connection, forgotten: Mapping[int, Iterable[int]]) -> None:
    """Makes the lines anew in which messages stood that are gone now, by session and position. What is left of an exchange
    whose beginning is gone belongs to the exchange before it."""
    for session, positions in forgotten.items():
        gone = frozenset(positions)
        row = first(connection, "SELECT outlined FROM sessions WHERE key = ?", (session,))
        if row is None:
            continue  # its lines went with it
        lines = set[Row]()
        for position in gone:
            line = first(connection, _BEFORE, (session, position))
            if line is not None and position <= line[1]:
                lines.add(line)
        for start, last in sorted(lines):
            _mend(connection, session, start, last, start in gone)
        if row[0] in gone:
            _reopen(connection, session, row[0])


def _mend(connection: Connection, session: int, start: int, last: int, headless: bool) -> None:
    connection.execute("DELETE FROM history_outlines WHERE session = ? AND first = ?", (session, start))
    said = messages_between(connection, session, start, last)
    if said and headless and not begins_exchange(said[0].type):
        before = first(connection, _BEFORE, (session, start))
        if before is not None:
            connection.execute("DELETE FROM history_outlines WHERE session = ? AND first = ?", (session, before[0]))
            said = messages_between(connection, session, before[0], last)
    _put(connection, session, list(split_exchanges(said)))


def _reopen(connection: Connection, session: int, start: int) -> None:
    """Lets the last exchange go on, where the beginning of the one after it is gone."""
    said = messages_between(connection, session, start, limit=1)
    before = first(connection, _BEFORE, (session, start))
    if said and begins_exchange(said[0].type):
        outlined = said[0].position
    elif before is None:
        outlined = 0
    else:
        outlined = before[0]
        connection.execute("DELETE FROM history_outlines WHERE session = ? AND first = ?", (session, outlined))
    connection.execute("UPDATE sessions SET outlined = ? WHERE key = ?", (outlined, session))


def _read(
    position: int, type: str | bytes, role: str, name: str | bytes, text: str | bytes, raw: str | None, sensitivity: int
) -> OutlinedMessage:
    return OutlinedMessage(position, from_sql(type), role, from_sql(name), from_sql(text), from_json(raw), sensitivity)


def _said(event: Event) -> OutlinedMessage:
    level = SENSITIVITY_CODES[event.sensitivity]
    return OutlinedMessage(event.position, event.type, event.role, event.name, event.text, event.raw, level)


def _stored_before(connection: Connection, ended: Mapping[int, GrowingSession]) -> dict[int, list[OutlinedMessage]]:
    """The messages of the open exchanges as they were before the commit, for all sessions with one statement. A session isn't
    in it if something was written before its last message, or if so many are open that they have to be read in portions."""
    plain = {key: one for key, one in ended.items() if one.appended and one.lowest is None and one.open < _AT_WRITE}
    found = {key: list[OutlinedMessage]() for key in plain}
    begun = [(key, one.outlined, one.outlined + one.open) for key, one in plain.items() if one.open]
    if begun:
        for session, *row in rows(connection, _OPEN, (to_json(begun),)):
            found[session].append(_read(*row))
    for said in found.values():
        said.sort(key=lambda one: one.position)
    return found


def _extend(connection: Connection, session: int, limit: int) -> bool:
    """Makes the lines of the exchanges that end within `limit` messages. Returns whether there are more messages."""
    (start,) = only(connection, "SELECT outlined FROM sessions WHERE key = ?", (session,))
    said = messages_between(connection, session, start, limit=limit)
    *ended, last = list(split_exchanges(said)) or [[]]
    if ended:
        _put(connection, session, ended)
        connection.execute("UPDATE sessions SET outlined = ? WHERE key = ?", (last[0].position, session))
    return len(said) == limit


def _put(connection: Connection, session: int, exchanges: Sequence[Sequence[OutlinedMessage]]) -> None:
    connection.executemany(_INSERT, _lines(session, exchanges))


def _lines(session: int, exchanges: Sequence[Sequence[OutlinedMessage]]) -> list[Row]:
    """The rows of these exchanges' lines. A message that is all of its exchange says itself: its line has no text, and gets it
    when it is read."""
    return [
        (
            session,
            said[0].position,
            said[-1].position,
            len(said),
            to_sql(line_of_exchange(said)) if len(said) > 1 else "",
            max(one.sensitivity for one in said),
        )
        for said in exchanges
    ]
