"""Cache: outcomes of whole assemblies, for the same request asked again within half a minute (ENGINE-6).

The key is everything the outcome depends on, the store's revision included, so it can't be stale but by the clock: a request
without a time of its own is answered as of up to 30 s ago. Scopes never share: theirs is part of the key. Only full answers
are kept, and what is handed out is written into each request anew, so nobody gets another caller's objects.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Hashable
from hashlib import blake2b

from germane.pipeline.assembly import Outcome
from germane.types.message import Image, Opaque
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Strategy

__all__ = ["ResultCache"]

_LARGEST = 200_000
"""Characters of messages above which a request isn't worth a digest."""
_MANY = 1000
"""Messages, likewise."""


class ResultCache:
    """`most` is small on purpose: an outcome is some thousand objects, and the garbage collector walks all that is kept. With
    256 of them it stopped everything for up to 250 ms."""

    def __init__(self, most: int = 16, seconds: float = 30.0) -> None:
        self._kept: OrderedDict[Hashable, tuple[float, Outcome]] = OrderedDict()
        self._most, self._seconds = most, seconds
        self.hits, self.misses = 0, 0

    def suits(self, request: Request) -> bool:
        """Whether this request may be remembered. Not without a deadline (it waits for everything), nor very large, nor with
        parts whose price their text doesn't tell."""
        if not self._most or request.deadline is None or len(request.messages) > _MANY:
            return False
        if sum(len(message.content) for message in request.messages) > _LARGEST:
            return False
        return not any(isinstance(part, Image | Opaque) for message in request.messages for part in message.parts)

    def key(self, request: Request, strategy: Strategy, scope: Scope, revision: int) -> Hashable:
        """At this revision of the store. Raises `TypeError` for a request that can't be a key."""
        digest = blake2b(digest_size=16)
        for message in request.messages:
            said = repr((message.role, message.id, message.name, message.parts))
            digest.update(said.encode("utf-8", "surrogatepass"))
        digest.update(json.dumps(request.tools, default=str, sort_keys=True).encode("utf-8", "surrogatepass"))
        moment = request.at if request.dated else None
        key = (
            *(scope, revision, repr(strategy), request.model, request.provider, moment),
            *(request.query, request.max_tokens, request.filters, digest.digest()),
        )
        hash(key)
        return key

    def get(self, key: Hashable | None, now: float) -> Outcome | None:
        if key is None:
            return None
        kept = self._kept.get(key)
        if kept is None or now - kept[0] >= self._seconds:
            self.misses += 1
            return None
        self.hits += 1
        return kept[1]

    def put(self, key: Hashable | None, outcome: Outcome, now: float) -> None:
        if key is None:
            return
        self._kept[key] = (now, outcome)
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def forget(self, scope: Scope) -> None:
        """Something of this agent was forgotten: no answer to it stays here, whichever user asked."""
        mine = (scope.org, scope.agent)
        for key in [key for key in self._kept if isinstance(key, tuple) and (key[0].org, key[0].agent) == mine]:
            del self._kept[key]
