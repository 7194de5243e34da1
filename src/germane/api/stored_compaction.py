"""Stored compaction: what leaves a prompt is stored and read back before the prompt names its handle (HIST-2, 3, 5).

Nothing that the store does can fail a compaction: where the store is down, slow, full or read-only, the messages fit without
handles, and the trace has the reason. Nothing waits for the language model that writes summaries: a question is asked after
what has left was stored, and the answer is stored only as long as that is still there. What was forgotten meanwhile doesn't
come back.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from germane.api.workers.batch_writers import LLMBudget
from germane.compaction.llm_summary.covered_span import CoveredSpan, Owner, ShelvedSummary
from germane.compaction.notes import SpanSummary
from germane.compaction.plan import Compaction, CompactionPlan
from germane.compaction.render import render
from germane.compaction.strategy import Truncate
from germane.errors import InvalidInput, StoreError
from germane.kinds.conversations.reads import (
    EntriesByHandle,
    HandlesKept,
    LatestSummaries,
    PutArchived,
    PutSummary,
    SummariesKept,
)
from germane.kinds.conversations.value import ArchiveEntry, KeptEntry, KeptSummary, checksum_of, told_fingerprint, told_span
from germane.stores.contract import ScopedStore
from germane.text.secrets.detection import SecretPolicy, SecretScreen
from germane.types.limits import ARCHIVED, ID, SUMMARY_TEXT, VALUES_IN_ALL
from germane.types.nested_data import bounded
from germane.types.plan import Change, Decision, Plan, read, uuid7

if TYPE_CHECKING:
    from germane.api.workers.summaries import SummaryWorker


T = TypeVar("T")
_PORTION_CHARACTERS = 1_000_000
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
        self._store, self._session = store, session
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
        known = await self._store.ask(HandlesKept(self._session, list(entries)))
        new = [entry for handle, entry in entries.items() if handle not in known]
        if not new:
            return known
        kept = await asyncio.to_thread(self._screened, new)
        for some in _portions(kept):
            await self._store.commit(_writing(PutArchived(one) for one in some))
        found = await self._store.ask(EntriesByHandle([one.entry.handle for one in kept], self._session))
        written = {one.entry.handle: one.entry for one in kept}
        read = frozenset(one.entry.handle for one in found if _is_same_entry(one.entry, written[one.entry.handle]))
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
        kept = await self._store.ask(SummariesKept(self._session, (fingerprint,)))
        if not kept:
            new = to_keep(summary, self._session, fingerprint, secrets=self._secrets, at=self._now())
            if new is None:
                return summary
            await self._store.commit(_writing([PutSummary(new)]))
            kept = await self._store.ask(SummariesKept(self._session, (fingerprint,)))
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


def _is_same_entry(one: ArchiveEntry, other: ArchiveEntry) -> bool:
    """Whether what was read back is what was written."""
    about = (one.kind, one.provider, one.part, one.previous)
    same = about == (other.kind, other.provider, other.part, other.previous)
    return same and checksum_of(one.messages) == checksum_of(other.messages)


def _portions(kept: Sequence[KeptEntry]) -> Iterable[list[KeptEntry]]:
    """The entries in portions that are written together."""
    portion, size = list[KeptEntry](), 0
    for one in kept:
        more = _size(one.entry)
        if portion and size + more > _PORTION_CHARACTERS:
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


# What a language model wrote about one session, with what the store keeps of it (HIST-2, HIST-3).


_MAX_READ = 64
"""Stored summaries that are read, the newest: what a language model wrote about the newest move is among them."""


class SessionSummaries:
    """A `SummarySource` of the session that the store's scope names. Mutable."""

    def __init__(
        self,
        worker: SummaryWorker,
        budget: LLMBudget,
        store: ScopedStore,
        *,
        owner: Owner,
        secrets: SecretPolicy,
        now: Callable[[], datetime],
    ) -> None:
        self._worker, self._budget, self._store, self._secrets, self._now = worker, budget, store, secrets, now
        self._owner, self._session = owner, store.scope.session or ""
        self._filled = False
        self._stored = ""
        """The fingerprint of the newest summary that the store had."""

    async def fill(self, patience: float | None) -> None:
        """Gives the worker what earlier processes wrote, the first time that the store answers, and takes from it what another
        process has forgotten meanwhile. Waits at most `patience` seconds, and raises nothing of the store's."""
        with suppress(Exception):  # whatever the store does, the outline serves
            async with asyncio.timeout(patience):
                if self._stored and not await self._store.ask(SummariesKept(self._session, (self._stored,))):
                    self._worker.forget(self._owner)
                    self._filled, self._stored = False, ""
                if self._filled:
                    return
                kept = await self._store.ask(LatestSummaries(self._session, _MAX_READ))
            self._filled = True
            for one in kept:
                if one.summary.method == "llm" and (told := told_span(one.fingerprint)) is not None:
                    fingerprint, runs = told
                    lines = tuple(one.summary.text.splitlines())
                    self._worker.know(self._owner, fingerprint, ShelvedSummary(lines, runs))

    def summary(self, span: CoveredSpan) -> SpanSummary | None:
        """See `SummarySource`."""
        return self._worker.summary(span, self._owner)

    def want(self, span: CoveredSpan) -> None:
        """Does nothing yet: `ask` asks, once what has left is stored."""

    def ask(self, plan: CompactionPlan, *, stored: bool) -> None:
        """Has what the plan's conversation has left behind written about in the background. `stored` says whether the store has
        the summary that stands for it now. Returns at once."""
        if plan.span is not None:
            fingerprint = fingerprint_of(plan)
            self._stored = fingerprint if stored else self._stored
            self._worker.want(plan.span, self._owner, _Recipient(self, fingerprint))

    async def used_up(self) -> str:
        """Returns the reason if today's token budget is used up or can't be read, else ""."""
        try:
            return await self._budget.used_up()
        except StoreError as error:
            return f"what was spent today can't be read: {type(error).__name__}"

    async def spend(self, input_tokens: int, output_tokens: int) -> None:
        """Counts one question."""
        with suppress(StoreError):
            await self._budget.spend(self._store.scope, input_tokens, output_tokens)

    async def keep(self, span: CoveredSpan, lines: tuple[str, ...], beside: str) -> None:
        """Stores the sentences, if the session still has a summary with the fingerprint `beside`."""
        text = "\n".join(lines)
        summary = SpanSummary(text=text, covers=span.covers, tokens=span.count(text), method="llm", ids=span.ids)
        fingerprint = told_fingerprint(span.fingerprint, span.runs)
        kept = await asyncio.to_thread(to_keep, summary, self._session, fingerprint, secrets=self._secrets, at=self._now())
        if kept is not None:
            with suppress(StoreError):
                await self._store.commit(_keep_beside(kept, beside))


@dataclass(frozen=True, slots=True)
class _Recipient:
    """The `SummaryRecipient` of one plan. `fingerprint` is that of the summary that stood in its prompt."""

    session: SessionSummaries
    fingerprint: str

    async def used_up(self) -> str:
        return await self.session.used_up()

    async def spend(self, input_tokens: int, output_tokens: int) -> None:
        await self.session.spend(input_tokens, output_tokens)

    async def keep(self, span: CoveredSpan, lines: tuple[str, ...]) -> None:
        await self.session.keep(span, lines, self.fingerprint)


def _keep_beside(kept: KeptSummary, fingerprint: str) -> Plan[None]:
    found = yield from read(SummariesKept(kept.session, (fingerprint,)))
    return Decision((PutSummary(kept),) if found else (), None)
