"""Archive reads: what a store answers about the archive, summaries and outlines of sessions: reads and changes (SCOPE-2).

All but `LatestLines` are bound to the part of the scope's own user, or to the agent-wide part where the scope has no user:
nothing of another user or agent is ever read or changed. No plan writes the lines of an outline: a store makes them from the
messages that it stores. When messages are forgotten, the store removes their lines or makes them anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from germane.kinds.conversations.outline import OutlineLine, OutlinePage
from germane.kinds.conversations.value import KeptEntry, KeptSummary
from germane.types.plan import Change, Read, TextOf
from germane.types.query import Filters

MAX_SUMMARIES = 1_000
"""Summaries that are kept of one session: the oldest go with the commit of newer ones."""


@dataclass(frozen=True, slots=True)
class EntriesByHandle(Read[tuple[KeptEntry, ...]]):
    """The entries with these handles whose content is as it was written, each once and in this order; of one session, or of the
    latest session that has the handle. Unknown handles are left out."""

    handles: Sequence[str]
    session: str | None = None


@dataclass(frozen=True, slots=True)
class HandlesForgotten(Read[frozenset[str]]):
    """Those of these handles whose entries were forgotten in this scope, in whatever session, also where all that the scope
    held was forgotten."""

    handles: Sequence[str]


@dataclass(frozen=True, slots=True)
class LatestSummaries(Read[tuple[KeptSummary, ...]]):
    """The last `limit` summaries of the session, oldest first."""

    session: str
    limit: int


@dataclass(frozen=True, slots=True)
class ListOutline(Read[OutlinePage]):
    """A page of the session's outline, oldest line first; the exchange that goes on is its last line. Raises `InvalidInput` for
    a limit below 1 or a cursor of another listing."""

    session: str
    limit: int
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class LatestLines(Read[tuple[OutlineLine, ...]]):
    """The last `limit` lines of the outlines of all sessions that the scope sees, agent-wide ones too, by the time of their
    first message. `filters` narrow them by session, by the times of their messages, by sensitivity and by the ids of their
    first and last message; filters for what a line doesn't have let none pass. Exchanges of one message, which says itself, and
    those that go on aren't among them."""

    limit: int
    filters: Filters


@dataclass(frozen=True, slots=True)
class HandlesKept(Read[frozenset[str]]):
    """Those of these handles that the session's archive has."""

    session: str
    handles: Sequence[str]


@dataclass(frozen=True, slots=True)
class SummariesKept(Read[tuple[KeptSummary, ...]]):
    """The session's summaries with any of these fingerprints, oldest first."""

    session: str
    fingerprints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompactionIds:
    """What a store knows of some ids of what compactions keep, entries and summaries: the scope's own, by what they are kept
    under (session, and handle or fingerprint with method), those that were forgotten, and those of somebody else."""

    own: Mapping[str, tuple[str, ...]]
    forgotten: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class CompactionIdsInUse(Read[CompactionIds]):
    """What is known of these ids."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OutlineLeft(Read[bool]):
    """Whether exchanges of the session have ended that have no line yet: they were stored by an earlier version, or too many at
    once."""

    session: str


@dataclass(frozen=True, slots=True)
class PutArchived(Change):
    """Stores an entry of the archive, unless the session's archive has its handle."""

    text_of: ClassVar[TextOf] = "its_owner"
    archived: KeptEntry


@dataclass(frozen=True, slots=True)
class PutSummary(Change):
    """Stores a summary, unless the session has one with its fingerprint and method. Beyond `MAX_SUMMARIES` the oldest go."""

    text_of: ClassVar[TextOf] = "its_owner"
    kept: KeptSummary


@dataclass(frozen=True, slots=True)
class CompleteOutline(Change):
    """Makes the lines that the session's outline lacks, of at most some hundred messages at once: `OutlineLeft` tells whether
    that was all."""

    text_of: ClassVar[TextOf] = "its_owner"
    session: str
