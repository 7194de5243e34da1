"""Forgetting: what a forgetting takes along and its receipt, and the audit of what was done to a memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from germane.errors import InvalidInput
from germane.kinds.memories.conflicts import Contradiction
from germane.kinds.memories.consolidation import same_as
from germane.kinds.memories.fields import SOURCE_KINDS, label
from germane.kinds.memories.reads import ForgetOwner, LeftOf, Select
from germane.kinds.memories.upkeep import AUDIT_KINDS, AuditFinding, AuditKind
from germane.kinds.memories.value import Memory, Receipt
from germane.text.secrets.detection import find_secrets
from germane.types.checks import check_one_of, check_type
from germane.types.plan import Change, Decision, Plan, read
from germane.types.scope import Scope


def left_of(receipt: Receipt) -> Plan[Receipt]:
    """Looks for what is left of what was forgotten; the outcome is the receipt with the places in which nothing is. Where
    something is left, it waits for these places."""
    found = yield from read(LeftOf(receipt.all_ids))
    waiting = f"{', '.join(found.holding)}, which still have something of it: a fault of germane's" if found.holding else ""
    clean = tuple(place for place in found.checked if place not in found.holding)
    return Decision((), replace(receipt, checked=clean, waiting_for=waiting))


def forget(
    *,
    ids: Sequence[str] | None = None,
    key: str | None = None,
    tag: str | None = None,
    session: str | None = None,
    source_kind: str | None = None,
    channel: str | None = None,
    user: str | None = None,
    everything: bool = False,
    dry_run: bool = False,
    scope: Scope,
    at: datetime,
    by: str = "",
    reason: str = "",
) -> Plan[Receipt]:
    """Forgets the memories and messages that match every criterion given; the outcome says which ones. With `dry_run` nothing
    is written. `ids` are germane's ids, also of blocks, archival entries, entities, relations, patterns and tasks (with all
    below them), or the caller's
    message ids; an empty list selects nothing. `session`, `source_kind` and `channel` are those of the provenance.

    `everything`, or `user` as the only criterion, also removes the directive, the sessions, and the owner's name.

    `by` and `reason` are kept in the tombstone, so they must not hold what is being forgotten. Raises `InvalidInput` where no
    criterion is given, where a criterion is blank, and where the scope of a user names another user.
    """
    named = {"key": key, "tag": tag, "session": session, "source_kind": source_kind, "channel": channel, "user": user}
    if ids is None and not everything and all(value is None for value in named.values()):
        raise InvalidInput(
            "what to forget? Give ids, key, tag, session, source_kind, channel or user, or everything=True for all here"
        )
    if source_kind is not None:
        check_one_of("source_kind", source_kind, SOURCE_KINDS)
    for name, value in (named | {"by": by or "-", "reason": reason or "-"}).items():
        if value is not None and not check_type(name, value, str, "a string").strip():
            raise InvalidInput("is blank", path=name, advice="give one, or leave it out")
    if everything and (ids is not None or any(value is not None for name, value in named.items() if name != "user")):
        raise InvalidInput("goes with no other criterion but user", path="everything", advice="leave one of them out")
    if user is not None and scope.user is not None and user != scope.user:
        raise InvalidInput("a user's scope forgets only its own", advice="open the agent without a user to forget another's")
    wanted = None if ids is None else tuple(dict.fromkeys((ids,) if isinstance(ids, str) else ids))
    if wanted == ():
        return Decision((), Receipt(dry_run=dry_run))
    found = yield from read(
        Select(
            ids=wanted,
            key=None if key is None else label("key", key),
            tag=None if tag is None else label("tag", tag),
            session=session,
            source_kind=source_kind,
            channel=channel,
            user=user,
            everything=everything,
        )
    )
    receipt = Receipt(**found.by_kind(), dry_run=dry_run)
    given = {name for name, value in named.items() if value is not None}
    whole = everything or (ids is None and given == {"user"})
    ended = (session,) if session is not None and ids is None and given <= {"session", "user"} else ()
    if dry_run or not (receipt or whole or ended):
        return Decision((), receipt)
    gone: Change = replace(found, sessions=(*found.sessions, *ended)).forgetting(at=at, by=by, reason=reason)
    if whole:
        gone = ForgetOwner(user=user, at=at, by=by, reason=reason)
    return Decision((gone,), receipt)


# Audit: finds what deserves a look among the memories of one owner: duplicates, secrets, contradictions, what is
# unused.


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
        """Examines one memory. Of ended memories only secrets and what has expired count there."""
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
