"""Forgetting: deletes what is named, with its search rows and what refers to it; leaves tombstones without content."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence

from germane.kinds.memories.reads import Forget, ForgetOwner, IdsInUse, LeftOf, PutTombstones, Remains, Select, Selection
from germane.stores.sql.archive.archive_rows import HISTORY_TABLES, forget_history
from germane.stores.sql.archive.outlines import mend_outlines
from germane.stores.sql.blocks.block_rows import touch_block
from germane.stores.sql.connection import Connection
from germane.stores.sql.events.event_rows import delete_replacements
from germane.stores.sql.events.sessions import shrink
from germane.stores.sql.graph.totals import GRAPH_TABLES, forget_things, found_in_graph, remove_from_graph
from germane.stores.sql.injections import forget_sessions
from germane.stores.sql.links import delete_links
from germane.stores.sql.listing import FORGOTTEN_ORG, VisiblePartition, in_clause
from germane.stores.sql.profile import forget_marks
from germane.stores.sql.reading import Answers, ScopeReading
from germane.stores.sql.selection import promote_waiting, select, with_consequences
from germane.stores.sql.statements import Row, first, only, rows, to_json
from germane.stores.sql.tasks.plans import TASK_TABLES, forget_tasks
from germane.stores.sql.tombstones import bury, ids_in_use, put_tombstones
from germane.stores.sql.transaction import Appliers, ScopeWriting, Transaction, within_plan
from germane.types.scope import Scope

_SPEAKER_LESS = "UPDATE speakers SET events = events - 1 WHERE partition = ? AND name = ?"
_SPEAKER_GONE = "DELETE FROM speakers WHERE partition = ? AND name = ? AND events <= 0"


def forget(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    """Deletes what `change` names and what lies in `partitions`, with all that was made of it. Idempotent."""
    transaction.flush()
    if not change.replaced:
        change, partitions = with_consequences(transaction.connection, partitions, change)
    found = found_in_graph(transaction.connection, partitions, change.graph_ids)
    remove_from_graph(transaction, found)
    forget_history(transaction, partitions, change)
    _forget_memories(transaction, partitions, change)
    _forget_events(transaction, partitions, change)
    _forget_blocks(transaction, partitions, change)
    for table, these in found.items():
        bury(transaction, table, these, change)
    forget_tasks(transaction, partitions, change)
    for session in change.sessions:
        forget_sessions(transaction, partitions, session)


def _forget_memories(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    sql = "SELECT key, id, partition FROM memories WHERE id = ? AND partition IN " + in_clause(partitions)
    found = _found(transaction.connection, sql, change.memory_ids)
    if not change.replaced:
        promote_waiting(transaction, found, frozenset(change.memory_ids))
    keys = [(row[0],) for row in found]
    transaction.connection.executemany("DELETE FROM memory_tags WHERE memory = ?", keys)
    _unsay(transaction, "memories", found)
    transaction.connection.executemany("DELETE FROM memories WHERE key = ?", keys)
    delete_links(transaction.connection, [row[0] for row in found])
    forget_marks(transaction, [row[1] for row in found])
    for partition in {row[2] for row in found}:
        transaction.near.drop(partition, [row[0] for row in found])
    bury(transaction, "memories", found, change)


def _forget_events(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    connection = transaction.connection
    sql = "SELECT key, id, partition, session, name, position FROM events WHERE id = ? AND partition IN " + in_clause(
        partitions
    )
    found = _found(connection, sql, change.event_ids)
    _unsay(transaction, "events", found)
    connection.executemany("DELETE FROM events WHERE key = ?", [(row[0],) for row in found])  # with their telling clauses
    forget_marks(transaction, [row[1] for row in found])
    delete_replacements(connection, [(row[0], row[1]) for row in found])
    said = [(row[2], row[4]) for row in found if row[4]]
    connection.executemany(_SPEAKER_LESS, said)
    connection.executemany(_SPEAKER_GONE, list(dict.fromkeys(said)))
    shrink(connection, {row[3] for row in found})
    forgotten: dict[int, list[int]] = {}
    for row in found:
        forgotten.setdefault(row[3], []).append(row[5])
    mend_outlines(connection, forgotten)
    bury(transaction, "events", found, change)


def _forget_blocks(transaction: Transaction, partitions: tuple[VisiblePartition, ...], change: Forget) -> None:
    connection = transaction.connection
    for table in ("blocks", "archival_entries"):
        sql = f"SELECT key, id, partition FROM {table} WHERE id = ? AND partition IN " + in_clause(partitions)
        found = _found(connection, sql, change.block_ids)
        for key, _, partition in found if table == "blocks" else ():
            touch_block(transaction, partition, key)
        if table == "archival_entries":
            _unsay(transaction, "blocks", found)
        connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(row[0],) for row in found])  # with what refers to it
        bury(transaction, "blocks", found, change)


def _unsay(transaction: Transaction, domain: str, found: Sequence[Row]) -> None:
    for partition in sorted({row[2] for row in found}):
        forget_things(transaction, partition, domain, [row[0] for row in found if row[2] == partition])


def _found(connection: Connection, sql: str, ids: Iterable[str]) -> list[Row]:
    found = (first(connection, sql, (id,)) for id in dict.fromkeys(ids))
    return [row for row in found if row is not None]


# A partition as a whole loses its name too: its row gets random names that no scope has, so that its tombstones still
# belong to a partition and other processes notice that it is gone.


_CONTENTS = (
    *(("memories", "partition"), ("sessions", "partition"), ("directives", "partition"), ("blocks", "partition")),
    ("tasks", "partition"),
    *(("archival_entries", "partition"), ("block_shares", "grantee"), ("tombstones", "partition")),
    *((table, "partition") for table in (*GRAPH_TABLES, *HISTORY_TABLES)),
)
"""What a partition can hold, so that its names are needed."""


def forget_whole(transaction: Transaction, partition: VisiblePartition, change: ForgetOwner) -> None:
    """Removes all there is in `partition`, and the partition itself: directive, sessions, speakers, the names of org, agent and
    user. What earlier tombstones say of who and why goes too: it may name somebody. Of `change` itself it stays, unless it
    holds one of the names that are gone with this."""
    transaction.flush()
    connection = transaction.connection
    connection.execute("UPDATE tombstones SET by = '', reason = '' WHERE partition = ?", (partition.id,))
    names = _names_only_here(connection, partition)
    told = not any(name in f"{change.by}\n{change.reason}".casefold() for name in names)
    by, reason = (change.by, change.reason) if told else ("", "")
    sql = "SELECT DISTINCT s.grantee FROM block_shares s JOIN blocks b ON b.key = s.block WHERE b.partition = ?"
    grantees = [grantee for (grantee,) in rows(connection, sql, (partition.id,))]
    found, partitions = select(connection, partition, Select(everything=True))
    gone = found.forgetting(at=change.at, by=by, reason=reason)
    forget(transaction, partitions, gone)
    directive = list(rows(connection, "SELECT 0, id, partition FROM directives WHERE partition = ?", (partition.id,)))
    bury(transaction, "directives", directive, gone)
    for grantee in grantees:
        if not _holds(connection, grantee):
            _unname(connection, grantee)
    connection.execute("DELETE FROM block_shares WHERE grantee = ?", (partition.id,))
    connection.execute("DELETE FROM block_consents WHERE requester = ?", (partition.id,))
    for table in ("directives", "injections", "profile_marks", "sessions", "speakers", *TASK_TABLES):
        connection.execute(f"DELETE FROM {table} WHERE partition = ?", (partition.id,))
    _unname(connection, partition.id)
    transaction.near.drop(partition.id)
    transaction.erase(partition.id, vanished=True)


def _holds(connection: Connection, partition: int) -> bool:
    """Whether anything is stored in a partition, or shared with it."""
    return any(first(connection, f"SELECT 1 FROM {table} WHERE {column} = ?", (partition,)) for table, column in _CONTENTS)


def _unname(connection: Connection, partition: int) -> None:
    """Replaces the names of org, agent and user by ones that no scope has."""
    row = (FORGOTTEN_ORG, secrets.token_hex(16), partition)
    connection.execute("UPDATE partitions SET org = ?, agent = ?, user = '' WHERE id = ?", row)


def _names_only_here(connection: Connection, partition: VisiblePartition) -> list[str]:
    names = only(connection, "SELECT org, agent, user FROM partitions WHERE id = ?", (partition.id,))
    found = list[str]()
    for column, name in zip(("org", "agent", "user"), names, strict=True):
        elsewhere = f"SELECT 1 FROM partitions WHERE {column} = ? AND id <> ?"
        if name and first(connection, elsewhere, (name, partition.id)) is None:
            found.append(name.casefold())
    return found


# Looks in every table for what is left of forgotten things, after the changes of the same transaction.


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


def left_of(connection: Connection, read: LeftOf) -> Remains:
    """Looks for the ids, and for the row keys that their tombstones hold, in each table that holds anything of a memory or an
    event."""
    ids = to_json(list(read.ids))
    found = [place for place, sql in _PLACES.items() if first(connection, sql, (ids,)) is not None]
    return Remains(checked=tuple(_PLACES), holding=tuple(found))


# The tables. A plan reaches what its user owns, and what a `Select` of the same plan named.


def _selected(reading: ScopeReading, read: Select) -> Selection:
    writing = within_plan(reading, read)
    writing.write_events()
    own = _owned(writing, read.user)
    if own is None:
        return Selection()
    found, partitions = select(writing.connection, own, read)
    writing.selected.update((own, *partitions))
    return found


def _left_of(reading: ScopeReading, read: LeftOf) -> Remains:
    writing = within_plan(reading, read)
    writing.transaction.flush()
    return left_of(writing.connection, read)


def _owned(writing: ScopeWriting, user: str | None) -> VisiblePartition | None:
    """Returns the partition of `user` (None: of the scope's own user). A scope with a user gets no other user's partition."""
    scope = writing.scope
    user = scope.user if user is None else user
    if scope.user not in (None, user):
        return None
    whose = Scope(org=scope.org, agent=scope.agent, user=user)
    return next((partition for partition in writing.transaction.visible(whose) if partition.user == user), None)


def _forget(writing: ScopeWriting, change: Forget) -> None:
    own = writing.own
    forget(writing.transaction, tuple(writing.selected | (set() if own is None else {own})), change)


def _forget_owner(writing: ScopeWriting, change: ForgetOwner) -> None:
    whole = _owned(writing, change.user)
    if whole is not None:
        forget_whole(writing.transaction, whole, change)


def _put_tombstones(writing: ScopeWriting, change: PutTombstones) -> None:
    put_tombstones(writing.transaction, None if change.ownerless else writing.own_id(), change)


FORGETTING_READS: Answers = {
    IdsInUse: lambda reading, read: ids_in_use(within_plan(reading, read).transaction, reading.own, read),
    Select: _selected,
    LeftOf: _left_of,
}
FORGETTING_CHANGES: Appliers = {Forget: _forget, ForgetOwner: _forget_owner, PutTombstones: _put_tombstones}
