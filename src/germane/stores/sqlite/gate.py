"""Gate rows: which of some ids a scope may see now, each with the hash of its content (PACK-8, INJECT-6)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

import apsw

from germane.blocks.shown import block_hash, entry_hash, shown_id, stored_id
from germane.compaction.shown_line import stored_line
from germane.profile.shown_clause import clause_hash, stored_clause
from germane.stores.sqlite.blocks import seen_blocks
from germane.stores.sqlite.encoding import LISTED, sensitivity_of, to_json
from germane.stores.sqlite.graph_gate import graph_now
from germane.stores.sqlite.outline_gate import lines_now
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.visible_partitions import VisiblePartition, in_clause
from germane.stores.sqlite.where_clauses import for_events, for_memories
from germane.tasks.shown import stored_task, task_hash
from germane.types.candidate import Sensitivity
from germane.types.query import Filters

__all__ = ["allowed_now", "archived_now", "clauses_now", "present_now", "tasks_now"]

_SIGN = "@"


def allowed_now(
    connection: apsw.Connection,
    visible: tuple[VisiblePartition, ...],
    user: str | None,
    ids: Sequence[str],
    *,
    at: datetime,
    filters: Filters,
) -> dict[str, int]:
    """Returns those of `ids` that may be shown to a scope with this user, each with its content hash. A block is named with its
    version (`blocks/shown.py`), and may be shown while that is the current one; a clause is named with its place in a message,
    and may be shown while the message may."""
    if not ids or not visible or not filters.sensitivities:
        return {}
    gate = _of_gate(filters.sensitivities, filters.with_history)
    memory, bound = for_memories(visible, gate, at)
    event, also = for_events(visible, gate)
    sql = f"SELECT id, content_hash FROM memories INDEXED BY memories_id WHERE id IN {LISTED} AND {memory}"
    sql += f" UNION ALL SELECT e.id, e.content_hash FROM events e INDEXED BY events_id WHERE e.id IN {LISTED} AND {event}"
    wanted = to_json(ids)
    found: dict[str, int] = dict(rows(connection, sql, [wanted, *bound, wanted, *also]))
    rest = [id for id in ids if id not in found]
    if lines := [id for id in rest if stored_line(id) is not None]:
        found |= lines_now(connection, visible, lines, filters.sensitivities)
        rest = [id for id in rest if stored_line(id) is None]
    if clauses := [id for id in rest if stored_clause(id) is not None]:
        found |= clauses_now(connection, visible, clauses, gate)
        rest = [id for id in rest if stored_clause(id) is None]
    if rest:
        found |= tasks_now(connection, visible, user, [id for id in rest if _SIGN in id], filters.sensitivities)
        rest = [id for id in rest if id not in found]
    if rest and "private" in filters.sensitivities:
        found |= archived_now(connection, visible, user, rest)
        rest = [id for id in rest if id not in found]
    return found | graph_now(connection, visible, rest, at=at, filters=gate) if rest else found


def present_now(
    connection: apsw.Connection,
    visible: tuple[VisiblePartition, ...],
    user: str | None,
    ids: Sequence[str],
    *,
    filters: Filters,
) -> frozenset[str]:
    """Returns those of `ids` of which a text may go on standing for a scope with this user (INJECT-10): they are stored,
    visible and of an allowed sensitivity, whatever their present content is and whether they still hold. Of a block the version
    doesn't matter; one that was deleted, or is shared no more, isn't among them."""
    wide = Filters(sensitivities=filters.sensitivities, with_history=True)
    found = frozenset(allowed_now(connection, visible, user, ids, at=datetime.min, filters=wide))
    rest = [id for id in ids if id not in found and _SIGN in id] if "private" in filters.sensitivities else []
    blocks = {stored_id(id) for id in rest}
    gone = {one for one in blocks if not seen_blocks(connection, visible, user, "b.deleted_at IS NULL AND b.id = ?", (one,))}
    return found | {id for id in rest if stored_id(id) not in gone}


@lru_cache(maxsize=64)
def _of_gate(sensitivities: tuple[Sensitivity, ...], with_history: bool) -> Filters:
    """Returns filters with nothing else. They are checked when they are made, so the few that there are get kept."""
    return Filters(sensitivities=sensitivities, with_history=with_history)


def clauses_now(
    connection: apsw.Connection, visible: tuple[VisiblePartition, ...], names: Sequence[str], filters: Filters
) -> dict[str, int]:
    """Returns those of `names` that are of clauses (`profile/shown_clause.py`) whose message may be shown."""
    named = {name: clause for name in names if (clause := stored_clause(name)) is not None}
    if not named:
        return {}
    event, bound = for_events(visible, filters)
    sql = f"SELECT e.id, e.content_hash FROM events e INDEXED BY events_id WHERE e.id IN {LISTED} AND {event}"
    hashes: dict[str, int] = dict(rows(connection, sql, [to_json(sorted({id for id, _, _ in named.values()})), *bound]))
    return {name: clause_hash(hashes[id], start, end) for name, (id, start, end) in named.items() if id in hashes}


def tasks_now(
    connection: apsw.Connection,
    visible: tuple[VisiblePartition, ...],
    user: str | None,
    names: Sequence[str],
    sensitivities: Sequence[str],
) -> dict[str, int]:
    """Returns those of `names` (`tasks/shown.py`) that are frames of this user's own, at the present version or an earlier one:
    what a text said of a task is how things stood then."""
    own = [partition.id for partition in visible if partition.user == user]
    named = {name: known for name in names if (known := stored_task(name)) is not None} if own else {}
    if not named:
        return {}
    ids = to_json(sorted({id for id, _ in named.values()}))
    sql = f"SELECT id, version, sensitivity FROM tasks WHERE id IN {LISTED} AND +partition = ?"
    found = rows(connection, sql, (ids, own[0]))
    versions = {id: version for id, version, level in found if sensitivity_of(level) in sensitivities}
    return {name: task_hash(name) for name, (id, version) in named.items() if 0 < version <= versions.get(id, 0)}


def archived_now(
    connection: apsw.Connection, visible: tuple[VisiblePartition, ...], user: str | None, ids: Sequence[str]
) -> dict[str, int]:
    """Returns those of `ids` that are blocks with their current version, or archival entries. Both are private."""
    found = dict[str, int]()
    asked = frozenset(ids)
    for one in {stored_id(id) for id in ids if stored_id(id) != id}:  # one by one, so that SQLite uses the index on ids
        for seen in seen_blocks(connection, visible, user, "b.deleted_at IS NULL AND b.id = ?", (one,)):
            block = seen.block
            if (name := shown_id(block.id, block.version)) in asked:
                found.setdefault(name, block_hash(block.id, block.version, None if block.shared_from is None else block))
    if len(found) < len(asked):
        sql = f"SELECT id FROM archival_entries WHERE id IN {LISTED} AND +partition IN {in_clause(visible)}"
        found |= {id: entry_hash(id) for (id,) in rows(connection, sql, (to_json(ids),))}
    return found
