"""Kinds: all kinds of stored things, in the order in which an export has them, and what follows from their tables.

Each kind stands behind those that its things refer to, so that a restore finds them. A forgetting goes the other way: what a
session has beside its messages goes while these can still tell the session.
"""

from __future__ import annotations

from typing import get_args

from germane.stores.sql.blocks.block_kind import BLOCK_KIND
from germane.stores.sql.conversations.alias_rows import ALIAS_KIND
from germane.stores.sql.conversations.conversation_kind import CONVERSATION_KIND
from germane.stores.sql.events.event_kind import EVENT_KIND
from germane.stores.sql.graph.graph_kind import GRAPH_KIND
from germane.stores.sql.injections import INJECTION_KIND
from germane.stores.sql.kind import SqlKind
from germane.stores.sql.memories.conflicts import DIRECTIVE_KIND
from germane.stores.sql.memories.memory_kind import MEMORY_KIND
from germane.stores.sql.profile import PROFILE_KIND
from germane.stores.sql.statements import Row, from_sql, moment
from germane.stores.sql.tasks.task_kind import TASK_KIND
from germane.types.inventory import StoredKind, Tombstone, TombstoneKind

KINDS: tuple[SqlKind, ...] = (
    DIRECTIVE_KIND,
    MEMORY_KIND,
    BLOCK_KIND,
    EVENT_KIND,
    GRAPH_KIND,
    TASK_KIND,
    CONVERSATION_KIND,
    PROFILE_KIND,
    INJECTION_KIND,
    ALIAS_KIND,
)
TABLES = tuple(table for kind in KINDS for table in kind.tables)
WITH_IDS: dict[str, StoredKind] = {table.name: table.what for table in TABLES if table.what is not None}
"""What a row with an id is, by its table."""
TOMBSTONE_KINDS: dict[str, TombstoneKind] = {
    table.name: what for table in TABLES if table.buried for what in get_args(TombstoneKind) if what == table.what
}
"""What a tombstone stands for, by the domain in its row."""


def tombstone_of(row: Row) -> Tombstone:
    """Returns the tombstone in a row of `id, what, at, by, reason`."""
    id, what, at, by, reason = row
    return Tombstone(id=id, what=TOMBSTONE_KINDS[what], at=moment(at), by=from_sql(by), reason=from_sql(reason))
