"""Sessions: creates, extends, numbers and removes the sessions of a partition, and reads the latest ones first.

A session is created with its first event and removed with its last one, since its id is the caller's and may name a person.
The session of a document has no number, since it is no conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from germane.kinds.conversations.outline import MAX_EXCHANGE_MESSAGES, begins_exchange
from germane.kinds.events.value import DOCUMENT, FIRST_TYPED, Event
from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, merge_rows, visible_ids
from germane.stores.sql.statements import Row, first, micros, rows, to_json, to_sql
from germane.types.scope import Scope

_LATEST = (
    "SELECT number, started_at FROM sessions WHERE partition = ? AND key <> ? AND document IS NULL"
    " ORDER BY started_at DESC, key DESC LIMIT 1"
)
_NUMBERED = (
    "UPDATE sessions SET number = counted.number FROM"
    " (SELECT key, ROW_NUMBER() OVER (ORDER BY started_at, key) AS number FROM sessions WHERE partition = ?"
    " AND document IS NULL) AS counted"
    " WHERE sessions.key = counted.key AND sessions.number <> counted.number"
)
_RECOUNT = (
    "UPDATE sessions SET (started_at, last_at, length) ="
    " (SELECT min(created_at), max(created_at), count(*) FROM events WHERE session = sessions.key) WHERE key = ?"
)


class GrowingSession:
    """A session to which events are added. `create` inserts its row without them; `row` updates it."""

    __slots__ = (
        *("_added", "_connection", "_document", "_id", "_last", "_started", "_typed", "_was"),
        *("appended", "ended_exchange", "key", "lowest", "next", "open", "outlined", "partition", "said"),
    )

    def __init__(self, connection: Connection, partition: int, id: str) -> None:
        sql = "SELECT key, started_at, last_at, next, outlined FROM sessions WHERE partition = ? AND id = ?"
        row = first(connection, sql, (partition, to_sql(id)))
        self.partition, self._id, self._added = partition, id, 0
        self._connection = connection
        self._typed: int | None = None if row is not None else FIRST_TYPED
        self.key: int | None
        """The row's key; None where there is none yet."""
        self.next: int
        """The position of the next message."""
        self._started: int | None
        self._last: int | None
        self.outlined: int
        """The position before which every message is in a line of the outline. `write_outlines` moves it."""
        self.key, self._started, self._last, self.next, self.outlined = (None, None, None, 0, 0) if row is None else row
        self.open: int = self.next - self.outlined
        """The length of the exchange that went on before anything was added, in positions."""
        self.ended_exchange = False
        """Whether the outline's last exchange may have ended with what was added."""
        self.lowest: int | None = None
        """The first position of what was added before messages that the outline has lines of."""
        self.said: list[Event] = []
        """The messages that were added."""
        self.appended = True
        """Whether each of them was added behind all messages that were there."""
        self._was = self._started
        self._document: str | None = None

    def add(self, event: Event) -> None:
        said = micros(event.created_at)
        self._started = said if self._started is None else min(self._started, said)
        self._last = said if self._last is None else max(self._last, said)
        if event.position < 0:
            self._typed = max(self.typed_next, event.position + 1)
        else:
            self.appended &= event.position >= self.next
        self.next = max(self.next, event.position + 1)
        self._added += 1
        if event.position >= 0 and event.type != DOCUMENT:
            self.said.append(event)
            if event.position < self.outlined:
                self.lowest = event.position if self.lowest is None else min(self.lowest, event.position)
                self.ended_exchange = True
            elif event.position > self.outlined:
                self.ended_exchange |= begins_exchange(event.type) or event.position - self.outlined >= MAX_EXCHANGE_MESSAGES
        if event.type == DOCUMENT and self.key is None:
            self._document = to_json({name: event.provenance.metadata.get(name) for name in ("title", "media_type")})

    @property
    def typed_next(self) -> int:
        """The position of the next event that isn't a message."""
        if self._typed is None:
            last = first(self._connection, "SELECT max(position) FROM events WHERE session = ? AND position < 0", (self.key,))
            self._typed = FIRST_TYPED if last is None or last[0] is None else int(last[0]) + 1
        return self._typed

    @property
    def grown(self) -> bool:
        """Whether events were added."""
        return self._added > 0

    @property
    def begins_earlier(self) -> bool:
        """Whether the session begins earlier than its row says."""
        return self._started != self._was

    def create(self, connection: Connection) -> int:
        """Inserts the row where there is none, with the times of what was added so far. Returns its key."""
        if self.key is None:
            sql = (
                "INSERT INTO sessions (partition, id, number, started_at, last_at, length, next, document)"
                " VALUES (?, ?, 0, ?, ?, 0, 0, ?)"
            )
            connection.execute(sql, (self.partition, to_sql(self._id), self._started, self._last, self._document))
            self.key, self._was = connection.last_insert_rowid(), self._started
            if self._document is None:
                self._number(connection)
        return self.key

    def row(self) -> tuple[int | None, ...]:
        """Returns the beginning, the end, the number of added events, the next position, the outline's end, and the key."""
        return self._started, self._last, self._added, self.next, self.outlined, self.key

    def _number(self, connection: Connection) -> None:
        """Gives a new session the next number; where it began before others, all are renumbered."""
        latest = first(connection, _LATEST, (self.partition, self.key))
        if latest is not None and self._started is not None and self._started < latest[1]:
            number_anew(connection, (self.partition,))
        else:
            number = 1 if latest is None else latest[0] + 1
            connection.execute("UPDATE sessions SET number = ? WHERE key = ?", (number, self.key))


def number_anew(connection: Connection, partitions: Iterable[int]) -> None:
    """Numbers the sessions of these partitions by their beginning."""
    connection.executemany(_NUMBERED, [(partition,) for partition in partitions])


def running_session(connection: Connection, visible: tuple[VisiblePartition, ...], scope: Scope) -> int | None:
    """Returns the key of the scope's session; None where the scope has none, or nothing of it is stored."""
    if scope.session is None:
        return None
    sql = f"SELECT key FROM sessions WHERE partition IN {IN_VISIBLE} AND id = ? ORDER BY partition DESC"
    row = first(connection, sql, (*visible_ids(visible), to_sql(scope.session)))
    return None if row is None else int(row[0])


def shrink(connection: Connection, sessions: Iterable[int]) -> None:
    """Updates these sessions after events were removed: recounts them, removes the empty ones, and renumbers the rest."""
    partitions: set[int] = set()
    for key in sessions:
        partitions.update(row[0] for row in rows(connection, "SELECT partition FROM sessions WHERE key = ?", (key,)))
        if first(connection, "SELECT 1 FROM events WHERE session = ? LIMIT 1", (key,)) is None:
            connection.execute("DELETE FROM sessions WHERE key = ?", (key,))
        else:
            connection.execute(_RECOUNT, (key,))
    number_anew(connection, partitions)


# The conversations that a scope sees are read only as far as the caller looks.


_AT_ONCE = 32
_NEWEST = (1 << 63) - 1, (1 << 63) - 1
"""After every time and every key."""


def latest_sessions(
    connection: Connection,
    visible: tuple[VisiblePartition, ...],
    condition: str = "",
    values: Sequence[Any] = (),
    *,
    columns: str = "id",
    after: tuple[int, int] | None = None,
) -> Iterator[Row]:
    """Yields the time of the last message, the key and `columns` of each session, of those behind the time and key in `after`
    where it is given. `condition` begins with `AND`; `values` are bound to it. Documents are no conversations.

    Each partition is read by itself, in the order of its index: one statement for two partitions would sort the sessions of
    both. No statement is open while the caller looks at a session.
    """
    sql = (
        f"SELECT last_at, key, {columns} FROM sessions WHERE partition = ? AND document IS NULL AND (last_at, key) < (?, ?)"
        f"{condition} ORDER BY last_at DESC, key DESC LIMIT {_AT_ONCE}"
    )
    behind: Row = _NEWEST if after is None else after

    def newest(partition: VisiblePartition) -> Iterator[Row]:
        return rows(connection, sql, (partition.id, *behind, *values))

    while True:
        found = list(merge_rows(visible, newest, lambda row: row[:2], descending=True))[:_AT_ONCE]
        yield from found
        if len(found) < _AT_ONCE:
            return
        behind = found[-1][:2]
