"""Kept history: what a store keeps of a session's compactions: entries of the archive, and summaries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from germane.compaction.archive import ArchiveEntry
from germane.compaction.summary import SpanSummary

__all__ = ["KeptEntry", "KeptSummary", "checksum_of"]


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
    """A summary of a session as it is stored. `fingerprint` is that of the messages it covers: the summary stands for a
    conversation only where its first messages still have it. Of two summaries with one fingerprint and one method the first
    one stays. `id` is germane's own."""

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
