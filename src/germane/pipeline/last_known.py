"""Last known: the texts that stand in each session's prompt as this process last sent them, for calls that can't read the
records.

Only sessions of models that bind their thinking are kept (INJECT-10): for these a missing text is a refused request.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from germane.pipeline.bound_injections import may_stand
from germane.pipeline.earlier_injections import Standing, withdrawn_warning
from germane.pipeline.inject.turns import HumanTurn
from germane.pipeline.matched_injections import RETRY
from germane.types.earlier import EarlierInjection
from germane.types.lru_cache import LruCache
from germane.types.query import Filters
from germane.types.scope import Scope

__all__ = ["KnownTurn", "LastKnown", "standing_of"]

_Key = tuple[str, str, str | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTurn:
    """What stood at a turn: its text, None for none; `prefix` as in its record; `at` is when this process first sent it."""

    text: EarlierInjection | None
    prefix: str
    at: datetime


class _Session(NamedTuple):
    turns: Mapping[str, KnownTurn]
    directive: str | None

    @property
    def characters(self) -> int:
        texts = sum(64 + (0 if turn.text is None else len(turn.text.text)) for turn in self.turns.values())
        return texts + len(self.directive or "")


class LastKnown:
    """Bounded by sessions and by characters; the least recently used session goes first. Thread-safe: the fallback runs on any
    event loop."""

    def __init__(self, max_sessions: int = 256, max_characters: int = 4_194_304) -> None:
        self._sessions: LruCache[_Key, _Session] = LruCache(max_sessions + 1)
        self._forgotten: LruCache[tuple[str, str, str | None], None] = LruCache(16 * max_sessions)
        """Scopes in which something was forgotten; with None as the user, in those of all users."""
        self._max_sessions = max_sessions
        self._max_characters, self._characters, self._lock = max_characters, 0, Lock()

    def put(self, scope: Scope, turns: Mapping[str, KnownTurn], directive: str | None = None) -> None:
        """Keeps what stands now at the turns, by their chains, and the directive; None where it couldn't be read."""
        with self._lock:
            self._drop(_key(scope))
            session = _Session(turns, directive)
            self._sessions.put(_key(scope), session)
            self._characters += session.characters
            while len(self._sessions) > self._max_sessions or self._characters > self._max_characters:
                self._drop(next(iter(self._sessions)))

    def find(self, scope: Scope) -> Mapping[str, KnownTurn] | None:
        """What stood at each turn, by its chain. None where nothing is known since something was forgotten in this scope: a
        text that the caller's own messages show may be what was forgotten then."""
        with self._lock:
            if (known := self._sessions.use(_key(scope))) is not None:
                return known.turns
            gone = any((scope.org, scope.agent, user) in self._forgotten for user in (scope.user, None))
        return None if gone else {}

    def directive(self, scope: Scope) -> str | None:
        """The directive that the session was last sent with; None where that isn't known."""
        with self._lock:
            known = self._sessions.get(_key(scope))
        return None if known is None else known.directive

    def forget(self, scope: Scope) -> None:
        """Drops the sessions of this scope's user, or of all users of its agent where it has none."""
        with self._lock:
            self._forgotten.put((scope.org, scope.agent, scope.user), None)
            here = [key for key in self._sessions if key[:2] == (scope.org, scope.agent)]
            for key in here:
                if scope.user in (None, key[2]):
                    self._drop(key)

    def _drop(self, key: _Key) -> None:
        if (gone := self._sessions.pop(key, None)) is not None:
            self._characters -= gone.characters


def standing_of(
    known: Mapping[str, KnownTurn] | None,
    shown: Mapping[int, str],
    turns: tuple[HumanTurn, ...],
    filters: Filters,
    *,
    open: bool,
    now: datetime,
) -> Standing:
    """What stands by what is known of the turns, and nothing new. `shown` are germane's texts that the caller's own messages
    hold, by the index of their turn: they stay where nothing else is known of it. They tell what the last call sent, and not
    behind what each answer was made, so such a turn has no `recorded` hash."""
    texts, recorded, warnings = list[EarlierInjection](), dict[int, str](), list[str]()
    for turn in turns:
        found = None if known is None else known.get(turn.chain)
        again = open and turn is turns[-1]
        if found is None:
            if known is not None and not again and (text := shown.get(turn.index, "")):
                texts.append(EarlierInjection(turn=turn.index, text=text, tokens=len(text) // 4))
            continue
        recorded[turn.index] = found.prefix
        if found.text is None or (again and now - found.at > RETRY):
            continue
        if refused := [item.handle for item in found.text.items if not may_stand(item, filters)]:
            warnings.append(withdrawn_warning(turn.index, ", ".join(refused)))
        else:
            texts.append(replace(found.text, turn=turn.index))
    return Standing(
        texts=tuple(texts),
        closed=True,
        fixed=True,
        newest=turns[-1] if turns else None,
        warnings=tuple(warnings),
        bound=True,
        open=open,
        turns=turns,
        recorded=recorded,
    )


def _key(scope: Scope) -> _Key:
    return scope.org, scope.agent, scope.user, scope.session
