"""Graph gate: which entities, relations and patterns a scope may see now, each with a hash of what is shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import apsw

from germane.graph.shown import entity_hash, pattern_hash, relation_hash
from germane.stores.sqlite.encoding import LISTED, from_json, maybe_moment, shown, to_json
from germane.stores.sqlite.graph_rows import sensitivity_codes
from germane.stores.sqlite.graph_walks import holding
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, visible_ids
from germane.types.query import Filters

__all__ = ["graph_now"]


def graph_now(
    connection: apsw.Connection,
    visible: tuple[VisiblePartition, ...],
    ids: Sequence[str],
    *,
    at: datetime | None,
    filters: Filters,
) -> dict[str, int]:
    """Returns those of `ids` that are entities, relations or patterns which may be shown, each with a hash of what is shown. A
    relation has to hold at `at` (None, and with history: at any time), and both of its entities have to be visible."""
    if not ids or not visible or not filters.sensitivities:
        return {}
    here, levels = IN_VISIBLE, sensitivity_codes(filters)
    wanted = (to_json(list(ids)), *visible_ids(visible))
    holds, times = holding(None if filters.with_history else at)
    entities = f"WHERE n.id IN {LISTED} AND +n.partition IN {here} AND n.sensitivity IN {levels}"
    found = {
        id: entity_hash(shown(type), shown(name), from_json(properties))
        for id, type, name, properties in rows(
            connection, f"SELECT n.id, n.type, n.name, n.properties FROM entities n {entities}", wanted
        )
    }
    relations = (
        "SELECT r.id, s.name, r.type, t.name, r.valid_to FROM relations r"
        " JOIN entities s ON s.key = r.source JOIN entities t ON t.key = r.target"
        f" WHERE r.id IN {LISTED} AND +r.partition IN {here} AND r.sensitivity IN {levels} AND s.sensitivity IN {levels}"
        f" AND t.sensitivity IN {levels}{holds}"
    )
    found |= {
        id: relation_hash(shown(source), shown(type), shown(target), maybe_moment(ends))
        for id, source, type, target, ends in rows(connection, relations, (*wanted, *times))
    }
    patterns = (
        f"SELECT p.id, p.action FROM patterns p WHERE p.id IN {LISTED} AND +p.partition IN {here} AND p.sensitivity IN {levels}"
    )
    return found | {id: pattern_hash(shown(action)) for id, action in rows(connection, patterns, wanted)}
