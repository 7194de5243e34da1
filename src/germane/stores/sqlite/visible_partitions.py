"""Visible partitions: the partitions that a scope can reach; each statement of a scoped store is bound to them."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from germane.stores.sqlite.rows import first, rows
from germane.types.scope import Scope

__all__ = [
    "FORGOTTEN_ORG",
    "IN_VISIBLE",
    "VisiblePartition",
    "in_clause",
    "is_forgotten",
    "owners",
    "visible_ids",
    "visible_partitions",
]

FORGOTTEN_ORG = ""
"""The org of a partition that was forgotten as a whole; no scope has this org."""

IN_VISIBLE = "(?, ?)"
"""The ids of visible partitions for an SQL `IN`, to which `visible_ids` is bound. The text of such a statement is the same for
all users, so that a connection prepares it once: preparing it anew for each user took a fifteenth of an assembly."""

_SQL = "SELECT id, user, revision FROM partitions WHERE org = ? AND agent = ? AND user IN (?, ?)"
_NOBODY = 0
"""No partition has this id."""


class VisiblePartition(NamedTuple):
    """One partition: the rows of one user with one agent (`user` None: agent-wide). `revision` is that of its last change."""

    id: int
    user: str | None
    revision: int


def visible_partitions(connection: apsw.Connection, scope: Scope) -> tuple[VisiblePartition, ...]:
    """Returns the partitions that the scope sees: the agent-wide one, then its user's. A partition doesn't exist before its
    first write."""
    found = rows(connection, _SQL, (scope.org, scope.agent, "", scope.user or ""))
    seen = [VisiblePartition(id, user or None, revision) for id, user, revision in found]
    return tuple(sorted(seen, key=lambda partition: partition.user is not None))


def is_forgotten(connection: apsw.Connection, partition: int) -> bool:
    """Whether this partition was forgotten as a whole, so that no scope can reach it."""
    return first(connection, "SELECT 1 FROM partitions WHERE id = ? AND org <> ?", (partition, FORGOTTEN_ORG)) is None


def owners(visible: tuple[VisiblePartition, ...]) -> dict[int, str | None]:
    """Returns each partition's user by the partition's id; None for the agent-wide partition."""
    return {partition.id: partition.user for partition in visible}


def visible_ids(visible: tuple[VisiblePartition, ...]) -> tuple[int, int]:
    """Returns the values for `IN_VISIBLE`. A scope sees two partitions at most."""
    ids = [partition.id for partition in visible] or [_NOBODY]
    return ids[0], ids[-1]


def in_clause(visible: tuple[VisiblePartition, ...]) -> str:
    """Returns the ids of any number of partitions for an SQL `IN` of a statement that isn't part of each assembly. They are
    integers from the file, never a caller's text."""
    return f"({','.join(str(int(partition.id)) for partition in visible)})"
