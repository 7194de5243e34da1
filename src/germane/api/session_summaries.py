"""Session summaries: what a language model wrote about one session, with what the store keeps of it (HIST-2, HIST-3).

Nothing here waits for the language model. A question is asked after what has left was stored, and the answer is stored only as
long as that is still there: what was forgotten meanwhile doesn't come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from germane.api.llm_budget import LLMBudget
from germane.api.stored_compaction import fingerprint_of, to_keep
from germane.compaction.kept_history import KeptSummary, told_fingerprint, told_span
from germane.compaction.llm_summary.covered_span import CoveredSpan
from germane.compaction.llm_summary.summary_shelf import Owner, ShelvedSummary
from germane.compaction.operations import PutSummary, SummariesKept
from germane.compaction.plan import CompactionPlan
from germane.compaction.summary import SpanSummary
from germane.errors import StoreError
from germane.store import ScopedStore
from germane.text.secrets.screen import SecretPolicy
from germane.types.plan import Decision, Plan, read

if TYPE_CHECKING:
    from germane.api.summary_worker import SummaryWorker

__all__ = ["SessionSummaries"]

_READ = 64
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
                if self._stored and not await self._store.history.summaries_of(self._session, self._stored):
                    self._worker.forget(self._owner)
                    self._filled, self._stored = False, ""
                if self._filled:
                    return
                kept = await self._store.history.summaries(self._session, _READ)
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
        """Returns why nothing may be asked now, "" where something may."""
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
                await self._store.journal.commit(_beside(kept, beside))


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


def _beside(kept: KeptSummary, fingerprint: str) -> Plan[None]:
    found = yield from read(SummariesKept(kept.session, (fingerprint,)))
    return Decision((PutSummary(kept),) if found else (), None)
