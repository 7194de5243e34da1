"""Graph verification: rows of the graph that refer to nothing, and counts that differ, for `germane doctor`."""

from __future__ import annotations

__all__ = ["GRAPH_ORPHANS"]

_THINGS = {"events": "events", "memories": "memories", "blocks": "archival_entries"}
_GONE = " OR ".join(
    f"(x.domain = '{domain}' AND NOT EXISTS (SELECT 1 FROM {table} WHERE key = x.thing))" for domain, table in _THINGS.items()
)
GRAPH_ORPHANS = {
    "names of entities": "entity_names k WHERE NOT EXISTS (SELECT 1 FROM entities WHERE key = k.entity)",
    "entities without a name": "entities n WHERE NOT EXISTS (SELECT 1 FROM entity_names WHERE entity = n.key)",
    "entities that nothing mentions": (
        "entities n WHERE stated IS NULL AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = n.key)"
    ),
    "entities with a wrong number of mentions": (
        "entities n WHERE mentions <> (SELECT count(*) FROM mentions WHERE entity = n.key)"
    ),
    "relations without their entities": (
        "relations r WHERE NOT EXISTS (SELECT 1 FROM entities WHERE key = r.source AND partition = r.partition)"
        " OR NOT EXISTS (SELECT 1 FROM entities WHERE key = r.target AND partition = r.partition)"
    ),
    "relations that nothing states": (
        "relations r WHERE stated IS NULL AND NOT EXISTS (SELECT 1 FROM relation_refs WHERE relation = r.key)"
    ),
    "mentions": f"mentions x WHERE {_GONE} OR NOT EXISTS (SELECT 1 FROM entities WHERE key = x.entity)",
    "sources of relations": f"relation_refs x WHERE {_GONE} OR NOT EXISTS (SELECT 1 FROM relations WHERE key = x.relation)",
    "sources of patterns": f"pattern_refs x WHERE {_GONE} OR NOT EXISTS (SELECT 1 FROM patterns WHERE key = x.pattern)",
    "words of patterns": "pattern_words w WHERE NOT EXISTS (SELECT 1 FROM patterns WHERE key = w.pattern)",
}
"""What `verification.py` counts: each finding with the FROM and WHERE of its query."""
