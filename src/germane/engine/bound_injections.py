"""Bound injections: earlier texts for a model that binds its thinking to what stands before it (INJECT-10).

Every text is put back where it was sent. None is dropped to make room, none because a later one holds the same item, and none
because an item in it has changed or ended. A text is dropped only if something in it was forgotten or deleted, or if the
request's filters and sensitivities forbid an item of it. Nothing is added to a turn that was answered. What a new turn may
add is planned: a quarter of the tokens that are left, so that something is left for each later turn.

For calls that can't read the records, each process keeps the texts of each session as it last sent them (`LastKnown`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from germane.engine.earlier_injections import MIXED, EarlierTexts, mixed_turns, relied_on_shown, text_at, withdrawn_warning
from germane.engine.turns import MAX_RETRY_AGE, HumanTurn, MatchedInjections
from germane.kinds.injections import Injection, KeptInjections
from germane.types.caches import LruCache
from germane.types.query import Filters
from germane.types.scope import Scope
from germane.types.trace import EarlierInjection, InjectedItem

_NEW_TURN_PART = 4
"""The part of the tokens left that a new turn may use: one in so many."""


def planned_room(available: int, standing: EarlierTexts, directive: int, cap: int) -> int:
    """Returns the tokens that this call may take for the directive and for new text. The directive takes `directive` tokens; it
    stands whatever else does, as long as the `cap` has room for it."""
    fixed = directive if directive <= cap else 0
    return fixed + max(0, available - standing.cost - fixed) // _NEW_TURN_PART


def find_bound_texts(
    matched: MatchedInjections,
    kept: KeptInjections,
    filters: Filters,
    *,
    per_text: int,
    tokens: Callable[[Injection], int],
) -> EarlierTexts:
    """Finds the text of each turn, as `earlier_injections.stand` does for other models."""
    newest, whole = matched.newest, {record.key: record for record in kept.records}
    warnings, texts, recorded = list[str](), dict[int, Injection](), dict[int, str]()
    own = None
    for index, head in matched.found.items():
        record = head if isinstance(head, Injection) else whole.get(head.key)
        if why := head.withdrawn or ("" if record is None else _refused(record, kept, filters)):
            warnings.append(withdrawn_warning(index, why))
        elif record is not None:
            own = record if index == newest.index else own
            if record.text:
                texts[index] = record
        if head.prefix:
            recorded[index] = head.prefix
    recorded |= dict.fromkeys(mixed_turns(matched.turns, matched.heads), MIXED)
    if matched.open and own is not None and not (own.text and relied_on_shown(own, texts.values())):
        texts.pop(newest.index, None)
        own = None
    closed = not matched.open or own is not None
    return EarlierTexts(
        texts=tuple(text_at(index, record, tokens(record)) for index, record in sorted(texts.items())),
        per_text=per_text,
        new=None if closed else newest,
        occurrence=matched.occurrence,
        replaces=newest.index in matched.found,
        closed=closed,
        newest=newest,
        first_number=matched.first_number,
        warnings=tuple(warnings),
        bound=True,
        open=matched.open,
        turns=tuple(matched.turns),
        recorded=recorded,
    )


def _refused(record: Injection, kept: KeptInjections, filters: Filters) -> str:
    """Which items take the record's text away, by their handles."""
    return ", ".join(item.handle for item in record.items if not may_stay(item, filters, kept))


def may_stay(item: InjectedItem, filters: Filters, kept: KeptInjections | None = None) -> bool:
    """Whether a text with the item may go on standing: as the store says, and where it is unknown (`kept` None) or none of the
    store's, by the sensitivity that the item had."""
    if item.id in filters.exclude:
        return False
    if not item.stored or kept is None:
        return item.sensitivity in filters.sensitivities
    return item.id in kept.present


# The texts as this process last sent them. For a model that binds its thinking a missing text is a refused request; for
# any other it is a prompt that the provider's cache doesn't hold. The two are kept apart, so that the second never takes
# the room of the first.


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

    def clear(self) -> None:
        """Drops all sessions."""
        with self._lock:
            self._sessions.clear()
            self._characters = 0

    def _drop(self, key: _Key) -> None:
        if (gone := self._sessions.pop(key, None)) is not None:
            self._characters -= gone.characters


def last_known_texts(
    known: Mapping[str, KnownTurn] | None,
    shown: Mapping[int, str],
    turns: tuple[HumanTurn, ...],
    filters: Filters,
    *,
    open: bool,
    now: datetime,
) -> EarlierTexts:
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
        if found.text is None or (again and now - found.at > MAX_RETRY_AGE):
            continue
        if refused := [item.handle for item in found.text.items if not may_stay(item, filters)]:
            warnings.append(withdrawn_warning(turn.index, ", ".join(refused)))
        else:
            texts.append(replace(found.text, turn=turn.index))
    return EarlierTexts(
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


def last_sent_texts(known: Mapping[str, KnownTurn], turns: Sequence[HumanTurn], filters: Filters) -> EarlierTexts:
    """What a model that doesn't bind its thinking was last sent, by the keys of the turns, and nothing new. Of turns with the
    same key the last one has the text."""
    left, texts = dict(known), list[EarlierInjection]()
    for turn in reversed(turns):
        found = left.pop(turn.key, None)
        if found is not None and found.text is not None and all(may_stay(item, filters) for item in found.text.items):
            texts.append(replace(found.text, turn=turn.index))
    return EarlierTexts(texts=tuple(reversed(texts)), closed=True, fixed=True, newest=turns[-1] if turns else None)


def _key(scope: Scope) -> _Key:
    return scope.org, scope.agent, scope.user, scope.session
