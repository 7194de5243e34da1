"""Inventory reads: what a store answers about things of every kind: how many there are, and which may be shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal

from germane.types.inventory import AgentPage, OrgPage, Stats, Tombstone, UserPage
from germane.types.plan import Read, StoreRead
from germane.types.query import Filters


@dataclass(frozen=True, slots=True)
class AllowedIds(Read[frozenset[str]]):
    """Those of `ids` (of memories, events, archival entries, entities, relations and patterns, `<id>@<version>` of blocks,
    `<id of the first message>@outline` of lines of outlines, and `<id of the message>@<start>-<end>` of clauses) that the scope
    may see, that are valid at `at`, aren't forgotten and have an allowed sensitivity, as stored now (PACK-8). A block's version
    must be the current one; blocks and entries are private; a clause may be shown while its message may."""

    quick: ClassVar[bool] = True
    ids: Sequence[str]
    at: datetime
    filters: Filters


@dataclass(frozen=True, slots=True)
class ScopeStats(Read[Stats]):
    """Counts what the scope sees. `at` decides which memories are valid."""

    at: datetime


@dataclass(frozen=True, slots=True)
class ListUsers(Read[UserPage]):
    """A page of at most `limit` users of the scope's agent who have something stored, in the order of their first write; an
    empty page where the scope has a user. Raises `InvalidInput` for a limit below 1 or a cursor of another listing."""

    limit: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class IdsBeginning(Read[tuple[str, ...]]):
    """At most `limit` ids of germane's that begin with `prefix`, sorted."""

    prefix: str
    limit: int
    domain: Literal["memories", "events"]


@dataclass(frozen=True, slots=True)
class IdsSaidAs(Read[tuple[str, ...]]):
    """The ids of at most `limit` messages that have this id of the caller's; each session may have one."""

    message_id: str
    limit: int


@dataclass(frozen=True, slots=True)
class TombstoneOf(Read[Tombstone | None]):
    """What remains of a forgotten memory or message with this id of germane's; None where nothing does."""

    id: str


# Of the whole store: for whoever has the store itself, as no scope leads here.


@dataclass(frozen=True, slots=True)
class ListAgents(StoreRead[AgentPage]):
    """A page of at most `limit` agents of the org that have something stored, in the order of their first write. Raises
    `InvalidInput` for a limit below 1 or a cursor of another listing."""

    org: str
    limit: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ListOrgs(StoreRead[OrgPage]):
    """A page of at most `limit` orgs that have something stored, in the order of their first write. Raises `InvalidInput` for a
    limit below 1 or a cursor of another listing."""

    limit: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class OwnerOf(StoreRead[tuple[str, str | None] | None]):
    """The agent and the user (None: agent-wide) of the memory or event with this id of germane's, or of its tombstone; None
    where the org has none."""

    org: str
    id: str
