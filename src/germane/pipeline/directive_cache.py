"""Directive cache: the directives of agents and of their users as last known, for answers that can't wait (ENGINE-11).

An agent's directive and a user's own one are two entries: what is known of an agent holds for each of its users. Entries are
learned at opening, from each answer and from each change; `revise` corrects them after another process changed a directive.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from threading import Lock

from germane.memories.directive import Directive
from germane.pipeline.gather.gather import Gathered
from germane.types.lru_cache import LruCache
from germane.types.scope import Scope

__all__ = ["DirectiveCache"]

_READS = 16
"""How often a directive is read at most until no directive changes meanwhile."""

_Key = tuple[str, str, str | None]
"""Org, agent and user; the agent-wide directive has None as its user."""


class DirectiveCache:
    """Thread-safe. Bounded: the agents' directives and the users' own ones have `max_entries` each, of which the least recently
    learned is evicted. `changes` counts the changes: what was read before a change isn't learned after it."""

    def __init__(self, max_entries: int = 16_384) -> None:
        self._agents: LruCache[_Key, str] = LruCache(max_entries)
        self._own: LruCache[_Key, str] = LruCache(max_entries)
        """Empty for a user who is known to have none."""
        self._lock = Lock()
        self.changes = 0

    def load(self, directives: Iterable[tuple[str, str, str | None, str]], since: int) -> None:
        """Learns directives that were read at opening (org, agent, user and text, the most important first), unless a directive
        was changed after `since`."""
        with self._lock:
            if since != self.changes:
                return
            for org, agent, user, text in reversed(list(directives)):
                (self._agents if user is None else self._own).put((org, agent, user), text)

    def fill_missing(self, scope: Scope, gathered: Gathered, since: int) -> Gathered:
        """Returns what was gathered, with the last known directive where gathering didn't get one. Learns a directive that was
        gathered; an assembly whose strategy doesn't ask for the directive teaches nothing. `since` is `changes` as it was
        before gathering."""
        if gathered.directive is None:
            last = self.last(scope)
            return gathered if last is None else replace(gathered, directive=Directive(last))
        if any(report.name == "directive" for report in gathered.reports):
            self.learn(scope, gathered.directive, since)
        return gathered

    async def read(self, scope: Scope, read: Callable[[], Awaitable[Directive]]) -> Directive:
        """Reads a scope's directive and learns it. Where a directive was changed meanwhile, reads again: the change may concern
        another scope, and this one's directive would stay unknown. Raises what `read` raises."""
        for _ in range(_READS):
            since = self.changes
            found = await read()
            if self.learn(scope, found, since):
                break
        return found

    def learn(self, scope: Scope, directive: Directive, since: int | None = None) -> bool:
        """Learns what was read, unless a directive was changed after `since`. Returns whether it was learned."""
        with self._lock:
            if since is not None and since != self.changes:
                return False
            self._agents.put((scope.org, scope.agent, None), directive.agent)
            if scope.user is not None:
                self._own.put((scope.org, scope.agent, scope.user), directive.own)
        return True

    def last(self, scope: Scope) -> str | None:
        """The last known directive: the user's own one, else the agent's. Empty where the scope is known to have none, None
        where nothing is known."""
        own = "" if scope.user is None else self._own.get((scope.org, scope.agent, scope.user))
        return own or self._agents.get((scope.org, scope.agent, None))

    def knows(self, scope: Scope) -> bool:
        """Whether both are known: the agent's directive, and whether the user has an own one."""
        key = (scope.org, scope.agent, scope.user)
        return (key[0], key[1], None) in self._agents and (scope.user is None or key in self._own)

    def forget(self, scope: Scope) -> None:
        """Drops the directives of this scope's agent, the agent's and every user's: something was forgotten there."""
        with self._lock:
            self.changes += 1
            for entries in (self._agents, self._own):
                for key in [key for key in entries if key[:2] == (scope.org, scope.agent)]:
                    del entries[key]

    def replace(self, scope: Scope) -> None:
        """Drops this scope's directive: another one was set. Those of the agent's other users stand."""
        with self._lock:
            self.changes += 1
            (self._agents if scope.user is None else self._own).pop((scope.org, scope.agent, scope.user), None)

    def revise(self, read: Callable[[str, str, str | None], str]) -> None:
        """Corrects each entry by `read` (org, agent, user), which returns the present text. Users without an own directive
        aren't asked about. May be called from any thread."""
        with self._lock:
            self.changes += 1
            known = [(self._agents, list(self._agents.items())), (self._own, [item for item in self._own.items() if item[1]])]
        for entries, items in known:
            for key, directive in items:
                if (now := read(*key)) != directive:
                    self._correct(entries, key, directive, now)

    def _correct(self, entries: LruCache[_Key, str], key: _Key, before: str, now: str) -> None:
        with self._lock:
            if entries.get(key) == before:
                self.changes += 1
                entries[key] = now
