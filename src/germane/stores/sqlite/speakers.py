"""Speakers: the names under which messages of a scope were recorded."""

from __future__ import annotations

import apsw

from germane.stores.sqlite.encoding import shown
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, visible_ids

__all__ = ["speaking"]


def speaking(connection: apsw.Connection, visible: tuple[VisiblePartition, ...]) -> tuple[str, ...]:
    """Returns the distinct names, sorted."""
    sql = f"SELECT DISTINCT name FROM speakers WHERE partition IN {IN_VISIBLE} ORDER BY name"
    found = rows(connection, sql, visible_ids(visible))
    return tuple(shown(name) for (name,) in found)
