"""Result cache: results of whole assemblies, for the same request sent again within 30 seconds (ENGINE-6).

The key holds everything in the request that the result depends on, the scope included. With the result stands the revision of a
commit that everything it was made of was read after. It is given again only while nothing of its scope has changed since that
commit, so it is never stale, except by the clock: a request without a time of its own may be answered as of up to 30 s ago.
A request that isn't known costs no trip to the store. Where another process has written since this one last asked, the first
answer after it isn't given again.

Only complete results (degradation level 0) are kept. A cached result is written into each request anew: no caller gets another
caller's objects.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from hashlib import blake2b
from math import inf
from typing import NamedTuple

from germane.pipeline.assembly_state import PROPAGATED, Outcome
from germane.pipeline.call_guard import Guard
from germane.pipeline.deadline import Deadline
from germane.store import ScopedStore
from germane.text.fifo_cache import FifoCache
from germane.types.lru_cache import LruCache
from germane.types.message import Image, Opaque
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Strategy

__all__ = ["KeptResult", "ResultCache"]

_MAX_CHARACTERS = 200_000
"""Characters of messages above which hashing a request costs more than it saves."""
_MAX_MESSAGES = 1000
_STRATEGIES = 64
"""Strategies whose descriptions are kept."""
_LOOKUP = 0.010
"""Seconds that the store has to tell its revision, so that a result can be given again, and a quarter of the time at most."""


class KeptResult(NamedTuple):
    """A result, when it was made (seconds on the steady clock), and the revision that its sources saw at least."""

    at: float
    revision: int
    outcome: Outcome


class ResultCache:
    """`max_entries` is small on purpose: a result is some thousand objects, and the garbage collector walks all that is kept.
    256 of them stopped the process for up to 250 ms."""

    def __init__(self, max_entries: int = 16, seconds: float = 30.0) -> None:
        self._results: LruCache[Hashable, KeptResult] = LruCache(max_entries)
        self._described: FifoCache[int, tuple[Strategy, str]] = FifoCache(_STRATEGIES)
        """Strategies by `id`, each beside its description: they are few, and their parts can't be hashed."""
        self._seconds = seconds
        self.hits, self.misses = 0, 0

    def suits(self, request: Request) -> bool:
        """Whether the result of this request may be kept. Not without a deadline (the caller waits for everything), not of very
        large requests, and not with images or opaque parts, whose cost their text doesn't tell."""
        if not self._results.max_entries or request.deadline is None or len(request.messages) > _MAX_MESSAGES:
            return False
        if sum(len(message.content) for message in request.messages) > _MAX_CHARACTERS:
            return False
        return not any(isinstance(part, Image | Opaque) for message in request.messages for part in message.parts)

    def key_of(self, request: Request, strategy: Strategy) -> Hashable | None:
        """The key of a request. None where its result isn't to be kept."""
        try:
            return self.key(request, strategy) if self.suits(request) else None
        except PROPAGATED:
            raise
        except BaseException:
            return None

    def key(self, request: Request, strategy: Strategy) -> Hashable:
        """The key. Raises `TypeError` for a request that isn't hashable."""
        digest = blake2b(digest_size=16)
        for message in request.messages:
            said = repr((message.role, message.id, message.name, message.parts))
            digest.update(said.encode("utf-8", "surrogatepass"))
        digest.update(json.dumps(request.tools, default=str, sort_keys=True).encode("utf-8", "surrogatepass"))
        moment = request.at if request.dated else None
        key = (
            *(request.scope, self._description(strategy), request.model, request.provider, moment),
            *(request.query, request.max_tokens, request.filters, digest.digest()),
            *(request.effort, request.like, request.window, request.beside, request.reserve, request.blocks, request.task),
        )
        hash(key)
        return key

    def _description(self, strategy: Strategy) -> str:
        known = self._described.get(id(strategy))
        if known is not None and known[0] is strategy:
            return known[1]
        described = repr(strategy)
        self._described.keep(id(strategy), (strategy, described))
        return described

    def find(self, key: Hashable | None, now: float) -> KeptResult | None:
        """What is kept for the key, and not too old; a miss is counted where there is nothing. None for the key None, which
        counts as neither."""
        if key is None:
            return None
        kept = self._results.get(key)
        if kept is not None and now - kept.at < self._seconds:
            return kept
        self.misses += 1
        return None

    async def current(self, kept: KeptResult | None, store: ScopedStore, deadline: Deadline, guard: Guard) -> Outcome | None:
        """The result, where nothing of its scope has changed since; None where something has, and where the store doesn't tell
        in time. Counts a hit or a miss. None for None, which counts as neither."""
        if kept is None:
            return None
        if await self._revision(store, deadline, guard) > kept.revision:
            self.misses += 1
            return None
        self.hits += 1
        return kept.outcome

    async def _revision(self, store: ScopedStore, deadline: Deadline, guard: Guard) -> float:
        """The scope's revision; infinite where the store doesn't tell in time."""
        try:
            left = max(0.0, (deadline.gathered or 0.0) - guard.clock.steady())
            revision: int = await guard.call("revision", store.journal.revision, int, patience=min(_LOOKUP, left / 4))
            return revision
        except PROPAGATED:
            raise
        except BaseException:
            return inf

    def known_revision(self, store: ScopedStore) -> int | None:
        """The revision to keep a result with whose sources are read from now on; None where the store doesn't tell."""
        try:
            revision = store.journal.known_revision()
        except PROPAGATED:
            raise
        except BaseException:
            return None
        return revision if isinstance(revision, int) else None

    def put(self, key: Hashable | None, revision: int | None, outcome: Outcome, now: float) -> None:
        """Keeps a result. `revision` is what `known_revision` returned before anything was gathered."""
        if key is not None and revision is not None:
            self._results.put(key, KeptResult(now, revision, outcome))

    def forget(self, scope: Scope) -> None:
        """Drops every result of this scope's agent, whichever user it was for."""
        mine = (scope.org, scope.agent)
        self._results.drop(lambda key: isinstance(key, tuple) and (key[0].org, key[0].agent) == mine)
