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

from germane.assembly import Outcome
from germane.message import Image, Opaque
from germane.request import Request
from germane.shelf import Shelf
from germane.strategy import Strategy

__all__ = ["ResultCache"]

_LARGEST = 200_000
"""Characters of messages above which a request isn't worth a digest."""


class ResultCache:
    """`most` is small on purpose: an outcome is some thousand objects, and the garbage collector walks all that is kept. With
    256 of them it stopped everything for up to 250 ms."""

    def __init__(self, most: int = 16, seconds: float = 30.0) -> None:
        self._kept: OrderedDict[Hashable, tuple[float, Outcome]] = OrderedDict()
        self._most, self._seconds = most, seconds

    async def key(self, request: Request, strategy: Strategy, shelf: Shelf) -> Hashable | None:
        """None when this request isn't to be remembered: no deadline (it waits for everything), very large, or with parts
        whose price their text doesn't tell. Raises `TypeError` for one that can't be a key."""
        if not self._most or request.deadline is None:
            return None
        if sum(len(message.content) for message in request.messages) > _LARGEST:
            return None
        if any(isinstance(part, Image | Opaque) for message in request.messages for part in message.parts):
            return None
        digest = blake2b(digest_size=16)
        for message in request.messages:
            said = repr((message.role, message.id, message.name, message.parts))
            digest.update(said.encode("utf-8", "surrogatepass"))
        digest.update(json.dumps(request.tools, default=str, sort_keys=True).encode("utf-8", "surrogatepass"))
        moment = request.at if request.dated else None
        revision = await shelf.journal.revision()
        key = (
            *(shelf.scope, revision, repr(strategy), request.model, request.provider, moment),
            *(request.query, request.max_tokens, request.filters, digest.digest()),
        )
        hash(key)
        return key

    def get(self, key: Hashable | None, now: float) -> Outcome | None:
        kept = None if key is None else self._kept.get(key)
        return kept[1] if kept is not None and now - kept[0] < self._seconds else None

    def put(self, key: Hashable | None, outcome: Outcome, now: float) -> None:
        if key is None:
            return
        self._kept[key] = (now, outcome)
        self._kept.move_to_end(key)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
