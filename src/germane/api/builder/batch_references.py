"""Batch references: the blocks that were referenced for a running exchange, until the next one begins (BUILD-4).

An application that names a block with the user's message gets it in each request of that exchange, the round trips of its tools
included, also from a new builder with the same session. The references are kept in this process; several processes that serve
one exchange have to name them in each. Without a session nothing tells one conversation from another, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from germane.pipeline.inject.turns import human_turns
from germane.types.lru_cache import LruCache
from germane.types.message import Message
from germane.types.scope import Scope

__all__ = ["BatchReferences"]

_MAX_REFERENCES = 100
"""References that one exchange keeps; the first ones stay."""


class BatchReferences:
    """Bounded: evicts the exchange that was asked for least recently."""

    def __init__(self, max_entries: int = 4_096) -> None:
        self._known: LruCache[Hashable, tuple[str, ...]] = LruCache(max_entries)

    def of(self, scope: Scope, messages: Sequence[Message], key: bytes, given: Sequence[str]) -> tuple[str, ...]:
        """Returns the references of the running exchange, those `given` now included, and keeps them. `key` hides what was said
        in the exchange's name."""
        if scope.session is None:
            return tuple(dict.fromkeys(given))[:_MAX_REFERENCES]
        turns = human_turns(messages, key)
        place = (scope.org, scope.agent, scope.user, scope.session, turns[-1].key if turns else "")
        known = self._known.use(place) or ()
        found = tuple(dict.fromkeys((*known, *given)))[:_MAX_REFERENCES]
        if found:
            self._known.put(place, found)
        return found
