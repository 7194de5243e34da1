"""Gate: which of some ids a scope may see now, each with a hash of what is shown of it (PACK-8, INJECT-6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from germane.kinds.archive.outline import first_id_of_outline_name, line_hash, outline_name
from germane.kinds.blocks.value import block_hash, entry_hash, shown_id, stored_id
from germane.kinds.graph.value import entity_hash, pattern_hash, relation_hash
from germane.kinds.injections import KeptInjections, PutInjection, SessionInjections
from germane.kinds.inventory import AllowedIds
from germane.kinds.profile.reads import clause_hash, parse_clause_name
from germane.kinds.tasks.value import stored_task, task_hash
from germane.stores.sql.blocks.block_rows import seen_blocks
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.lookup import holding, sensitivity_codes
from germane.stores.sql.injections import put_injection, session_records
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, in_clause, visible_ids
from germane.stores.sql.reading import Answers, ScopeReading
from germane.stores.sql.statements import (
    LISTED,
    from_json,
    from_sql,
    maybe_moment,
    rows,
    sensitivity_of,
    to_json,
)
from germane.stores.sql.tasks.task_rows import delegated_session
from germane.stores.sql.transaction import Appliers, ScopeWriting
from germane.stores.sql.where_clauses import for_events, for_memories
from germane.types.candidate import Sensitivity
from germane.types.query import EVERY_SENSITIVITY, Filters

_SIGN = "@"
_WHATEVER_HOLDS = replace(EVERY_SENSITIVITY, with_history=True)


def allowed_of(reading: ScopeReading, ids: Sequence[str], at: datetime, held: Filters) -> dict[str, int]:
    """Returns those of `ids` that may be shown to the scope that asks, each with its content hash. `held` are its
    `held_filters`."""
    return allowed_now(reading.connection, reading.visible, reading.scope.user, ids, at=at, filters=held)


def present_of(reading: ScopeReading, ids: Sequence[str], held: Filters) -> frozenset[str]:
    """Returns those of `ids` of which a text may go on standing for the scope that asks. `held` are its `held_filters`."""
    return present_now(reading.connection, reading.visible, reading.scope.user, ids, filters=held)


def held_filters(reading: ScopeReading, filters: Filters) -> Filters:
    """Returns the filters; in the session of a delegated agent with the sensitivities alone that its parent allowed."""
    given = delegated_session(reading.connection, reading.scope)
    if given is None:
        return filters
    return replace(filters, sensitivities=tuple(one for one in filters.sensitivities if one in given.allowed))


def allowed_now(
    connection: Connection,
    visible: tuple[VisiblePartition, ...],
    user: str | None,
    ids: Sequence[str],
    *,
    at: datetime,
    filters: Filters,
) -> dict[str, int]:
    """Returns those of `ids` that may be shown to a scope with this user, each with its content hash. A block is named with its
    version (`kinds/blocks/value.py`), and may be shown while that is the current one; a clause is named with its place in a
    message, and may be shown while the message may."""
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
    if lines := [id for id in rest if first_id_of_outline_name(id) is not None]:
        found |= lines_now(connection, visible, lines, filters.sensitivities)
        rest = [id for id in rest if first_id_of_outline_name(id) is None]
    if clauses := [id for id in rest if parse_clause_name(id) is not None]:
        found |= clauses_now(connection, visible, clauses, gate)
        rest = [id for id in rest if parse_clause_name(id) is None]
    if rest:
        found |= tasks_now(connection, visible, user, [id for id in rest if _SIGN in id], filters.sensitivities)
        rest = [id for id in rest if id not in found]
    if rest and "private" in filters.sensitivities:
        found |= archived_now(connection, visible, user, rest)
        rest = [id for id in rest if id not in found]
    return found | graph_now(connection, visible, rest, at=at, filters=gate) if rest else found


def present_now(
    connection: Connection,
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
    connection: Connection, visible: tuple[VisiblePartition, ...], names: Sequence[str], filters: Filters
) -> dict[str, int]:
    """Returns those of `names` that are of clauses (`kinds/profile/reads.py`) whose message may be shown."""
    named = {name: clause for name in names if (clause := parse_clause_name(name)) is not None}
    if not named:
        return {}
    event, bound = for_events(visible, filters)
    sql = f"SELECT e.id, e.content_hash FROM events e INDEXED BY events_id WHERE e.id IN {LISTED} AND {event}"
    hashes: dict[str, int] = dict(rows(connection, sql, [to_json(sorted({id for id, _, _ in named.values()})), *bound]))
    return {name: clause_hash(hashes[id], start, end) for name, (id, start, end) in named.items() if id in hashes}


def tasks_now(
    connection: Connection,
    visible: tuple[VisiblePartition, ...],
    user: str | None,
    names: Sequence[str],
    sensitivities: Sequence[str],
) -> dict[str, int]:
    """Returns those of `names` (`kinds/tasks/value.py`) that are frames of this user's own, at the present version or an
    earlier one: what a text said of a task is how things stood then."""
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
    connection: Connection, visible: tuple[VisiblePartition, ...], user: str | None, ids: Sequence[str]
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


# Entities, relations and patterns: the hash is of what is shown of them.


def graph_now(
    connection: Connection,
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
        id: entity_hash(from_sql(type), from_sql(name), from_json(properties))
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
        id: relation_hash(from_sql(source), from_sql(type), from_sql(target), maybe_moment(ends))
        for id, source, type, target, ends in rows(connection, relations, (*wanted, *times))
    }
    patterns = (
        f"SELECT p.id, p.action FROM patterns p WHERE p.id IN {LISTED} AND +p.partition IN {here} AND p.sensitivity IN {levels}"
    )
    return found | {id: pattern_hash(from_sql(action)) for id, action in rows(connection, patterns, wanted)}


# Lines of outlines: the hash is of their text.


_LINES = (
    "SELECT e.id, o.line, o.sensitivity FROM events e INDEXED BY events_id"
    " JOIN history_outlines o ON o.session = e.session AND o.first = e.position AND o.messages > 1"
    f" WHERE e.id IN {LISTED} AND +e.partition IN " + IN_VISIBLE
)


def lines_now(
    connection: Connection, visible: tuple[VisiblePartition, ...], names: Sequence[str], sensitivities: Sequence[str]
) -> dict[str, int]:
    """Returns those of `names` (`kinds/archive/outline.py`) that are lines of the scope with an allowed sensitivity."""
    ids = sorted({id for name in names if (id := first_id_of_outline_name(name)) is not None})
    if not ids:
        return {}
    found = rows(connection, _LINES, (to_json(ids), *visible_ids(visible)))
    return {
        outline_name(id): line_hash(id, from_sql(line)) for id, line, level in found if sensitivity_of(level) in sensitivities
    }


# What was injected of these things is read, and kept, by the same rules.


def _session_injections(reading: ScopeReading, read: SessionInjections) -> KeptInjections:
    if reading.scope.session is None:
        return KeptInjections()
    heads, records, wanted = session_records(reading.connection, reading.own, reading.scope.session, read.wanting)
    ids = sorted({item.id for record in records for item in record.items if item.stored} | wanted.ids)
    held = held_filters(reading, read.filters)
    present = present_of(reading, ids, held) if wanted.presence else frozenset()
    return KeptInjections(heads, records, allowed_of(reading, ids, read.at, held), present)


def _put_injection(writing: ScopeWriting, change: PutInjection) -> None:
    """Writes nothing where an item isn't stored any more; and, unless the record's text has to go on standing, where one isn't
    stored with the content that it was made from."""
    partition, record = writing.own_id(), change.injection
    hashes = {item.id: item.content_hash for item in record.items if item.stored}
    if record.prefix:
        kept = present_of(writing, list(hashes), EVERY_SENSITIVITY).issuperset(hashes)
    else:
        shown = allowed_of(writing, list(hashes), datetime.min, _WHATEVER_HOLDS)
        kept = all(shown.get(id) == content_hash for id, content_hash in hashes.items())
    if kept:
        put_injection(writing.connection, partition, change)


GATE_READS: Answers = {
    AllowedIds: lambda reading, read: frozenset(allowed_of(reading, read.ids, read.at, held_filters(reading, read.filters))),
    SessionInjections: _session_injections,
}
GATE_CHANGES: Appliers = {PutInjection: _put_injection}
