"""Speakers: the names under which messages of a scope were recorded."""

from __future__ import annotations

from collections.abc import Iterator, Set

import apsw

from germane.stores.sqlite.encoding import LISTED, shown, to_json
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, visible_ids

__all__ = ["named_by", "speaking"]


def speaking(connection: apsw.Connection, visible: tuple[VisiblePartition, ...]) -> tuple[str, ...]:
    """Returns the distinct names, sorted."""
    sql = f"SELECT DISTINCT name FROM speakers WHERE partition IN {IN_VISIBLE} ORDER BY name"
    found = rows(connection, sql, visible_ids(visible))
    return tuple(shown(name) for (name,) in found)


def named_by(connection: apsw.Connection, partition: int, codes: Set[int] | None = None) -> Iterator[tuple[int, str]]:
    """Yields the hashes and names of a partition's speakers, of all or of those with these hashes."""
    sql, bound = "SELECT code, name FROM speakers WHERE partition = ?", tuple[object, ...]((partition,))
    if codes is not None:
        sql, bound = f"{sql} AND code IN {LISTED}", (partition, to_json(sorted(codes)))
    return ((code, shown(name)) for code, name in rows(connection, sql, bound))
