"""Graph patterns: the rows of patterns: written, counted, and found by what they apply to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import apsw

from germane.errors import NotFound
from germane.graph.operations import CountPattern, PutPattern
from germane.graph.pattern import Pattern
from germane.search.unit import SENSITIVITY_CODES
from germane.stores.sqlite.encoding import LISTED, micros, stored, to_json
from germane.stores.sqlite.graph_rows import PATTERN, pattern_of, sensitivity_codes
from germane.stores.sqlite.graph_writing import put_refs
from germane.stores.sqlite.rows import first, rows
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, visible_ids
from germane.types.query import Filters

__all__ = ["count_pattern", "matching_patterns", "put_pattern"]

_COLUMNS = "action, keywords, intent, entity_types, successes, applications, sensitivity, created_at, updated_at"
_MARKS = ", ".join("?" * 9)


def put_pattern(transaction: Transaction, partition: int, change: PutPattern) -> None:
    """Raises `NotFound` where another partition has a pattern with this id, or where a ref isn't the partition's own."""
    pattern, connection = change.pattern, transaction.connection
    row = (
        stored(pattern.action),
        to_json(pattern.keywords),
        None if pattern.intent is None else stored(pattern.intent),
        to_json(pattern.entity_types),
        *(pattern.successes, pattern.applications, SENSITIVITY_CODES[pattern.sensitivity]),
        *(micros(pattern.created_at), micros(pattern.updated_at)),
    )
    held = first(connection, "SELECT key, partition FROM patterns WHERE id = ?", (pattern.id,))
    if held is None:
        sql = f"INSERT INTO patterns ({_COLUMNS}, id, partition) VALUES ({_MARKS}, ?, ?)"
        connection.execute(sql, (*row, pattern.id, partition))
        key = connection.last_insert_rowid()
    else:
        key = held[0]
        if held[1] != partition:
            raise NotFound(f"no pattern {pattern.id!r} of this scope's own")
        connection.execute(f"UPDATE patterns SET ({_COLUMNS}) = ({_MARKS}) WHERE key = ?", (*row, key))
        connection.execute("DELETE FROM pattern_words WHERE pattern = ?", (key,))
    words = [(partition, stored(word), key) for word in dict.fromkeys(pattern.keywords or ("",))]
    connection.executemany("INSERT INTO pattern_words VALUES (?, ?, ?)", words)
    put_refs(transaction, partition, "pattern", key, change.refs)
    transaction.touch((partition,))


def count_pattern(transaction: Transaction, partition: int, change: CountPattern) -> None:
    """Raises `NotFound` where the partition has no such pattern."""
    sql = "UPDATE patterns SET applications = applications + 1, successes = successes + ?, updated_at = max(updated_at, ?)"
    sql += " WHERE id = ? AND partition = ?"
    row = (int(change.succeeded), micros(change.at), stored(change.id), partition)
    transaction.connection.execute(sql, row)
    if not transaction.connection.changes():
        raise NotFound(f"no pattern {change.id[:80]!r} of this scope's own")
    transaction.touch((partition,))


def matching_patterns(
    connection: apsw.Connection,
    visible: tuple[VisiblePartition, ...],
    users: Mapping[int, str | None],
    words: Sequence[str],
    *,
    intent: str | None,
    entity_types: Sequence[str],
    filters: Filters,
    limit: int,
) -> tuple[Pattern, ...]:
    """See `GraphReader.patterns`."""
    sql = (
        f"{PATTERN} WHERE p.key IN (SELECT pattern FROM pattern_words WHERE partition IN {IN_VISIBLE}"
        f" AND word IN {LISTED})"
        f" AND p.sensitivity IN {sensitivity_codes(filters)} AND (p.intent IS NULL OR p.intent = ?)"
        f" AND (p.entity_types = '[]' OR EXISTS (SELECT 1 FROM json_each(p.entity_types) WHERE value IN {LISTED}))"
        f" AND p.id NOT IN {LISTED}"
        " ORDER BY (p.successes + 1.0) / (p.applications + 2) DESC, p.id LIMIT ?"
    )
    excluded = to_json(sorted(filters.exclude))
    asked = (*visible_ids(visible), to_json(["", *words]), intent, to_json(entity_types), excluded, limit)
    return tuple(pattern_of(row, users) for row in rows(connection, sql, asked))
