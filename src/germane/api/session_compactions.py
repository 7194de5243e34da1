"""Session compactions: compacts the conversations of stored sessions, and keeps the work on each for its next request.

The one way for `agent.conversations`, `assemble` and the builder: a conversation that goes on is read and counted only where it
is new, what leaves is kept in the store, and a language model, where one is configured, writes about it in the background.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from germane.api.workers.threads import OrgTurns
from germane.kinds.conversations.reads import HandlesForgotten, HandlesKept
from germane.types.caches import LruCache
from germane.types.message import leading_system

if TYPE_CHECKING:
    from germane.api.stored_compaction import SessionSummaries
    from germane.api.workers.batch_writers import LLMBudget
    from germane.api.workers.summaries import SummaryWorker
    from germane.catalog.profiles import Prices, Profile
    from germane.compaction.conversation import FollowedConversation
    from germane.compaction.llm_summary.covered_span import Owner
    from germane.compaction.plan import Compaction, CompactionPlan, CompactionTerms
    from germane.compaction.strategy import CompactionStrategy
    from germane.stores.contract import ScopedStore
    from germane.text.secrets.detection import SecretPolicy
    from germane.types.message import Message, Raw
    from germane.types.scope import Scope


_MAX_SESSIONS = 64
"""Conversations that are kept in memory, each with its messages."""
_MAX_MESSAGES, _MAX_CHARACTERS = 20_000, 64_000_000
"""Messages of all of them together, and their characters; a longer conversation isn't kept."""
_MAX_SOURCES = 1_024
"""Sessions of which it is known that what the store keeps of a language model's was read."""
_PIECE_SECONDS = 0.02
"""Seconds of planning after which others have their turn."""
_LASTING_SECONDS = 2.0
"""Seconds for which the work on a conversation that is kept goes on after its caller has gone, for the next call."""
_FORGOTTEN_SUMMARY = "the summary that the messages begin with is left out: what it stands for was forgotten"
_READING_SHARE = 0.3
"""The share of the store's time that reading it may take."""


class _Key(NamedTuple):
    """What the work on a conversation depends on beside its messages."""

    owner: Owner
    profile: Profile
    provider: str
    strategy: CompactionStrategy
    max_tokens: int
    low_water: float
    max_messages: int | None
    cite: bool


class SessionCompactions:
    """Mutable. Implements `HistoryCompactor`. Everything but the work in threads runs on the engine's loop. With `worker` a
    language model sums up what leaves, within `budget`."""

    def __init__(
        self,
        secrets: SecretPolicy,
        now: Callable[[], datetime],
        prices: Prices,
        worker: SummaryWorker | None = None,
        budget: LLMBudget | None = None,
    ) -> None:
        self._secrets, self._now, self._prices, self._worker, self._budget = secrets, now, prices, worker, budget
        self._followed: LruCache[_Key, FollowedConversation] = LruCache(_MAX_SESSIONS)
        self._sources: LruCache[Owner, SessionSummaries] = LruCache(_MAX_SOURCES)
        self._turns = OrgTurns()
        self._working: dict[FollowedConversation, asyncio.Future[CompactionPlan]] = {}
        """What is planned in a thread now."""

    async def compact(
        self,
        store: ScopedStore,
        model: str,
        raws: Sequence[Raw],
        messages: Sequence[Message],
        terms: CompactionTerms,
        patience: float | None,
    ) -> Compaction:
        """See `HistoryCompactor`."""
        from germane.api.stored_compaction import StoredCompaction
        from germane.compaction.render import render

        loop = asyncio.get_running_loop()
        until = None if patience is None else loop.time() + patience
        session = store.scope.session
        terms = replace(terms, price=self._prices.find(model))
        given = messages
        if session is not None:
            raws, messages = await _without_forgotten(store, session, raws, messages, patience)
        why = () if messages is given else (_FORGOTTEN_SUMMARY,)
        followed = self._known(store.scope, terms, len(messages))
        source = self._source(store) if terms.cite else None
        if source is not None:
            await source.fill(None if patience is None else patience * _READING_SHARE)
        prepared = () if source is None else source
        plan = await self._planned(followed, store.scope, lambda: followed.plan(raws, messages, prepared, _pause()))
        self._shrink()
        if session is None or not terms.cite or (not plan.entries and plan.summary is None):
            return await asyncio.to_thread(render, plan, (), why)
        left = None if until is None else max(0.001, until - loop.time())
        work = StoredCompaction(store, session, secrets=self._secrets, now=self._now, deadline=left, reasons=why)
        made = await work.keep(plan)
        if source is not None:
            source.ask(plan, stored=work.stored)
        return made

    def forget(self, scope: Scope) -> None:
        """See `HistoryCompactor`."""
        whose = _owner_of(scope)[: 2 if scope.user is None else 3]
        self._followed.drop(lambda key: key.owner[: len(whose)] == whose)
        self._sources.drop(lambda owner: owner[: len(whose)] == whose)
        if self._worker is not None:
            self._worker.forget(whose)

    async def _planned(
        self, followed: FollowedConversation, scope: Scope, plan: Callable[[], CompactionPlan | None]
    ) -> CompactionPlan:
        """Plans in threads, one call after the other: no thread waits for another one. A caller that can't wait leaves the work
        to go on for a while where the conversation is kept; else it ends with the piece that is in work."""
        while (running := self._working.get(followed)) is not None:
            await asyncio.wait([running])
        lasts: list[float] = []
        work = self._working[followed] = asyncio.ensure_future(self._in_pieces(scope.org, plan, lasts))

        def end(done: asyncio.Future[CompactionPlan]) -> None:
            del self._working[followed]
            if not done.cancelled():
                done.exception()  # the caller may be gone

        work.add_done_callback(end)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            kept = any(one is followed for one in self._followed.values())
            lasts.append(asyncio.get_running_loop().time() + (_LASTING_SECONDS if kept else 0.0))
            raise

    async def _in_pieces(self, org: str, plan: Callable[[], CompactionPlan | None], lasts: Sequence[float]) -> CompactionPlan:
        """Plans until it is done. Once `lasts` holds a time, raises `TimeoutError` where it isn't done by then."""
        loop = asyncio.get_running_loop()
        while (made := await self._turns.run(org, plan)) is None:
            if lasts and loop.time() >= lasts[0]:
                raise TimeoutError
        return made

    def _source(self, store: ScopedStore) -> SessionSummaries | None:
        if self._worker is None or self._budget is None or store.scope.session is None:
            return None
        owner = _owner_of(store.scope)
        source = self._sources.use(owner)
        if source is None:
            from germane.api.stored_compaction import SessionSummaries

            source = SessionSummaries(self._worker, self._budget, store, owner=owner, secrets=self._secrets, now=self._now)
            self._sources.put(owner, source)
        return source

    def _known(self, scope: Scope, terms: CompactionTerms, count: int) -> FollowedConversation:
        """The work on the conversation, which is kept before it is done: a call that can't wait for it leaves it to the
        next."""
        from germane.compaction.conversation import FollowedConversation

        key = _Key(
            owner=_owner_of(scope),
            profile=terms.measure.profile,
            provider=terms.measure.provider,
            strategy=terms.strategy,
            max_tokens=terms.max_tokens,
            low_water=terms.low_water,
            max_messages=terms.max_messages,
            cite=terms.cite,
        )
        followed = self._followed.use(key)
        if followed is None or (followed.terms.tools, followed.terms.system) != (terms.tools, terms.system):
            followed = FollowedConversation(terms)
        if scope.session is not None and count <= _MAX_MESSAGES:
            self._followed.put(key, followed)
        return followed

    def _shrink(self) -> None:
        """Drops the conversations that weren't used longest, down to what is kept."""
        messages = sum(map(len, self._followed.values()))
        characters = sum(one.characters for one in self._followed.values())
        while messages > _MAX_MESSAGES or characters > _MAX_CHARACTERS:
            _, gone = self._followed.popitem(last=False)
            messages -= len(gone)
            characters -= gone.characters


async def _without_forgotten(
    store: ScopedStore, session: str, raws: Sequence[Raw], messages: Sequence[Message], patience: float | None
) -> tuple[Sequence[Raw], Sequence[Message]]:
    """The conversation without the summary that it begins with, where what this stands for was forgotten: the caller may have
    kept it, and nothing of it goes into another summary. Where the store can't tell in time, the conversation as it is."""
    from germane.compaction.placeholders import held_summary, without_summary

    at = leading_system(messages)
    held = held_summary(messages[at]) if at < len(messages) else None
    if held is None or not held.handle:
        return raws, messages
    try:
        async with asyncio.timeout(None if patience is None else patience * _READING_SHARE):
            gone = await store.ask(HandlesForgotten([held.handle])) - await store.ask(HandlesKept(session, [held.handle]))
    except Exception:  # whatever the store does, the caller gets a prompt that fits
        return raws, messages
    if not gone:
        return raws, messages
    said = without_summary(messages[at])
    return [*raws[:at], said, *raws[at + 1 :]], [*messages[:at], said, *messages[at + 1 :]]


def _pause() -> Callable[[], bool]:
    """Returns a function that says whether the piece of work that begins now has lasted long enough."""
    until = monotonic() + _PIECE_SECONDS
    return lambda: monotonic() >= until


def _owner_of(scope: Scope) -> Owner:
    """Returns whose a session is. Without its last part, that is everything of one user, or of the agent without any."""
    return scope.org, scope.agent, scope.user, scope.session
