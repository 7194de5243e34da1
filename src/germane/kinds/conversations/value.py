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
from typing import Any, Literal, Protocol

from germane.compaction.llm_summary.covered_span import Runs
from germane.compaction.notes import SpanSummary

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
