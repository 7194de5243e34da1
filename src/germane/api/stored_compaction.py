"""Stored compaction: what leaves a prompt is written to the store and read back before the prompt names its handle (HIST-5).

Nothing that the store does can fail a compaction: where it is down, slow, full or read-only, the messages fit without handles,
and the trace has the reason.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from germane.compaction.archive import ArchiveEntry
from germane.compaction.compaction import Compaction
from germane.compaction.kept_history import KeptEntry, KeptSummary, checksum_of
from germane.compaction.operations import PutArchived, PutSummary
from germane.compaction.plan import CompactionPlan
from germane.compaction.render import render
from germane.compaction.strategy import Truncate
from germane.compaction.summary import SpanSummary
from germane.errors import InvalidInput
from germane.store import ScopedStore
from germane.text.secrets.screen import SecretPolicy, SecretScreen
from germane.types.extent import bounded
from germane.types.ids import uuid7
from germane.types.limits import ARCHIVED, ID, SUMMARY_TEXT, VALUES_IN_ALL
from germane.types.plan import Change, Decision, Plan

__all__ = ["StoredCompaction", "fingerprint_of", "to_keep"]

T = TypeVar("T")
_TOGETHER = 1_000_000
"""Characters that are written in one transaction: about 10 ms of the writer. A larger entry is written alone."""


class StoredCompaction:
    """One compaction in a session. `deadline` are the seconds that the store may take; None waits for it. `reasons` go into
    the trace."""

    def __init__(
        self,
        store: ScopedStore,
        session: str,
        *,
        secrets: SecretPolicy,
        now: Callable[[], datetime],
        deadline: float | None,
        reasons: Iterable[str] = (),
    ) -> None:
        self._history, self._journal, self._session = store.history, store.journal, session
        self._secrets, self._now, self._deadline = secrets, now, deadline
        self._reasons = list(reasons)
        """Why something isn't kept, or isn't named."""
        self.stored = False
        """Whether the store has a summary of what has left."""

    async def keep(self, plan: CompactionPlan) -> Compaction:
        """Returns the messages that fit. Raises nothing of the store's."""
        if not plan.entries and plan.summary is None:
            return await asyncio.to_thread(render, plan, (), self._reasons)
        loop = asyncio.get_running_loop()
        until = None if self._deadline is None else loop.time() + self._deadline
        handles = await self._within(until, self._archived(plan.entries), "the archive", frozenset[str]())
        made = await asyncio.to_thread(render, plan, handles, self._reasons)
        if plan.summary is None or not plan.state.left:
            return made
        summary = await self._within(until, self._summarised(plan, plan.summary), "the summaries", plan.summary)
        if summary != plan.summary or len(made.trace.reasons) < len(self._reasons):
            other = await asyncio.to_thread(render, replace(plan, summary=summary, draft=None), handles, self._reasons)
            made = other if other.fits or not made.fits else made
        return made

    async def _within(self, until: float | None, work: Awaitable[T], what: str, otherwise: T) -> T:
        """The result of `work`; `otherwise` where it fails or isn't there by then."""
        try:
            async with asyncio.timeout_at(until):
                return await work
        except TimeoutError:
            self._reasons.append(f"{what} didn't answer within {self._deadline:g} seconds")
        except Exception as error:  # whatever the store does, the caller gets a prompt that fits
            self._reasons.append(f"{what} can't be used: {type(error).__name__}")
        return otherwise

    async def _archived(self, entries: Mapping[str, ArchiveEntry]) -> frozenset[str]:
        """Writes the entries that the session's archive lacks, and reads them back. Returns the handles that may be named."""
        known = await self._history.handles(self._session, list(entries))
        new = [entry for handle, entry in entries.items() if handle not in known]
        if not new:
            return known
        kept = await asyncio.to_thread(self._screened, new)
        for some in _portions(kept):
            await self._journal.commit(_writing(PutArchived(one) for one in some))
        found = await self._history.archived([one.entry.handle for one in kept], self._session)
        written = {one.entry.handle: one.entry for one in kept}
        read = frozenset(one.entry.handle for one in found if _same(one.entry, written[one.entry.handle]))
        if lost := len(kept) - len(read):
            self._reasons.append(f"{lost} of {len(kept)} archived entries can't be read back: their handles aren't named")
        return known | read

    def _screened(self, entries: Sequence[ArchiveEntry]) -> list[KeptEntry]:
        """The entries as they are stored: what recording would redact is redacted. Entries that are too large are left out, and
        those with a secret where the policy refuses it."""
        kept, left_out = list[KeptEntry](), Counter[str]()
        for entry in entries:
            if _size(entry) > ARCHIVED.maximum:
                left_out["are too large to be stored"] += 1
                continue
            screen = SecretScreen(self._secrets, "a message")
            try:
                messages = screen.json(list(entry.messages))
                messages = screen.again(messages) if screen.found else messages
                stored = replace(entry, messages=tuple(messages), title=screen.text(entry.title))
            except InvalidInput:
                left_out["hold a secret, which isn't to be stored"] += 1
                continue
            at = self._now()
            kept.append(KeptEntry(id=uuid7(int(at.timestamp() * 1000)), session=self._session, entry=stored, created_at=at))
        self._reasons += [f"{count} of {len(entries)} entries {why}" for why, count in left_out.items()]
        return kept

    async def _summarised(self, plan: CompactionPlan, summary: SpanSummary) -> SpanSummary:
        """Returns the summary that the session has for what left: of two compactions at once both get the first one."""
        fingerprint = fingerprint_of(plan)
        kept = await self._history.summaries_of(self._session, fingerprint)
        if not kept:
            new = to_keep(summary, self._session, fingerprint, secrets=self._secrets, at=self._now())
            if new is None:
                return summary
            await self._journal.commit(_writing([PutSummary(new)]))
            kept = await self._history.summaries_of(self._session, fingerprint)
        self.stored = bool(kept)
        first = kept[0].summary if kept else summary
        return replace(first, covers=summary.covers, ids=summary.ids, tokens=plan.terms.measure.count(first.text))


def to_keep(summary: SpanSummary, session: str, fingerprint: str, *, secrets: SecretPolicy, at: datetime) -> KeptSummary | None:
    """Returns the summary as it is stored: without secrets, unless the policy keeps them; None where it is too long."""
    text = SecretScreen("redact" if secrets == "refuse" else secrets, "a summary").text(summary.text)
    if len(text) > SUMMARY_TEXT.maximum or len(fingerprint) > ID.maximum:
        return None
    id = uuid7(int(at.timestamp() * 1000))
    return KeptSummary(id=id, session=session, summary=replace(summary, text=text), fingerprint=fingerprint, created_at=at)


def fingerprint_of(plan: CompactionPlan) -> str:
    """Returns what names all that the plan's summary stands for: the handle of its newest span, which depends on every span
    before it, and what stays of them; with `Truncate`, whose summary holds nothing but demands, another name."""
    name = f"{plan.handle}-demands" if isinstance(plan.terms.strategy, Truncate) else plan.handle
    if not plan.state.kept:
        return name
    kept = json.dumps([list(span) for span in plan.state.kept])
    return f"{name}-{hashlib.sha256(kept.encode()).hexdigest()[:12]}"


def _same(one: ArchiveEntry, other: ArchiveEntry) -> bool:
    """Whether what was read back is what was written."""
    about = (one.kind, one.provider, one.part, one.previous)
    same = about == (other.kind, other.provider, other.part, other.previous)
    return same and checksum_of(one.messages) == checksum_of(other.messages)


def _portions(kept: Sequence[KeptEntry]) -> Iterable[list[KeptEntry]]:
    """The entries in portions that are written together."""
    portion, size = list[KeptEntry](), 0
    for one in kept:
        more = _size(one.entry)
        if portion and size + more > _TOGETHER:
            yield portion
            portion, size = [], 0
        portion.append(one)
        size += more
    if portion:
        yield portion


def _size(entry: ArchiveEntry) -> int:
    """The characters of an entry's messages; more than any limit where they hold too many values."""
    try:
        return bounded("messages", entry.messages, VALUES_IN_ALL)[1]
    except InvalidInput:
        return ARCHIVED.maximum + 1


def _writing(changes: Iterable[Change]) -> Plan[None]:
    yield from ()
    return Decision(tuple(changes), None)
