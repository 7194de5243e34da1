"""The engine: the stages in order. The file to read first.

    request ─▶ read ─▶ gather ─▶ score ─▶ pack ─▶ gate ─▶ write ─▶ inject ─▶ context

Only `gather` and the gate touch the store; everything else is a plain function over immutable values. Between the stages
the deadline is looked at. Whatever goes wrong, the caller gets messages: with the directive alone if that can be had, else
as they came (ENGINE-2). A fault takes memories away, never adds any (ENGINE-3).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from germane.catalog.bounded import count_within
from germane.catalog.catalog import Catalog
from germane.catalog.ceiling import Ceiling, at_most, light
from germane.catalog.measure import measure, texts_of
from germane.clock import Clock, zone
from germane.dialects.shaping import shaping
from germane.pipeline.admission import AdmissionQueue, Overloaded, Slot
from germane.pipeline.assembly import PROPAGATED, Assembly, Late, Outcome, unanswered
from germane.pipeline.circuit_breaker import Breakers
from germane.pipeline.deadline import Deadline
from germane.pipeline.directive_cache import DirectiveCache
from germane.pipeline.format.layout import Format
from germane.pipeline.format.named import open_format
from germane.pipeline.format.nonce import nonce
from germane.pipeline.gather.abandoned import Abandoned
from germane.pipeline.gather.builtin import sources
from germane.pipeline.gather.gather import Gathered, gather
from germane.pipeline.gather.merge import fresh, merge
from germane.pipeline.gather.source import SourceFactory
from germane.pipeline.guarded import call, place
from germane.pipeline.pack.gate import gate
from germane.pipeline.pack.pack import pack, trim
from germane.pipeline.pack.packing import Packing
from germane.pipeline.result_cache import ResultCache
from germane.pipeline.score.floor import above, min_relevance
from germane.pipeline.score.score import score
from germane.pipeline.signals.read import read
from germane.pipeline.status import State
from germane.ports.embedder import Embedder
from germane.ports.tokenizer import Tokenizer
from germane.search.relevance import Relevance
from germane.store import ScopedStore
from germane.types.candidate import Scored
from germane.types.context import Context
from germane.types.query import Query
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Strategy

__all__ = ["Engine"]

_NOT_SEARCHING = frozenset({"directive", "history", "recent"})
"""Sources that offer something whatever is asked: not what somebody who searches wants to see."""

_WRITING = 0.004
"""Seconds before the answer is due at which an exact packing ends its search: the gate and the writing come after it."""
_CLOSING = 0.002
"""Seconds before the answer is due at which the gate is given up: the directive alone is written after it."""

Asked = Callable[[], Coroutine[Any, Any, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Collaborators, nothing else: what an assembly learns is in its `Assembly`."""

    clock: Clock
    catalog: Catalog
    tokenizer: Callable[[str], Tokenizer]
    embedder: Embedder
    relevance: Relevance
    nonce_key: bytes
    sources: Mapping[str, SourceFactory] = field(default_factory=dict)
    directive_cache: DirectiveCache = field(default_factory=DirectiveCache)
    cache: ResultCache = field(default_factory=ResultCache)
    abandoned: Abandoned = field(default_factory=Abandoned)
    admission: AdmissionQueue = field(default_factory=AdmissionQueue)
    breakers: Breakers = field(default_factory=Breakers)

    async def assemble(self, request: Request, store: ScopedStore, strategy: Strategy, began: float | None = None) -> Context:
        """Never raises but for cancellation and interpreter exit. `began` is when the call came, on the steady clock."""
        deadline = Deadline.of(self.clock.steady() if began is None else began, request.deadline)
        assembly = Assembly(request, strategy, self.clock)
        slot: Slot | None = None
        try:
            slot = await self.admission.acquire(deadline, self.clock, store.scope.org)
            await self._assemble(assembly, store, strategy, deadline, skip_search=slot is not None and slot.skip_search)
        except PROPAGATED:
            raise
        except Overloaded:
            self._fall_back(assembly, store.scope, "shed")
        except Late:
            self._fall_back(assembly, store.scope, "assembly_timeout")
        except BaseException as error:
            self._fall_back(assembly, store.scope, f"assembly_error:{type(error).__name__}")
        finally:
            if slot is not None:
                slot.end(self.clock.steady())
        return assembly.context()

    def fall_back(self, request: Request, scope: Scope, strategy: Strategy, reason: str) -> Context:
        """At once, and asking nobody: with the directive as it was last known."""
        assembly = Assembly(request, strategy, self.clock)
        self._fall_back(assembly, scope, reason)
        return assembly.context()

    def forget(self, scope: Scope) -> None:
        """Something was forgotten in this scope: nothing of it stays in memory."""
        self.cache.forget(scope)
        self.directive_cache.forget(scope)

    async def recall(self, request: Request, store: ScopedStore, strategy: Strategy) -> tuple[Scored, ...]:
        """Scored items in score order: signals, gathering and scoring; nothing packed, nothing counted."""
        plans = tuple(plan for plan in strategy.sources if plan.name not in _NOT_SEARCHING)
        strategy = replace(strategy, sources=plans)
        found = _distinct(await self._gather(request, store, strategy, Deadline(None, None)), request, store.scope)
        return above(score(found.candidates, strategy, request.at, self.relevance), strategy.floor)[0]

    def state(self, *, read_only: bool = False) -> State:
        """How it is doing. To be asked from within an event loop."""
        return State(
            breakers=self.breakers.states(self.clock.steady()),
            abandoned=len(self.abandoned),
            abandoned_total=self.abandoned.total,
            working=self.admission.working,
            waiting=len(self.admission),
            shed=self.admission.shed,
            cache_hits=self.cache.hits,
            cache_misses=self.cache.misses,
            read_only=read_only,
        )

    async def _assemble(
        self, assembly: Assembly, store: ScopedStore, strategy: Strategy, deadline: Deadline, *, skip_search: bool
    ) -> None:
        request = assembly.request
        with assembly.stage("measure", deadline):
            profile = assembly.profile = self.catalog.find(request.model)
            texts = texts_of(request.messages, request.tools)
            tokens = assembly.tokenizer = await count_within(self.tokenizer(profile.tokenizer), texts)
            extra = shaping(request.messages, profile, tokens.count)
            cap = _cap(request, strategy)
            budget = assembly.budget = measure(request.messages, request.tools, profile, tokens, cap, shaping=extra)
        if budget.exceeds_window:
            assembly.alone("messages_exceed_window")
            return
        key = await self._key(request, store, strategy, deadline)
        known = self.cache.get(key, self.clock.steady())
        if known is not None and known.packing.tokens <= budget.available:
            assembly.finish(known, cached=True)
            return
        with assembly.stage("gather", deadline):
            found = await self._gather(request, store, strategy, deadline, searching=not skip_search)
            steady = assembly.gathered = self.directive_cache.fill_missing(store.scope, found)
            gathered = assembly.gathered = _distinct(steady, request, store.scope)
        if reason := unanswered(gathered.reports):
            self._fall_back(assembly, store.scope, reason)
            return
        with assembly.stage("score", deadline):
            ranked = score(gathered.candidates, strategy, request.at, self.relevance)
            kept, dropped = above(ranked, strategy.floor)
        with assembly.stage("pack", deadline):
            layout = assembly.layout = self._layout(store.scope, strategy, tokens, gathered.query)
            packing = pack(
                kept,
                dropped,
                available=budget.available,
                layout=layout,
                strategy=strategy,
                directive=gathered.directive or "",
                sensitivities=request.filters.sensitivities,
                stop=lambda: deadline.missed(self.clock.steady() + _WRITING),
            )
        with assembly.stage("gate", deadline):
            passed = await self._gate(packing, store, request, deadline)
            packing = packing if passed is packing else trim(passed, budget.available, layout)
        with assembly.stage("write", deadline):
            written = layout.write(packing.directive, packing.chosen)
        outcome = Outcome(gathered=gathered, available=len(kept), packing=packing, written=written)
        assembly.finish(outcome)
        if assembly.level == 0:
            self.cache.put(key, outcome, self.clock.steady())

    async def _gather(
        self, request: Request, store: ScopedStore, strategy: Strategy, deadline: Deadline, *, searching: bool = True
    ) -> Gathered:
        wait, at = deadline.answer is None, place(store.scope)
        return await gather(
            read(request),
            store,
            strategy,
            sources(store, strategy, self.sources, wait=wait, min_relevance=min_relevance(strategy), searching=searching),
            embedder=self.embedder,
            ends=deadline.gathered,
            clock=self.clock,
            abandoned=self.abandoned,
            leave=lambda name: self.breakers.ask(name, at, self.clock.steady(), force=wait),
        )

    async def _gate(self, packing: Packing, store: ScopedStore, request: Request, deadline: Deadline) -> Packing:
        """What can't be asked in time isn't allowed. Items of registered sources aren't the store's to judge."""
        stored = {item.id for item in packing.chosen if not {item.source, *item.scored.candidate.also} <= self.sources.keys()}
        if not stored:
            return packing
        left = deadline.left(self.clock.steady())
        patience = None if left is None else max(0.0, left - _CLOSING)
        ask = partial(store.allowed, sorted(stored), at=request.at, filters=request.filters)
        passed = await self._call("gate", ask, (frozenset, set), store, patience)
        return gate(packing, passed | {item.id for item in packing.chosen if item.id not in stored})

    async def _key(self, request: Request, store: ScopedStore, strategy: Strategy, deadline: Deadline) -> Hashable | None:
        """None for what isn't to be remembered, and where the store doesn't tell its revision within a quarter of the time."""
        try:
            if deadline.gathered is None or not self.cache.suits(request):
                return None
            patience = max(0.0, deadline.gathered - self.clock.steady()) / 4
            revision = await self._call("revision", store.journal.revision, int, store, patience)
            return self.cache.key(request, strategy, store.scope, revision)
        except PROPAGATED:
            raise
        except BaseException:
            return None

    async def _call(
        self, name: str, ask: Asked, kind: type | tuple[type, ...], store: ScopedStore, patience: float | None
    ) -> Any:
        return await call(
            name,
            ask,
            kind,
            scope=store.scope,
            patience=patience,
            clock=self.clock,
            breakers=self.breakers,
            abandoned=self.abandoned,
        )

    def _layout(self, scope: Scope, strategy: Strategy, tokens: Tokenizer, query: Query | None = None) -> Format:
        words = [] if query is None else [term.word for term in query.terms]
        name = nonce(self.nonce_key, scope)
        return open_format(strategy.format, tokenizer=tokens, nonce=name, zone=zone(scope.zone), terms=words)

    def _fall_back(self, assembly: Assembly, scope: Scope, reason: str) -> None:
        """The directive alone, as last known where it couldn't be read; the messages alone if even that fails. Where they
        weren't counted, or can't be, their size tells what is left at least."""
        gathered = assembly.gathered
        directive = self.directive_cache.last(scope) if gathered is None else gathered.directive
        if gathered is None and not any(plan.name == "directive" and plan.limit > 0 for plan in assembly.strategy.sources):
            directive = ""
        for counting in (True, False):
            try:
                tokens = assembly.tokenizer = self._roughly(assembly, counting=counting)
                assembly.layout = self._layout(scope, assembly.strategy, tokens)
                assembly.directive_only(directive, reason)
                return
            except PROPAGATED:
                raise
            except BaseException:
                assembly.alone(reason)

    def _roughly(self, assembly: Assembly, *, counting: bool) -> Tokenizer:
        """A tokenizer to fall back with, and a budget where there is none yet."""
        request = assembly.request
        profile = assembly.profile = assembly.profile or self.catalog.find(request.model)
        tokens = (assembly.tokenizer or self.tokenizer(profile.tokenizer)) if counting else Ceiling()
        if assembly.budget is None:
            exactly = counting and light(request.messages, request.tools)
            cap = _cap(request, assembly.strategy)
            counted, count = (measure, tokens.count) if exactly else (at_most, tokens.ceiling)
            extra = shaping(request.messages, profile, count)
            assembly.budget = counted(request.messages, request.tools, profile, tokens, cap, shaping=extra)
        return tokens


def _cap(request: Request, strategy: Strategy) -> int:
    return strategy.cap if request.max_tokens is None else request.max_tokens


def _distinct(gathered: Gathered, request: Request, scope: Scope) -> Gathered:
    """Each thing once, and none that the request holds already."""
    merged = merge(gathered.candidates)
    return replace(gathered, candidates=fresh(merged, request.messages, request.filters, session=scope.session))
