"""Archive values: an entry of an archive, its handle, the protocol of an archive, and what a store keeps.

An entry holds messages that a compaction took out of a prompt. Its handle brings them back. A store keeps entries and
summaries for each session.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol

from germane.compaction.llm_summary.covered_span import Runs
from germane.compaction.notes import SpanSummary
from germane.kinds.archive.outline import OutlineLine, OutlinePage
from germane.types.plan import Change, Read, TextOf
from germane.types.query import Filters

EntryKind = Literal["output", "span"]
_DIGITS = 12
_MARK = '"cache_control"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """What was taken out of a conversation. An `output` is the message that holds one masked result, whose number among the
    message's results is `part`; a `span` holds whole messages. `messages` are JSON: the provider's own dicts. `previous` is the
    handle of the span before this one, "" for the first."""

    handle: str
    kind: EntryKind
    provider: str
    title: str
    messages: tuple[Mapping[str, Any], ...]
    previous: str = ""
    part: int = 0


def handle_of(kind: EntryKind, messages: Sequence[Mapping[str, Any]], previous: str = "", part: int = 0) -> str:
    """Returns the handle: `h` and 12 hexadecimal digits of the SHA-256 of the content, so that the same content always has the
    same handle, and an entry can be written twice without harm. Anthropic's cache marks aren't content: callers move them."""
    written = _as_text([kind, previous, part, *messages])
    if _MARK in written:
        written = _as_text([kind, previous, part, *map(_unmarked, messages)])
    return f"h{hashlib.sha256(written.encode()).hexdigest()[:_DIGITS]}"


def _as_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=str)


def _unmarked(value: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the message or block without its cache mark and those of the blocks in it."""
    left = {key: item for key, item in value.items() if key != _MARK.strip('"')}
    if isinstance(blocks := left.get("content"), list):
        left["content"] = [_unmarked(block) if isinstance(block, Mapping) else block for block in blocks]
    return left


class Archive(Protocol):
    """Keeps entries by handle. A handle is written into a prompt only after its entry was read back (HIST-5)."""

    def put(self, entries: Iterable[ArchiveEntry]) -> None:
        """Keeps the entries. Idempotent. May raise anything: the compaction then goes on without handles."""

    def get(self, handle: str) -> ArchiveEntry | None:
        """Returns the entry; None where there is none."""


# What a store keeps of a session's compactions: entries, and summaries under the fingerprint of the messages they
# cover.


_RUN = re.compile(r"([0-9]{1,9})-([0-9]{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptEntry:
    """An entry of the archive as it is stored. `entry.messages` are those of the prompt after the policy on secrets was applied
    to them; the handle is that of the messages as they were sent. `id` is germane's own."""

    id: str
    session: str
    entry: ArchiveEntry
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSummary:
    """A summary of a session as it is stored: what stood in a prompt, or the sentences of a language model that the next ones
    are made of (`told_fingerprint`). `fingerprint` is that of the messages it covers: the summary stands for a conversation
    only where its first messages still have it. Of two summaries with one fingerprint and one method the first one stays. `id`
    is germane's own."""

    id: str
    session: str
    summary: SpanSummary
    fingerprint: str
    created_at: datetime


def checksum_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """Returns 16 hexadecimal digits of the SHA-256 of the messages, which tell whether they are read back as they were
    written."""
    written = json.dumps(list(messages), ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()[:16]


def told_fingerprint(fingerprint: str, runs: Runs) -> str:
    """Returns the fingerprint under which a language model's sentences about a span are kept: the span's, and the messages that
    they stand for, such as `h0a1b2c3d4e5f 1-40 44-52` (the end exclusive)."""
    return " ".join((fingerprint, *(f"{start}-{end}" for start, end in runs)))


def told_span(fingerprint: str) -> tuple[str, Runs] | None:
    """Returns the span's fingerprint and the messages of a `told_fingerprint`; None for any other."""
    name, *given = fingerprint.split(" ")
    found = [_RUN.fullmatch(run) for run in given]
    runs = tuple((int(run[1]), int(run[2])) for run in found if run is not None)
    edges = [edge for run in runs for edge in run]
    ordered = all(one < other for one, other in pairwise(edges))
    return (name, runs) if name and runs and len(runs) == len(given) and ordered else None


# Archive reads: the reads and changes about archive, summaries and outlines. All but `LatestLines` are bound to the part of
# the scope's own user, or to the agent-wide part where the scope has no user: nothing of another user or agent is ever read
# or changed. No plan writes the lines of an outline: a store makes them from the messages that it stores. When messages are
# forgotten, the store removes their lines or makes them anew.


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
