"""Latest sessions: the same as one statement that sorts them all, read a few at a time."""

from __future__ import annotations

from itertools import islice

import apsw
from hypothesis import given
from hypothesis import strategies as st

from germane.stores.sql.events.sessions import latest_sessions
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sqlite.database import migrations

MINE, WIDE, OTHERS = 3, 1, 2
SESSIONS = st.lists(st.tuples(st.sampled_from([MINE, WIDE, OTHERS]), st.integers(0, 4), st.booleans()), max_size=120)
VISIBLE = (VisiblePartition(WIDE, None, 0), VisiblePartition(MINE, "ann", 0))
INSERT = (
    "INSERT INTO sessions (partition, id, number, started_at, last_at, length, next, document) VALUES (?, ?, 0, 0, ?, 1, 1, ?)"
)


def stored(sessions: list[tuple[int, int, bool]]) -> apsw.Connection:
    """A store with sessions of these partitions and times; some are documents."""
    connection = apsw.Connection(":memory:")
    for script in migrations():
        connection.execute(script)
    rows = [(partition, f"s{n}", at, "{}" if document else None) for n, (partition, at, document) in enumerate(sessions)]
    connection.executemany(INSERT, rows)
    return connection


@given(SESSIONS, st.integers(0, 2), st.integers(0, 130))
def test_they_are_those_that_one_statement_finds(sessions: list[tuple[int, int, bool]], seen: int, limit: int) -> None:
    """In its order, with a condition, and from any place on; of nobody else, and no document."""
    connection, visible = stored(sessions), VISIBLE[:seen]
    ids = [partition.id for partition in visible]
    every = connection.execute(
        "SELECT last_at, key, id FROM sessions WHERE partition IN (SELECT value FROM json_each(?)) AND document IS NULL"
        " AND last_at > ? ORDER BY last_at DESC, key DESC",
        (str(ids), 0),
    ).fetchall()
    found = list(islice(latest_sessions(connection, visible, " AND last_at > ?", [0]), limit))
    assert found == every[:limit]
    if found:
        assert list(latest_sessions(connection, visible, " AND last_at > ?", [0], after=found[-1][:2])) == every[limit:]
