"""Profile work: answers the read of plans about lines of a profile, marks lines, and removes the marks of what is forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from germane.profile.marking import LinesNamed, MarkedLine, MarkLine, NamedLines, thing_of
from germane.profile.shown_clause import shown_clause
from germane.stores.sqlite.encoding import LISTED, micros, moment, shown, stored, to_json
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, visible_ids

__all__ = ["forget_marks", "lines_named", "mark_line", "marks_of"]

_THINGS = (
    f"SELECT id, 1 FROM memories INDEXED BY memories_id WHERE id IN {LISTED} AND +partition IN {IN_VISIBLE} UNION ALL"
    f" SELECT id, 0 FROM events INDEXED BY events_id WHERE id IN {LISTED} AND +partition IN {IN_VISIBLE}"
)
_TOLD = (
    "SELECT e.id, t.start, t.stop FROM events e INDEXED BY events_id CROSS JOIN telling_clauses t ON t.event = e.key"
    f" WHERE e.id IN {LISTED} AND +e.partition IN {IN_VISIBLE}"
)
_MARKED = (
    "INSERT INTO profile_marks VALUES (?, ?, ?, ?, ?) ON CONFLICT (partition, line) DO UPDATE SET mark = excluded.mark,"
    " at = excluded.at WHERE mark <> excluded.mark"
)


def lines_named(
    transaction: Transaction, visible: tuple[VisiblePartition, ...], own: VisiblePartition | None, read: LinesNamed
) -> NamedLines:
    """Answers `LinesNamed`; `own` is the partition of the scope's own user, None where it doesn't exist."""
    transaction.write_events()
    connection, here = transaction.connection, visible_ids(visible)
    things = to_json(list(dict.fromkeys(map(thing_of, read.names))))
    found = list(rows(connection, _THINGS, (things, *here, things, *here)))
    told = {shown_clause(*row) for row in rows(connection, _TOLD, (things, *here))}
    memories = {id for id, memory in found if memory}
    names = frozenset(read.names)
    marks = {} if own is None else {one.line: one.mark for one in marks_of(connection, own.id) if one.line in names}
    return NamedLines(names & (told | memories), frozenset(id for id, _ in found), marks)


def mark_line(transaction: Transaction, partition: int, change: MarkLine) -> None:
    """See `MarkLine`."""
    connection, line = transaction.connection, stored(change.line)
    if change.mark is None:
        connection.execute("DELETE FROM profile_marks WHERE partition = ? AND line = ?", (partition, line))
    else:
        row = (partition, line, stored(thing_of(change.line)), change.mark, micros(change.at))
        connection.execute(_MARKED, row)
    if connection.changes():
        transaction.touch((partition,))


def marks_of(connection: apsw.Connection, partition: int) -> Iterator[MarkedLine]:
    """Yields the marks of a partition, by line."""
    sql = "SELECT line, mark, at FROM profile_marks WHERE partition = ? ORDER BY line"
    for line, mark, at in rows(connection, sql, (partition,)):
        yield MarkedLine(shown(line), mark, moment(at))


def forget_marks(transaction: Transaction, ids: Sequence[str]) -> None:
    """Removes every mark, whoever made it, of the memories and messages with these ids, which are forgotten."""
    sql = f"DELETE FROM profile_marks WHERE thing IN {LISTED} RETURNING partition"
    for (partition,) in list(rows(transaction.connection, sql, (to_json(list(ids)),))):
        transaction.erase(partition)
