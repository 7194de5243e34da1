"""Result cache: results of whole assemblies, for the same request sent again within 30 seconds (ENGINE-6).

The key holds everything the result depends on, the scope and the store's revision included. So a result is never stale, except
by the clock: a request without a time of its own may be answered as of up to 30 s ago. Only complete results (degradation level
0) are kept. A cached result is written into each request anew: no caller gets another caller's objects.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from hashlib import blake2b

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

__all__ = ["ResultCache"]

_MAX_CHARACTERS = 200_000
"""Characters of messages above which hashing a request costs more than it saves."""
_MAX_MESSAGES = 1000
_STRATEGIES = 64
"""Strategies whose descriptions are kept."""
_LOOKUP = 0.010
"""Seconds that the store has to tell its revision, so that a result can be looked up, and a quarter of the time at most."""


class ResultCache:
    """`max_entries` is small on purpose: a result is some thousand objects, and the garbage collector walks all that is kept.
    256 of them stopped the process for up to 250 ms."""

    def __init__(self, max_entries: int = 16, seconds: float = 30.0) -> None:
        self._results: LruCache[Hashable, tuple[float, Outcome]] = LruCache(max_entries)
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

    async def current_key(
        self, request: Request, store: ScopedStore, strategy: Strategy, deadline: Deadline, guard: Guard
    ) -> Hashable | None:
        """The key at the store's present revision. None where the result isn't to be kept, and where the store doesn't tell its
        revision in time."""
        try:
            if deadline.gathered is None or not self.suits(request):
                return None
            patience = min(_LOOKUP, max(0.0, deadline.gathered - guard.clock.steady()) / 4)
            revision = await guard.call("revision", store.journal.revision, int, patience=patience)
            return self.key(request, strategy, revision)
        except PROPAGATED:
            raise
        except BaseException:
            return None

    def key(self, request: Request, strategy: Strategy, revision: int) -> Hashable:
        """The key at this revision of the store. Raises `TypeError` for a request that isn't hashable."""
        digest = blake2b(digest_size=16)
        for message in request.messages:
            said = repr((message.role, message.id, message.name, message.parts))
            digest.update(said.encode("utf-8", "surrogatepass"))
        digest.update(json.dumps(request.tools, default=str, sort_keys=True).encode("utf-8", "surrogatepass"))
        moment = request.at if request.dated else None
        key = (
            *(request.scope, revision, self._description(strategy), request.model, request.provider, moment),
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

    def get(self, key: Hashable | None, now: float) -> Outcome | None:
        """Counts a hit or a miss. None for the key None, which counts as neither."""
        if key is None:
            return None
        entry = self._results.get(key)
        if entry is None or now - entry[0] >= self._seconds:
            self.misses += 1
            return None
        self.hits += 1
        return entry[1]

    def put(self, key: Hashable | None, outcome: Outcome, now: float) -> None:
        if key is not None:
            self._results.put(key, (now, outcome))

    def forget(self, scope: Scope) -> None:
        """Drops every result of this scope's agent, whichever user it was for."""
        mine = (scope.org, scope.agent)
        self._results.drop(lambda key: isinstance(key, tuple) and (key[0].org, key[0].agent) == mine)
