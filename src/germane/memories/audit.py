"""Audit: finds what deserves a look among the memories of one owner: duplicates, secrets, contradictions, what is unused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal, get_args

from germane.memories.consolidation.steps import same_as
from germane.memories.link import Contradiction
from germane.memories.memory import Memory
from germane.text.secrets.find import find_secrets

__all__ = ["AUDIT_KINDS", "Audit", "AuditFinding", "AuditKind", "MemoryAudit", "secret_finding"]

AuditKind = Literal["duplicate", "near_duplicate", "contradiction", "secret", "never_retrieved", "stale", "expired"]
AUDIT_KINDS: tuple[AuditKind, ...] = get_args(AuditKind)


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """`ids` are the memories (or, for a secret, the message) that it is about; `detail` names no content: the kinds of secrets,
    the reason of a contradiction, since when something is stale or expired."""

    kind: AuditKind
    ids: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """`memories` and `messages` were examined. `counts` has the number of findings of each kind; `findings` holds at most so
    many of each as were asked for."""

    memories: int
    messages: int
    counts: dict[AuditKind, int] = field(hash=False)
    findings: tuple[AuditFinding, ...] = ()

    @property
    def clean(self) -> bool:
        return not any(self.counts.values())


class MemoryAudit:
    """Looks at the memories of one owner, page by page. A memory that was never retrieved counts when it is older than
    `unused`. Contradictions are added once, with `add`."""

    def __init__(self, *, now: datetime, unused: timedelta, limit: int) -> None:
        self._now, self._unused, self._limit = now, unused, limit
        self._same: dict[tuple[object, ...], list[str]] = {}
        self._near: set[frozenset[str]] = set()
        self.memories = 0
        self.counts: dict[AuditKind, int] = dict.fromkeys(AUDIT_KINDS, 0)
        self._found: dict[AuditKind, list[AuditFinding]] = {kind: [] for kind in AUDIT_KINDS}

    def add(self, finding: AuditFinding) -> None:
        self.counts[finding.kind] += 1
        if len(some := self._found[finding.kind]) < self._limit:
            some.append(finding)

    def look(self, memory: Memory) -> None:
        """Examines one memory. Ended memories are history: only secrets and what has expired count there."""
        self.memories += 1
        if found := secret_finding(memory.id, memory.text):
            self.add(found)
        if memory.expires_at is not None and memory.expires_at <= self._now:
            self.add(AuditFinding("expired", (memory.id,), f"since {memory.expires_at.isoformat(timespec='seconds')}"))
        if memory.holds(self._now):
            for finding in self._valid(memory):
                self.add(finding)

    def contradict(self, contradictions: Sequence[Contradiction]) -> None:
        for one in contradictions:
            self.add(AuditFinding("contradiction", (one.older.id, one.newer.id), one.reason))

    def findings(self) -> tuple[AuditFinding, ...]:
        """The findings, kind by kind; call it once, after the last memory."""
        for ids in self._same.values():
            if len(ids) > 1:
                self.add(AuditFinding("duplicate", tuple(ids)))
        return tuple(finding for kind in AUDIT_KINDS for finding in self._found[kind])

    def _valid(self, memory: Memory) -> Iterator[AuditFinding]:
        self._same.setdefault(same_as(memory), []).append(memory.id)
        for other in memory.near_duplicates:
            if (pair := frozenset((memory.id, other))) not in self._near:
                self._near.add(pair)
                yield AuditFinding("near_duplicate", tuple(sorted(pair)))
        if memory.stale_since is not None:
            yield AuditFinding("stale", (memory.id,), f"since {memory.stale_since.isoformat(timespec='seconds')}")
        if not memory.retrieval_count and not memory.pinned and memory.created_at <= self._now - self._unused:
            yield AuditFinding("never_retrieved", (memory.id,), f"stored {memory.created_at.date().isoformat()}")


def secret_finding(id: str, text: str) -> AuditFinding | None:
    """Returns a finding where the text holds secrets, with their kinds and not the secrets."""
    kinds = sorted({one.kind for one in find_secrets(text)})
    return AuditFinding("secret", (id,), ", ".join(kinds)) if kinds else None
