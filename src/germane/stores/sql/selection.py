"""Selection: what a forgetting takes along, by ids, key, tag, session or provenance, and all that goes with it.

What was made of forgotten things goes too, and the sessions of agents to whom one of the forgotten tasks was delegated.
`Select` and `Forget` both add it: a receipt names what is forgotten, and no plan can forget a text and leave what was made of
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from germane.kinds.memories.reads import Forget, Select, Selection
from germane.stores.sql.connection import Connection
from germane.stores.sql.kinds import KINDS
from germane.stores.sql.links import derived_ids, related_partitions
from germane.stores.sql.listing import VisiblePartition
from germane.stores.sql.statements import LISTED, only, rows, to_json
from germane.stores.sql.where_clauses import by_ids_alone

_Named = TypeVar("_Named", Selection, Forget)
_KINDS = tuple(kind for kind in KINDS if kind.ids)


def select(connection: Connection, partition: VisiblePartition, read: Select) -> tuple[Selection, tuple[VisiblePartition, ...]]:
    """Returns what matches all criteria given, with what goes with it, and the partitions in which this stands; nothing where
    no criterion is given."""
    given = [read.ids, read.key, read.tag, read.session, read.source_kind, read.channel, read.user]
    if not read.everything and all(one is None for one in given):
        return Selection(), ()
    matching = Selection(**{kind.ids: tuple(kind.select(connection, partition, read)) for kind in _KINDS})
    gone = read.ids if read.ids is not None and by_ids_alone(read) else ()
    found, partitions = with_consequences(connection, (partition,), matching, gone)
    things, more = found.all_ids, dict[str, Any]()
    for kind in _KINDS:
        unsaid = [id for one in partitions for id in kind.unsaid(connection, one, things)]
        if unsaid:
            more[kind.ids] = tuple(dict.fromkeys((*getattr(found, kind.ids), *unsaid)))
    return replace(found, **more), partitions


@dataclass(frozen=True, slots=True)
class _TakenAlong:
    """What was found so far, each id once, by the names of `IdsByKind`; and the partitions in which it stands."""

    connection: Connection
    owner: tuple[str, str]
    found: dict[str, dict[str, None]]
    sessions: dict[str, None]
    partitions: dict[int, VisiblePartition]

    def add(self, name: str, ids: Iterable[str]) -> list[str]:
        """Adds ids, and returns those that are new."""
        known = self.found[name]
        new = [id for id in dict.fromkeys(ids) if id not in known]
        known.update(dict.fromkeys(new))
        return new

    def made_of(self, sources: Sequence[str]) -> list[str]:
        """Adds what was made of these, whoever has it, and returns the ids that are new."""
        made, new = derived_ids(self.connection, self.owner, sources), list[str]()
        for kind in _KINDS:
            if not made or not kind.made:
                continue
            sql = f"SELECT id FROM {kind.made} WHERE id IN {LISTED} ORDER BY key"
            ids = [id for (id,) in rows(self.connection, sql, (to_json(made),))]
            for one in related_partitions(self.connection, self.owner, kind.made, ids) if ids else ():
                self.partitions.setdefault(one.id, one)
            new += self.add(kind.ids, ids)
        return new

    def following(self) -> list[str]:
        """Adds what goes with what was found, as its kind says, and returns the ids that are new."""
        return [
            id
            for kind in _KINDS
            for partition in list(self.partitions.values())
            for id in self.add(kind.ids, kind.following(self.connection, partition, self.found))
        ]

    def of_sessions(self, new: Sequence[str]) -> list[str]:
        """Adds what stands in the sessions that go as a whole with these: the user's, or agent-wide. Returns the ids that are
        new."""
        added = list[str]()
        for kind in _KINDS:
            theirs = [id for id in new if id in self.found[kind.ids]]
            for session in kind.sessions(self.connection, theirs) if theirs else ():
                if session not in self.sessions:
                    self.sessions[session] = None
                    added += self._of_session(Select(session=session))
        return added

    def _of_session(self, read: Select) -> list[str]:
        sql = "SELECT id, revision FROM partitions WHERE org = ? AND agent = ? AND user = ''"
        for id, revision in rows(self.connection, sql, self.owner):
            self.partitions.setdefault(id, VisiblePartition(id, None, revision))
        return [
            id
            for partition in list(self.partitions.values())
            for kind in _KINDS
            for id in self.add(kind.ids, kind.select(self.connection, partition, read))
        ]


def with_consequences(
    connection: Connection, partitions: Sequence[VisiblePartition], named: _Named, also: Sequence[str] = ()
) -> tuple[_Named, tuple[VisiblePartition, ...]]:
    """Returns what is `named` with all that goes with it, and the partitions in which this stands. `also` are ids that may be
    gone already: what was made of them goes too."""
    if not partitions:
        return named, ()
    owner: tuple[str, str] = only(connection, "SELECT org, agent FROM partitions WHERE id = ?", (partitions[0].id,))
    found: dict[str, dict[str, None]] = {name: dict.fromkeys(ids) for name, ids in named.by_kind().items()}
    there = {one.id: one for one in partitions}
    taken: _TakenAlong = _TakenAlong(connection, owner, found, dict.fromkeys(named.sessions), there)
    new: list[str] = [*also, *named.all_ids]
    while new:
        new = [*taken.made_of(new), *taken.following(), *taken.of_sessions(new)]
    gone = [*also, *(id for ids in found.values() for id in ids)]
    for kind in _KINDS:
        taken.add(kind.ids, kind.at_last(connection, tuple(found[kind.ids]), gone))
    more: dict[str, Any] = {name: tuple(ids) for name, ids in found.items()}
    return replace(named, **more, sessions=tuple(taken.sessions)), tuple(there.values())
