"""Session compactions: compacts the conversations of requests, and keeps the work on each session's for its next request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from germane.api.stored_compaction import StoredCompaction
from germane.catalog.prices import Prices
from germane.catalog.profile import Profile
from germane.compaction.compaction import Compaction
from germane.compaction.followed import FollowedConversation
from germane.compaction.plan import CompactionTerms
from germane.compaction.render import render
from germane.compaction.strategy import CompactionStrategy
from germane.store import ScopedStore
from germane.text.secrets.screen import SecretPolicy
from germane.types.lru_cache import LruCache
from germane.types.message import Message, Raw
from germane.types.request import Request
from germane.types.scope import Scope

__all__ = ["SessionCompactions"]

_MAX_SESSIONS = 64
"""Conversations that are kept in memory, each with its messages."""
_MAX_MESSAGES = 20_000
"""Messages of all of them together; a longer conversation isn't kept."""


class _Key(NamedTuple):
    """What the work on a conversation depends on beside its messages."""

    scope: Scope
    profile: Profile
    provider: str
    strategy: CompactionStrategy
    max_tokens: int
    max_messages: int | None
    cite: bool


class SessionCompactions:
    """Mutable. Implements `HistoryCompactor`. Everything but the work in threads runs on the engine's loop."""

    def __init__(self, secrets: SecretPolicy, now: Callable[[], datetime], prices: Prices) -> None:
        self._secrets, self._now, self._prices = secrets, now, prices
        self._followed: LruCache[_Key, tuple[FollowedConversation, int]] = LruCache(_MAX_SESSIONS)

    async def compact(
        self,
        request: Request,
        raws: Sequence[Raw],
        messages: Sequence[Message],
        terms: CompactionTerms,
        store: ScopedStore,
        patience: float | None,
    ) -> Compaction:
        """See `HistoryCompactor`."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        terms = replace(terms, price=self._prices.find(request.model))
        followed = self._known(request, terms, len(messages))
        plan = await asyncio.to_thread(followed.plan, raws, messages)
        session = request.scope.session
        if session is None or not terms.cite or (not plan.entries and plan.summary is None):
            return await asyncio.to_thread(render, plan)
        left = None if patience is None else max(0.001, patience - (loop.time() - began))
        return await StoredCompaction(store, session, secrets=self._secrets, now=self._now, deadline=left).keep(plan)

    def forget(self, scope: Scope) -> None:
        """Drops what is kept of this scope, after something in it was forgotten."""
        whole = scope.within(None)
        for key in [key for key in self._followed if key.scope.within(None) == whole]:
            del self._followed[key]

    def _known(self, request: Request, terms: CompactionTerms, count: int) -> FollowedConversation:
        key = _Key(
            scope=request.scope,
            profile=terms.measure.profile,
            provider=request.provider,
            strategy=terms.strategy,
            max_tokens=terms.max_tokens,
            max_messages=terms.max_messages,
            cite=terms.cite,
        )
        known = self._followed.use(key)
        followed = FollowedConversation(terms) if known is None or known[0].terms.tools != terms.tools else known[0]
        if request.scope.session is not None and count <= _MAX_MESSAGES:
            self._followed.put(key, (followed, count))
            while sum(size for _, size in self._followed.values()) > _MAX_MESSAGES:
                self._followed.popitem(last=False)
        return followed
