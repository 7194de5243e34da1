"""EventBatch: the events that one commit appends, of all its plans, written with one statement for each table.

The events of fifty callers cost one statement in place of fifty, and a caller whose events wait here needs no savepoint. What
reads the events of a session has the batch written first, if it holds events of that session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import apsw

from germane.stores.sqlite.encoding import stored
from germane.stores.sqlite.outlines import write_outlines
from germane.stores.sqlite.rows import Row
from germane.stores.sqlite.sessions import GrowingSession, number_anew

__all__ = ["EventBatch"]

_INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_TOLD = "INSERT OR IGNORE INTO telling_clauses VALUES (?, ?, ?, ?, ?, ?)"
_REPLACED = "INSERT OR IGNORE INTO replacements VALUES (?, ?, ?)"
_UPDATE = "UPDATE sessions SET started_at = ?, last_at = ?, length = length + ?, next = ?, outlined = ? WHERE key = ?"
_SPEAKER = (
    "INSERT INTO speakers (partition, name, code, events) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (partition, name) DO UPDATE SET events = events + excluded.events"
)


class EventBatch:
    """Rows that wait to be written, and the sessions that they belong to as they will be then."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._sessions: dict[tuple[int, str], GrowingSession] = {}
        self._rows: list[Row] = []
        self._replaced: list[tuple[str, int, bool]] = []
        self._speakers: Counter[tuple[int, str, int]] = Counter()
        self._told: list[Row] = []

    def session(self, partition: int, id: str) -> GrowingSession:
        """Returns the session with what the batch adds to it; its row is read once."""
        session = self._sessions.get((partition, id))
        if session is None:
            session = self._sessions[partition, id] = GrowingSession(self._connection, partition, id)
        return session

    def add(self, row: Row, speaker: tuple[int, str, int] | None, told: Sequence[Row]) -> None:
        """Adds the row of an event, who said it (partition, name and code), and the rows of its telling clauses."""
        self._rows.append(row)
        self._told += told
        if speaker is not None:
            self._speakers[speaker] += 1

    def replace(self, rows: Iterable[tuple[str, int, bool]]) -> None:
        """Notes which earlier events an event makes outdated, or may: the id of the earlier one, the key of the later one, and
        whether it ends something."""
        self._replaced += rows

    def write(self) -> None:
        """Writes all rows. Raises what SQLite raises: then the transaction must be rolled back."""
        if not self._rows:
            return
        grown = [session for session in self._sessions.values() if session.grown]
        self._connection.executemany(_INSERT, self._rows)
        self._connection.executemany(_TOLD, self._told)
        write_outlines(self._connection, grown)
        self._connection.executemany(_UPDATE, [session.row() for session in grown])
        said = [(partition, stored(name), code, count) for (partition, name, code), count in self._speakers.items()]
        self._connection.executemany(_SPEAKER, said)
        if self._replaced:
            self._connection.executemany(_REPLACED, self._replaced)
        number_anew(self._connection, {session.partition for session in grown if session.begins_earlier})
