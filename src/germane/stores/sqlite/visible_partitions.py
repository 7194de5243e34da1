"""Visible partitions: which partitions of the file a scope may touch. Every statement of a scoped store is bound to them."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from germane.stores.sqlite.rows import first, rows
from germane.types.scope import Scope

__all__ = ["FORGOTTEN_ORG", "VisiblePartition", "in_clause", "is_forgotten", "owners", "visible_partitions"]

FORGOTTEN_ORG = ""
"""The org of a partition of which everything was forgotten; no scope has it."""

_SQL = "SELECT id, user, revision FROM partitions WHERE org = ? AND agent = ? AND user IN (?, ?)"


class VisiblePartition(NamedTuple):
    """One partition: `user` is None where it is agent-wide, `revision` that of its last change."""

    id: int
    user: str | None
    revision: int


def visible_partitions(connection: apsw.Connection, scope: Scope) -> tuple[VisiblePartition, ...]:
    """What the scope sees, agent-wide first. A partition nothing was ever written to doesn't exist."""
    found = rows(connection, _SQL, (scope.org, scope.agent, "", scope.user or ""))
    seen = [VisiblePartition(id, user or None, revision) for id, user, revision in found]
    return tuple(sorted(seen, key=lambda partition: partition.user is not None))


def is_forgotten(connection: apsw.Connection, partition: int) -> bool:
    """Whether no scope can reach this partition any more."""
    return first(connection, "SELECT 1 FROM partitions WHERE id = ? AND org <> ?", (partition, FORGOTTEN_ORG)) is None


def owners(visible: tuple[VisiblePartition, ...]) -> dict[int, str | None]:
    """Returns each partition's user by the partition's id; None for the agent-wide partition."""
    return {partition.id: partition.user for partition in visible}


def in_clause(visible: tuple[VisiblePartition, ...]) -> str:
    """The ids for an SQL `IN`. They are integers from the file itself, never a caller's text."""
    return f"({','.join(str(int(partition.id)) for partition in visible)})"
