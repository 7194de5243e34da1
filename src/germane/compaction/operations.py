"""History operations: the reads and changes of plans about archive, summaries and outlines, which every store must support.

A store runs them within the scope's own user's part (agent-wide where it has no user): nothing of another user or agent is ever
read or changed. The lines of outlines are no change of any plan: a store makes them from the messages that it stores, and
removes or makes them anew with those that are forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from germane.compaction.kept_history import KeptEntry, KeptSummary
from germane.types.plan import Change, Read, TextOf

__all__ = [
    "MAX_SUMMARIES",
    "CompleteOutline",
    "HandlesKept",
    "HistoryIds",
    "HistoryIdsInUse",
    "OutlineLeft",
    "PutArchived",
    "PutSummary",
    "SummariesKept",
]

MAX_SUMMARIES = 1_000
"""Summaries that are kept of one session: the oldest go with the commit of newer ones."""


@dataclass(frozen=True, slots=True)
class HandlesKept(Read[frozenset[str]]):
    """Those of these handles that the session's archive has."""

    session: str
    handles: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SummariesKept(Read[tuple[KeptSummary, ...]]):
    """The session's summaries with any of these fingerprints, oldest first."""

    session: str
    fingerprints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HistoryIds:
    """What a store knows of some ids of entries and summaries: the scope's own, by what they are kept under (session, and
    handle or fingerprint with method), those that were forgotten, and those of somebody else."""

    own: Mapping[str, tuple[str, ...]]
    forgotten: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HistoryIdsInUse(Read[HistoryIds]):
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
