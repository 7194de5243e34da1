"""Injection log: reads what was injected for the turns of a session, and holds what the store hasn't got yet (INJECT-6).

It also holds what it last sent of each session, for calls that can't read it: a model that binds its thinking needs it
(INJECT-10), and the provider's cache of any other holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from datetime import datetime
from functools import partial
from threading import Lock

from germane.engine.assembly import Assembly, Deadline, Late
from germane.engine.bound_injections import KnownTurn, LastKnown, find_bound_texts, last_known_texts, last_sent_texts
from germane.engine.breakers import BreakerOpen, Guard
from germane.engine.earlier_injections import MIXED, EarlierTexts, find_earlier_texts
from germane.engine.turns import HumanTurn, MatchedInjections, human_turns, match_records
from germane.errors import PROPAGATED
from germane.kinds.injections import (
    MAX_RECORDS,
    Injection,
    InjectionHead,
    KeptInjections,
    PutInjection,
    SessionInjections,
    WantedInjections,
    Wanting,
    handles_of,
)
from germane.stages.inject import Returned
from germane.stores.contract import ScopedStore
from germane.types.caches import LruCache
from germane.types.message import Message
from germane.types.reports import SourceReport
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.trace import EarlierInjection

_Key = tuple[str, str, str | None, str | None]


class InjectionLog:
    """Holds each record from the end of its assembly until it is committed, so that the next call of the session sees it at
    once; where nothing can be written, until it is evicted. Thread-safe: the fallback runs on any event loop."""

    def __init__(self, max_sessions: int = 256) -> None:
        self._waiting: LruCache[_Key, dict[tuple[str, int], PutInjection]] = LruCache(max_sessions)
        self._lock = Lock()
        self._known = LastKnown(max_sessions)
        self._sent = LastKnown(max_sessions)

    def last_known(self, request: Request, returned: Returned, key: bytes, now: datetime) -> EarlierTexts:
        """What stands in the prompt of a model that binds its thinking, as far as this process knows it without a read, or as
        the caller's own messages show it."""
        turns = human_turns(request.messages, key, chained=True)
        shown = returned.texts if returned.request is request else {}
        known = self._known.find(request.scope)
        return last_known_texts(known, shown, turns, request.filters, open=_is_open(request.messages, turns), now=now)

    def last_directive(self, scope: Scope) -> str | None:
        """The directive that the session was last sent with, for a model that binds its thinking; None where it isn't known."""
        return self._known.directive(scope)

    def last_sent(self, request: Request, key: bytes) -> EarlierTexts:
        """What stands in the prompt of any other model, as this process last sent it, without a read."""
        known = self._sent.find(request.scope)
        turns = human_turns(request.messages, key) if known else ()
        return last_sent_texts(known or {}, turns, request.filters)

    async def stand(
        self, assembly: Assembly, store: ScopedStore, guard: Guard, deadline: Deadline, key: bytes
    ) -> tuple[EarlierTexts, SourceReport]:
        """What stands in the assembly's prompt since earlier calls, and the report on reading it. `key` is that of the turns'
        hashes. Raises only what leaves an assembly."""
        request, measured = assembly.request, assembly.measured
        patience = None if deadline.gathered is None else max(0.0, deadline.gathered - guard.clock.steady())
        turns = human_turns(request.messages, key, chained=assembly.binds)
        if measured is None or not turns:
            _, report = await self._read(request, store, guard, patience, lambda _: WantedInjections())
            return assembly.known, report
        tokenizer, waiting = measured.tokenizer, self.waiting(request.scope)
        matching = partial(
            match_records,
            turns,
            open=_is_open(request.messages, turns),
            available=measured.budget.available,
            cap=assembly.cap,
            per_text=measured.profile.per_message,
            now=guard.clock.now(),
            bound=assembly.binds,
        )
        matched: MatchedInjections | None = None

        def wanting(heads: Sequence[InjectionHead]) -> WantedInjections:
            nonlocal matched
            matched = matching(_merged(heads, waiting))
            return matched.wanted(tokenizer.name)

        kept, report = await self._read(request, store, guard, patience, wanting)
        if kept is None or matched is None:
            return assembly.known, report

        def tokens(record: Injection) -> int:
            return record.tokens if record.tokenizer == tokenizer.name else tokenizer.count(record.text)

        if assembly.binds:
            per_text = measured.profile.per_message
            standing = find_bound_texts(matched, kept, request.filters, per_text=per_text, tokens=tokens)
            assembly.known, assembly.read = standing.kept(), True
            return standing, report
        if matched.counted_otherwise(tokenizer.name):
            whole = (*kept.records, *(head for head in matched.heads if isinstance(head, Injection)))
            matched = matching(matched.heads, counts={record.key: tokens(record) for record in whole})
        standing = find_earlier_texts(
            matched,
            kept,
            request.filters,
            available=measured.budget.available,
            per_text=measured.profile.per_message,
            tokens=tokens,
        )
        assembly.known, assembly.read = standing.kept(), True
        return standing, report

    async def _read(
        self, request: Request, store: ScopedStore, guard: Guard, patience: float | None, wanting: Wanting
    ) -> tuple[KeptInjections | None, SourceReport]:
        """What the store keeps of the session, and the report on reading it. None where it can't be had in `patience` seconds:
        then nothing of earlier calls stands in the prompt, or what is last known, and nothing is recorded. Raises only what
        leaves an assembly."""
        began = guard.clock.steady()
        start = partial(store.ask, SessionInjections(wanting, request.at, request.filters))
        report = partial(SourceReport, name="injections")
        try:
            kept = await guard.call("injections", start, KeptInjections, patience=patience)
        except PROPAGATED:
            raise
        except BreakerOpen as refusal:
            return None, report(status="skipped", reason=str(refusal))
        except Late:
            return None, report(status="timeout")
        except BaseException as error:
            return None, report(status="error", reason=type(error).__name__)
        return kept, report(status="ok", latency=guard.clock.steady() - began, found=len(kept.heads))

    def remember(self, assembly: Assembly, registered: Set[str], now: Callable[[], datetime]) -> None:
        """Adds the record of what this assembly injected, where one is to be kept. Raises only what leaves an assembly: the
        answer doesn't depend on it. `registered` are the caller's own sources."""
        try:
            change = assembly.injection(registered, now())
            if change is not None:
                self.put(assembly.request.scope, change)
            if assembly.binds:
                self._learn(assembly, change, now())
            elif assembly.read:
                self._learn_sent(assembly, change, now())
        except PROPAGATED:
            raise
        except BaseException:
            return

    def _learn(self, assembly: Assembly, change: PutInjection | None, now: datetime) -> None:
        """Keeps what stands in the prompt that this assembly has made. A turn of which nobody knows what stood there stays
        unknown."""
        scope, standing = assembly.request.scope, assembly.standing
        before = self._known.find(scope)
        if assembly.untouched or (before is None and not assembly.read):
            return
        texts = {text.turn: text for text in standing.texts}
        turns = dict[str, KnownTurn]()
        for turn in standing.turns:
            if turn.index not in standing.recorded:
                continue
            known = (before or {}).get(turn.chain)
            at = now if known is None else known.at
            turns[turn.chain] = KnownTurn(text=texts.get(turn.index), prefix=standing.recorded[turn.index], at=at)
        if change is not None and standing.newest is not None:
            newest, prefix = standing.newest, change.injection.prefix
            text = texts.get(newest.index) if prefix == MIXED else _sent_text(newest, change)
            turns[newest.chain] = KnownTurn(text=text, prefix=prefix, at=now)
        unread = assembly.level == 3 or assembly.directive is None
        directive = assembly.last_directive if unread else assembly.directive
        self._known.put(scope, turns, directive)

    def _learn_sent(self, assembly: Assembly, change: PutInjection | None, now: datetime) -> None:
        """Keeps the texts that stand in the prompt of any other model."""
        standing = assembly.standing
        texts = {text.turn: text for text in standing.texts}
        if change is not None and standing.newest is not None and (text := _sent_text(standing.newest, change)) is not None:
            texts[standing.newest.index] = text
        turns = {
            turn.key: KnownTurn(text=texts[turn.index], prefix="", at=now) for turn in standing.turns if turn.index in texts
        }
        self._sent.put(assembly.request.scope, turns)

    def put(self, scope: Scope, change: PutInjection) -> None:
        """Adds a record that is to be written. The first one of a turn stays."""
        with self._lock:
            session = self._waiting.use(_key(scope)) or {}
            if change.replaces:
                session.pop(change.injection.key, None)
            session.setdefault(change.injection.key, change)
            while len(session) > MAX_RECORDS:
                del session[next(iter(session))]
            self._waiting.put(_key(scope), session)

    def waiting(self, scope: Scope) -> tuple[PutInjection, ...]:
        """The records of the scope's session that aren't written yet, oldest first."""
        with self._lock:
            return tuple(self._waiting.get(_key(scope), {}).values())

    def drop_sent(self) -> None:
        """Drops what was last sent to models that don't bind their thinking, as something was forgotten. Thread-safe."""
        self._sent.clear()

    def written(self, scope: Scope, changes: Sequence[PutInjection]) -> None:
        """Drops these records: the store has them."""
        with self._lock:
            session = self._waiting.get(_key(scope), {})
            for change in changes:
                if session.get(change.injection.key) is change:
                    del session[change.injection.key]
            if not session:
                self._waiting.pop(_key(scope), None)

    def forget(self, scope: Scope) -> None:
        """Withdraws what waits of every session of this scope's user, or of all users of its agent where it has none: the turns
        stay known, their texts are gone. Of a model that binds its thinking what is last known is dropped, and what waits
        stays: it stands and is written only where the store confirms each item."""
        self._known.forget(scope)
        self._sent.forget(scope)
        with self._lock:
            for key, session in self._waiting.items():
                if key[:2] == (scope.org, scope.agent) and scope.user in (None, key[2]):
                    texts = [each for each in session.values() if each.injection.text and not each.injection.prefix]
                    session.update({each.injection.key: _withdrawn(each) for each in texts})


def _is_open(messages: Sequence[Message], turns: Sequence[HumanTurn]) -> bool:
    """Whether nothing has answered the newest turn."""
    return bool(turns) and all(message.role == "system" for message in messages[turns[-1].index + 1 :])


def _sent_text(turn: HumanTurn, change: PutInjection) -> EarlierInjection | None:
    made = change.injection
    return EarlierInjection(turn=turn.index, text=made.text, tokens=made.tokens, items=made.items) if made.text else None


def _key(scope: Scope) -> _Key:
    return scope.org, scope.agent, scope.user, scope.session


def _merged(heads: Sequence[InjectionHead], waiting: Sequence[PutInjection]) -> Sequence[InjectionHead]:
    """The heads of the store's records, and then the records that wait. A record of the store's gives way only to one that
    replaces it."""
    if not waiting:
        return heads
    known = {head.key: head for head in heads}
    for change in waiting:
        other = known.get(change.injection.key)
        if other is None or other.withdrawn or change.replaces:
            known[change.injection.key] = change.injection
    return tuple(known.values())


def _withdrawn(change: PutInjection) -> PutInjection:
    gone = handles_of(change.injection.items)
    return replace(change, injection=replace(change.injection, text="", tokens=0, items=(), withdrawn=gone))
