"""Directive cache: the last known directive of each scope, for answers that can't wait for the store (ENGINE-4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from germane.pipeline.gather.gather import Gathered
from germane.types.lru_cache import LruCache
from germane.types.scope import Scope

__all__ = ["DirectiveCache"]


class DirectiveCache:
    """Thread-safe. Bounded: the least recently learned directive is evicted."""

    def __init__(self, max_entries: int = 4096) -> None:
        self._directives: LruCache[tuple[str, str, str | None], str] = LruCache(max_entries)
        """By org, agent and user."""
        self._lock = Lock()

    def fill_missing(self, scope: Scope, gathered: Gathered) -> Gathered:
        """Returns what was gathered, with the last known directive where gathering didn't get one. Learns a directive that was
        gathered; an assembly whose strategy doesn't ask for the directive teaches nothing."""
        if gathered.directive is None:
            return replace(gathered, directive=self.last(scope))
        if any(report.name == "directive" for report in gathered.reports):
            self.learn(scope, gathered.directive)
        return gathered

    def learn(self, scope: Scope, directive: str) -> None:
        with self._lock:
            self._directives.put((scope.org, scope.agent, scope.user), directive)

    def last(self, scope: Scope) -> str | None:
        """The last known directive; empty where the scope is known to have none, None where nothing is known."""
        return self._directives.get((scope.org, scope.agent, scope.user))

    def forget(self, scope: Scope) -> None:
        """Drops the directives of this scope's agent, for every user: it has been changed."""
        with self._lock:
            for key in [key for key in self._directives if key[:2] == (scope.org, scope.agent)]:
                del self._directives[key]

    def revise(self, read: Callable[[str, str, str | None], str]) -> None:
        """Drops each directive that `read` (org, agent, user) no longer returns. May be called from any thread."""
        with self._lock:
            entries = list(self._directives.items())
        for key, directive in entries:
            if directive and read(*key) != directive:
                with self._lock:
                    if self._directives.get(key) == directive:
                        del self._directives[key]
