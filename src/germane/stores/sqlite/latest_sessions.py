"""Latest sessions: the conversations that a scope sees, the latest first, read only as far as somebody looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from germane.stores.sqlite.merged import merged
from germane.stores.sqlite.rows import Row, rows
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["latest_sessions"]

_AT_ONCE = 32
_NEWEST = (1 << 63) - 1, (1 << 63) - 1
"""After every time and every key."""


def latest_sessions(
    connection: apsw.Connection,
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
        found = list(merged(visible, newest, lambda row: row[:2], descending=True))[:_AT_ONCE]
        yield from found
        if len(found) < _AT_ONCE:
            return
        behind = found[-1][:2]
