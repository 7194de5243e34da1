"""Remains: looks in every table for what is left of forgotten things."""

from __future__ import annotations

import apsw

from germane.memories.operations import LeftOf, Remains
from germane.stores.sqlite.encoding import to_json
from germane.stores.sqlite.graph_forget import GRAPH_TABLES
from germane.stores.sqlite.rows import first

__all__ = ["left_of"]

_IDS = "(SELECT value FROM json_each(?1))"
_KEYS = f"(SELECT key FROM tombstones WHERE id IN {_IDS} AND what = '{{}}')"
_PLACES = {
    "memories": f"SELECT 1 FROM memories WHERE id IN {_IDS} LIMIT 1",
    "tags": f"SELECT 1 FROM memory_tags WHERE memory IN {_KEYS.format('memories')} LIMIT 1",
    "derivations": (
        f"SELECT 1 FROM derivations WHERE source IN {_IDS} UNION ALL SELECT 1 FROM derivations WHERE thing IN {_IDS} LIMIT 1"
    ),
    "links": (
        f"SELECT 1 FROM links WHERE one IN {_KEYS.format('memories')}"
        f" UNION ALL SELECT 1 FROM links WHERE other IN {_KEYS.format('memories')} LIMIT 1"
    ),
    "replacements": (
        f"SELECT 1 FROM replacements WHERE older IN {_IDS}"
        f" UNION ALL SELECT 1 FROM replacements WHERE newer IN {_KEYS.format('events')} LIMIT 1"
    ),
    "messages": f"SELECT 1 FROM events WHERE id IN {_IDS} LIMIT 1",
    "search rows and vectors": (
        f"SELECT 1 FROM units_memories WHERE key IN {_KEYS.format('memories')}"
        f" UNION ALL SELECT 1 FROM units_events WHERE key IN {_KEYS.format('events')}"
        f" UNION ALL SELECT 1 FROM units_parts WHERE key IN {_KEYS.format('events')}"
        f" UNION ALL SELECT 1 FROM units_blocks WHERE key IN {_KEYS.format('blocks')} LIMIT 1"
    ),
    "telling clauses": f"SELECT 1 FROM telling_clauses WHERE event IN {_KEYS.format('events')} LIMIT 1",
    "marks of profiles": f"SELECT 1 FROM profile_marks WHERE thing IN {_IDS} LIMIT 1",
    "blocks": f"SELECT 1 FROM blocks WHERE id IN {_IDS} LIMIT 1",
    "histories of blocks": (
        f"SELECT 1 FROM block_versions WHERE block IN {_KEYS.format('blocks')}"
        f" UNION ALL SELECT 1 FROM block_snapshots WHERE block IN {_KEYS.format('blocks')} LIMIT 1"
    ),
    "shares and consents": (
        f"SELECT 1 FROM block_shares WHERE block IN {_KEYS.format('blocks')}"
        f" UNION ALL SELECT 1 FROM block_consents WHERE block IN {_KEYS.format('blocks')} LIMIT 1"
    ),
    "archival entries": f"SELECT 1 FROM archival_entries WHERE id IN {_IDS} LIMIT 1",
    **{table: f"SELECT 1 FROM {table} WHERE id IN {_IDS} LIMIT 1" for table in GRAPH_TABLES},
    "mentions": " UNION ALL ".join(
        f"SELECT 1 FROM {table} WHERE domain = '{domain}' AND thing IN {_KEYS.format(domain)}"
        for table in ("mentions", "relation_refs", "pattern_refs")
        for domain in ("memories", "events", "blocks")
    )
    + " LIMIT 1",
    "tasks": (
        f"SELECT 1 FROM tasks WHERE id IN {_IDS} UNION ALL SELECT 1 FROM task_branches WHERE current IN {_IDS}"
        f" UNION ALL SELECT 1 FROM task_pointers WHERE thing IN {_IDS} LIMIT 1"
    ),
    "archived messages": f"SELECT 1 FROM history_archive WHERE id IN {_IDS} LIMIT 1",
    "summaries": f"SELECT 1 FROM history_summaries WHERE id IN {_IDS} LIMIT 1",
    "injected texts": f"SELECT 1 FROM injected_items WHERE item IN {_IDS} LIMIT 1",
}
"""The places that hold anything of what is stored, each with the query that finds what is left."""


def left_of(connection: apsw.Connection, read: LeftOf) -> Remains:
    """Looks for the ids, and for the row keys that their tombstones hold, in each table that holds anything of a memory or an
    event."""
    ids = to_json(list(read.ids))
    found = [place for place, sql in _PLACES.items() if first(connection, sql, (ids,)) is not None]
    return Remains(checked=tuple(_PLACES), holding=tuple(found))
