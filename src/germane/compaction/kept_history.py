"""Kept history: what a store keeps of a session's compactions: entries of the archive, and summaries."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from germane.compaction.archive import ArchiveEntry
from germane.compaction.llm_summary.covered_span import Runs
from germane.compaction.summary import SpanSummary

__all__ = ["KeptEntry", "KeptSummary", "checksum_of", "told_fingerprint", "told_span"]

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
