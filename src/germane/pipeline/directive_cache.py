"""Standing: the last known directive of each scope, for when the store can't be asked in time (ENGINE-4)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from threading import Lock

from germane.pipeline.gather.gather import Gathered
from germane.types.scope import Scope

__all__ = ["DirectiveCache"]


class DirectiveCache:
    """Bounded; the scope asked least lately is forgotten first."""

    def __init__(self, most: int = 4096) -> None:
        self._known: OrderedDict[tuple[str, str, str | None], str] = OrderedDict()
        self._most = most
        self._lock = Lock()

    def fill_missing(self, scope: Scope, gathered: Gathered) -> Gathered:
        """What was gathered, with the last known directive where it is missing; else this one becomes the last known. A
        strategy that doesn't ask for the directive learns nothing of it."""
        if gathered.directive is None:
            return replace(gathered, directive=self.last(scope))
        if any(report.name == "directive" for report in gathered.reports):
            self.learn(scope, gathered.directive)
        return gathered

    def learn(self, scope: Scope, directive: str) -> None:
        key = (scope.org, scope.agent, scope.user)
        with self._lock:
            self._known[key] = directive
            self._known.move_to_end(key)
            if len(self._known) > self._most:
                self._known.popitem(last=False)

    def last(self, scope: Scope) -> str | None:
        """None when nothing is known."""
        return self._known.get((scope.org, scope.agent, scope.user))

    def forget(self, scope: Scope) -> None:
        """It has been changed: what was known of this agent, with any user, holds no longer."""
        with self._lock:
            for key in [key for key in self._known if key[:2] == (scope.org, scope.agent)]:
                del self._known[key]

    def revise(self, now: Callable[[str, str, str | None], str]) -> None:
        """Forget what isn't so any more: `now` reads the directive of an org's agent, and user. From any thread."""
        with self._lock:
            known = list(self._known.items())
        for key, directive in known:
            if directive and now(*key) != directive:
                with self._lock:
                    if self._known.get(key) == directive:
                        del self._known[key]
