"""Forget following: all that goes with what is forgotten, as it was made of it: memories, tasks, and the sessions of agents to
whom one of the tasks was delegated.

`Select` and `Forget` both follow, so a receipt names what goes, and no plan can forget a text and leave what was made of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import apsw

from germane.memories.operations import Forget, Select, Selection
from germane.stores.sqlite.derivations import derived_ids, related_partitions
from germane.stores.sqlite.encoding import LISTED, shown, to_json
from germane.stores.sqlite.history_forgetting import history_of_events, selected_history
from germane.stores.sqlite.rows import only, rows
from germane.stores.sqlite.task_forgetting import selected_tasks
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.stores.sqlite.waiting import behind_named

__all__ = ["followed"]

_Named = TypeVar("_Named", Selection, Forget)
_TABLES = {"memory_ids": "memories", "event_ids": "events", "task_ids": "tasks"}
_IN_SESSION = {
    "memory_ids": "SELECT id FROM memories WHERE partition = ? AND session = ? ORDER BY key",
    "event_ids": (
        "SELECT e.id FROM sessions s CROSS JOIN events e ON e.session = s.key WHERE s.partition = ? AND s.id = ? ORDER BY e.key"
    ),
}
_DELEGATED = f"SELECT DISTINCT child_session FROM tasks WHERE id IN {LISTED} AND child_session IS NOT NULL"


@dataclass(frozen=True, slots=True)
class _Following:
    """What was found so far, each id once, by the names of `Selection`."""

    connection: apsw.Connection
    owner: tuple[str, str]
    found: dict[str, dict[str, None]]
    partitions: dict[int, VisiblePartition]

    def add(self, name: str, ids: Sequence[str]) -> list[str]:
        """Adds ids, and returns those that are new."""
        known = self.found[name]
        new = [id for id in dict.fromkeys(ids) if id not in known]
        known.update(dict.fromkeys(new))
        return new

    def derived(self, sources: Sequence[str]) -> list[str]:
        """Adds what was made of these, and returns the ids that are new."""
        made, new = derived_ids(self.connection, self.owner, sources), list[str]()
        for name, table in _TABLES.items():
            sql = f"SELECT id FROM {table} WHERE id IN {LISTED} ORDER BY key"
            ids = [id for (id,) in rows(self.connection, sql, (to_json(made),))] if made else []
            for one in related_partitions(self.connection, self.owner, table, ids) if ids else ():
                self.partitions.setdefault(one.id, one)
            new += self.add(name, ids)
        below = Select(ids=tuple(self.found["task_ids"]))
        for partition in list(self.partitions.values()) if below.ids else ():
            new += self.add("task_ids", selected_tasks(self.connection, partition, below))
        return new

    def delegated(self, tasks: Sequence[str]) -> list[str]:
        """Adds what stands in the sessions of agents to whom these were delegated: the user's, or agent-wide. Returns the ids
        that are new."""
        sessions = [shown(session) for (session,) in rows(self.connection, _DELEGATED, (to_json(list(tasks)),))]
        new = list[str]()
        for session in self.add("sessions", sessions):
            for partition in self._where():
                asked, read = (partition.id, session), Select(session=session)
                for name, sql in _IN_SESSION.items():
                    new += self.add(name, [id for (id,) in rows(self.connection, sql, asked)])
                new += self.add("task_ids", selected_tasks(self.connection, partition, read))
                self.add("history_ids", selected_history(self.connection, partition, read, ()))
        return new

    def _where(self) -> list[VisiblePartition]:
        sql = "SELECT id, revision FROM partitions WHERE org = ? AND agent = ? AND user = ''"
        for id, revision in rows(self.connection, sql, self.owner):
            self.partitions.setdefault(id, VisiblePartition(id, None, revision))
        return list(self.partitions.values())


def followed(
    connection: apsw.Connection, partitions: Sequence[VisiblePartition], named: _Named, also: Sequence[str] = ()
) -> tuple[_Named, tuple[VisiblePartition, ...]]:
    """Returns what is `named` with all that goes with it, and the partitions in which this stands. `also` are ids that may be
    gone already: what was made of them goes too."""
    if not partitions:
        return named, ()
    owner: tuple[str, str] = only(connection, "SELECT org, agent FROM partitions WHERE id = ?", (partitions[0].id,))
    names: tuple[str, ...] = ("memory_ids", "event_ids", "task_ids", "history_ids", "sessions")
    found: dict[str, dict[str, None]] = {name: dict.fromkeys(getattr(named, name)) for name in names}
    following = _Following(connection, owner, found, {one.id: one for one in partitions})
    before = {name: len(found[name]) for name in names}
    new = [*also, *named.block_ids, *named.graph_ids, *(id for name in names[:4] for id in found[name])]
    tasks = list(named.task_ids)
    while new or tasks:
        known = set(found["task_ids"])
        new = following.derived(new) if new else []
        tasks += [id for id in found["task_ids"] if id not in known]
        known = set(found["task_ids"])
        new = following.delegated(tasks) if tasks else []
        tasks = [id for id in found["task_ids"] if id not in known]
    gone = [*also, *named.block_ids, *named.graph_ids, *(id for name in names[:4] for id in found[name])]
    following.add("memory_ids", behind_named(connection, found["memory_ids"], gone))
    for partition in list(following.partitions.values()):
        events = history_of_events(connection, partition, tuple(found["event_ids"]))
        following.add("history_ids", events)
    if all(len(found[name]) == before[name] for name in names):
        return named, tuple(following.partitions.values())
    more: dict[str, Any] = {name: tuple(ids) for name, ids in found.items()}
    return replace(named, **more), tuple(following.partitions.values())
