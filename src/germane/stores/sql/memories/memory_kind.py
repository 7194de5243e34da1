"""Memory kind: what the operations on all kinds do to memories, their tags, their links and the conflicts between them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from germane.kinds.memories.plans import hash_of
from germane.kinds.memories.reads import Forget, Select
from germane.search.unit import analyse_text
from germane.stores.sql.connection import Connection
from germane.stores.sql.graph.totals import unsay
from germane.stores.sql.kind import Counted, GateQuestion, KindTable, SqlKind, StoredTexts, of_ids, of_keys
from germane.stores.sql.links import delete_links
from germane.stores.sql.listing import VisiblePartition, in_clause
from germane.stores.sql.memories.conflicts import conflict_record
from germane.stores.sql.memories.memory_rows import MEMORY, memory_of
from germane.stores.sql.profile import forget_marks
from germane.stores.sql.search.units import terms_of
from germane.stores.sql.statements import LISTED, UNCLEAR, Row, micros, rows, to_json, to_sql
from germane.stores.sql.tombstones import bury, found_by_id
from germane.stores.sql.transaction import Transaction
from germane.stores.sql.where_clauses import for_memories, ids_of_messages, matching_ids, provenance_criteria

if TYPE_CHECKING:
    from germane.transfer.contents import Owner, Thing

_PAGE = 256
"""Memories read by one statement."""
_CONTRADICTIONS = (
    "SELECT l.id, l.reason, one.id, other.id, l.created_at, l.resolved_at, l.kept FROM memories one"
    " CROSS JOIN links l ON l.one = one.key AND l.kind = 'conflict' CROSS JOIN memories other ON other.key = l.other"
    " WHERE one.partition = ? ORDER BY l.id"
)


def _dump(connection: Connection, partition: int, owner: Owner) -> Iterator[Thing]:
    users = {partition: owner.user}
    keys = sorted(row[0] for row in rows(connection, "SELECT key FROM memories WHERE partition = ?", (partition,)))
    for start in range(0, len(keys), _PAGE):
        sql = f"{MEMORY} WHERE key IN {LISTED} ORDER BY key"
        for row in rows(connection, sql, (to_json(keys[start : start + _PAGE]),)):
            yield memory_of(row, users)
    for row in rows(connection, _CONTRADICTIONS, (partition,)):
        yield conflict_record(row)


_VALID = "valid_from <= ?1 AND (valid_to IS NULL OR valid_to > ?1) AND (expires_at IS NULL OR expires_at > ?1)"
_EXTRACTED = "CASE WHEN instr(provenance, 'extracted') THEN json_extract(provenance, '$.metadata.extracted') END"
"""What found the memory in a message: the name of a rule, or `llm`."""
_BY_KIND = (
    f"SELECT kind, total({_VALID}), count(*), total(pinned AND {_VALID}), total(octet_length(content)), min(created_at),"
    f" max(created_at), total({_VALID} AND ({_EXTRACTED}) IS NOT NULL), total({_VALID} AND ({_EXTRACTED}) IS 'llm')"
    " FROM memories WHERE partition IN {} GROUP BY kind ORDER BY kind"
)


def _count(connection: Connection, here: str, at: datetime) -> Counted:
    kinds = list(rows(connection, _BY_KIND.format(here), (micros(at),)))
    found, by_llm = (sum(int(row[place]) for row in kinds) for place in (7, 8))
    fields = {
        "memories": {kind: int(valid) for kind, valid, *_ in kinds if valid},
        "ended": sum(row[2] - int(row[1]) for row in kinds),
        "pinned": sum(int(row[3]) for row in kinds),
        "extracted": {name: count for name, count in (("llm", by_llm), ("rules", found - by_llm)) if count},
    }
    return Counted(fields, sum(row[4] for row in kinds), [row[5] for row in kinds], [row[6] for row in kinds])


# Selection: by the criteria, and by what consolidations removed.


_REPLACED = (
    "SELECT DISTINCT m.id FROM memories m INDEXED BY memories_replaced, json_each(m.provenance, '$.metadata.replaced') r"
    " WHERE m.partition = ? AND json_type(m.provenance, '$.metadata.replaced') = 'array'"
)
_SUCCESSOR = "iif(r.type = 'object', r.value, '{}')"
"""What a successor says of one memory; a caller may have written anything there."""


def _select(connection: Connection, partition: VisiblePartition, read: Select) -> Iterable[str]:
    return dict.fromkeys((*_matching(connection, partition, read), *_successors(connection, partition, read)))


def _matching(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    where, values = ["partition = ?"], list[Any]([partition.id])
    criteria: list[tuple[str, Any]] = [("fact_key = ?", read.key), ("session = ?", read.session), *provenance_criteria(read)]
    criteria.append(("key IN (SELECT memory FROM memory_tags WHERE partition = memories.partition AND tag = ?)", read.tag))
    for clause, value in criteria:
        if value is not None:
            where.append(clause)
            values.append(to_sql(value))
    sql = f"SELECT id, message_id FROM memories WHERE {' AND '.join(where)}"
    return matching_ids(connection, sql, values, read.ids, lambda wanted: ids_of_messages(connection, sql, values, wanted))


def _successors(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[str, ...]:
    """The memories that were made of others which a consolidation removed, and which match."""
    where, values = list[str](), list[Any]([partition.id])
    for name in ("session", "channel", "source_kind", "key"):
        if (value := getattr(read, name)) is not None:
            where.append(f"json_extract({_SUCCESSOR}, '$.{name}') = ?")
            values.append(to_sql(value))
    if read.tag is not None:
        where.append(f"EXISTS (SELECT 1 FROM json_each({_SUCCESSOR}, '$.tags') t WHERE t.value = ?)")
        values.append(to_sql(read.tag))
    if read.ids is not None:
        where.append(
            f"(json_extract({_SUCCESSOR}, '$.id') IN {LISTED} OR json_extract({_SUCCESSOR}, '$.message_id') IN {LISTED})"
        )
        values += [to_json(read.ids)] * 2
    sql = f"{_REPLACED} AND {' AND '.join(where)} ORDER BY m.key" if where else ""
    return tuple(id for (id,) in rows(connection, sql, values)) if sql else ()


# Waiting memories: what a later message states as well waits behind the memory of the earlier one, superseded by it in
# the moment in which it begins. When the earlier one is forgotten because of its message, the first that waits takes
# its place: another message still says it. When that memory itself is forgotten, what waits behind it goes too.


_BEHIND = (
    "memories w INDEXED BY memories_superseded ON w.superseded_by = m.id WHERE w.partition = m.partition"
    " AND w.content_hash = m.content_hash AND w.valid_to = w.valid_from"
)
_BEHIND_NAMED = (
    f"SELECT w.id FROM json_each(?1) s JOIN memories m ON m.id = s.value JOIN {_BEHIND}"
    " AND EXISTS (SELECT 1 FROM derivations d WHERE d.thing = m.id AND d.source NOT IN (SELECT value FROM json_each(?2)))"
)
_WAITING = f"SELECT w.key, w.id FROM memories m JOIN {_BEHIND} AND m.key = ? ORDER BY w.valid_from, w.key"
_TAKE_PLACE = (
    "UPDATE memories SET (valid_to, superseded_by, pinned) ="
    " (SELECT valid_to, superseded_by, pinned FROM memories WHERE key = ?2) WHERE key = ?1"
)
_TAKE_PLACE_OF_UNIT = (
    "UPDATE units_memories SET valid_to = (SELECT valid_to FROM units_memories WHERE key = ?2), revision = ?3 WHERE key = ?1"
)


def _waiting_behind(connection: Connection, memories: Sequence[str], gone: Sequence[str]) -> list[str]:
    """Returns the ids of what waits behind those of the memories that aren't forgotten for their sources: one of these stays.
    `gone` are the ids of all that is forgotten."""
    return [id for (id,) in rows(connection, _BEHIND_NAMED, (to_json(list(memories)), to_json(list(gone))))]


def _promote_waiting(transaction: Transaction, found: Iterable[Row], gone: Collection[str]) -> None:
    """Lets what waits behind these memories, rows of key, id and partition, take their places: until when they held, whether
    they are pinned, and their marks. Nothing of `gone` does. To be called before the memories are deleted."""
    connection = transaction.connection
    for key, id, partition in found:
        waiting = [row for row in rows(connection, _WAITING, (key,)) if row[1] not in gone]
        if not waiting:
            continue
        transaction.flush()
        (first, name), *others = waiting
        connection.execute(_TAKE_PLACE, (first, key))
        connection.execute(_TAKE_PLACE_OF_UNIT, (first, key, transaction.revision))
        connection.executemany("UPDATE memories SET superseded_by = ? WHERE key = ?", [(name, other) for other, _ in others])
        marks = "UPDATE profile_marks SET line = ?1, thing = ?1 WHERE thing = ?2 AND line = ?2"
        connection.execute(marks, (to_sql(name), to_sql(id)))
        transaction.touch((partition,))


def _forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    sql = "SELECT key, id, partition FROM memories WHERE id = ? AND partition IN " + in_clause(partitions)
    found = found_by_id(transaction.connection, sql, change.memory_ids)
    if not change.replaced:
        _promote_waiting(transaction, found, frozenset(change.memory_ids))
    keys = [(row[0],) for row in found]
    transaction.connection.executemany("DELETE FROM memory_tags WHERE memory = ?", keys)
    unsay(transaction, "memories", found)
    transaction.connection.executemany("DELETE FROM memories WHERE key = ?", keys)
    delete_links(transaction.connection, [row[0] for row in found])
    forget_marks(transaction, [row[1] for row in found])
    for partition in {row[2] for row in found}:
        transaction.near.drop(partition, [row[0] for row in found])
    bury(transaction, "memories", found, change)


def _joined(asked: GateQuestion) -> tuple[str, Sequence[Any]]:
    clause, bound = for_memories(asked.visible, asked.filters, asked.at)
    return f"SELECT id, content_hash FROM memories INDEXED BY memories_id WHERE id IN {LISTED} AND {clause}", bound


def _check(connection: Connection, row: tuple[Any, ...], looked_up: bool) -> tuple[bool | None, bool | None]:
    memory = memory_of(row, {row[2]: None})
    same = None if UNCLEAR in memory.text else hash_of(memory.kind, memory.content) == memory.content_hash
    if not looked_up:
        return same, None
    return same, terms_of(connection, "units_memories", row[0]) == [analyse_text("\n".join((memory.text, *memory.tags))).terms]


MEMORY_KIND = SqlKind(
    tables=(KindTable("memories", "memory", keeps="owner", exported="memories", changed="updated_at"),),
    dump=_dump,
    contents={
        "contradictions": (
            "SELECT count(*) FROM links WHERE kind = 'conflict' AND one IN (SELECT key FROM memories WHERE partition IN {here})"
        ),
    },
    count=_count,
    ids="memory_ids",
    select=_select,
    made="memories",
    at_last=_waiting_behind,
    forget=_forget,
    remains={
        "memories": (of_ids("memories"),),
        "tags": (of_keys("memory_tags", "memory", "memories"),),
        "links": (of_keys("links", "one", "memories"), of_keys("links", "other", "memories")),
    },
    joined=_joined,
    texts=StoredTexts("SELECT count(*) FROM memories", MEMORY, "key", _check),
    orphans={
        "search rows of memories": "units_memories u WHERE NOT EXISTS (SELECT 1 FROM memories WHERE key = u.key)",
        "tags": "memory_tags t WHERE NOT EXISTS (SELECT 1 FROM memories WHERE key = t.memory)",
        "links": (
            "links l WHERE NOT EXISTS (SELECT 1 FROM memories WHERE key = l.one)"
            " OR NOT EXISTS (SELECT 1 FROM memories WHERE key = l.other)"
        ),
        "memories without a search row": "memories m WHERE NOT EXISTS (SELECT 1 FROM units_memories WHERE key = m.key)",
    },
)
