"""The engine: the stages in order. The file to read first.

    request ─▶ read ─▶ gather ─▶ score ─▶ pack ─▶ gate ─▶ write ─▶ inject ─▶ context

Only `gather` and the gate touch the store; everything else is a plain function over immutable values. Between the stages
the deadline is looked at. Whatever goes wrong, the caller gets messages: with the directive alone if that can be had, else
as they came (ENGINE-2). A fault takes memories away, never adds any (ENGINE-3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from germane.assembly import Assembly, Late, Outcome
from germane.cache import ResultCache
from germane.catalog.bounded import settle
from germane.catalog.catalog import Catalog
from germane.catalog.measure import measure, texts_of
from germane.clock import Clock, zone
from germane.context import Context
from germane.deadline import Deadline
from germane.format.layout import Format
from germane.format.named import open_format
from germane.format.nonce import nonce
from germane.gather.builtin import sources
from germane.gather.gather import Abandoned, Gathered, gather
from germane.gather.merge import fresh, merge
from germane.gather.source import SourceFactory
from germane.item import Scored
from germane.pack.gate import gate
from germane.pack.pack import pack, trim
from germane.pack.packing import Packing
from germane.ports.embedder import Embedder
from germane.ports.tokenizer import Tokenizer
from germane.query import Query
from germane.request import Request
from germane.scope import Scope
from germane.score.floor import above, least
from germane.score.score import score
from germane.search.relevance import Relevance
from germane.shelf import Shelf
from germane.signals.read import read
from germane.standing import Standing
from germane.strategy import Strategy
from germane.turns import Shed, Turn, Turns

__all__ = ["Engine"]

_NOT_SEARCHING = frozenset({"directive", "history", "recent"})
"""Sources that offer something whatever is asked: not what somebody who searches wants to see."""

_WRITING = 0.004
"""Seconds before the answer is due at which an exact packing ends its search: the gate and the writing come after it."""


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
    standing: Standing = field(default_factory=Standing)
    cache: ResultCache = field(default_factory=ResultCache)
    abandoned: Abandoned = field(default_factory=Abandoned)
    turns: Turns = field(default_factory=Turns)

    async def assemble(self, request: Request, shelf: Shelf, strategy: Strategy) -> Context:
        """Never raises but for cancellation and interpreter exit."""
        deadline = Deadline.of(self.clock.steady(), request.deadline)
        assembly = Assembly(request, strategy, self.clock)
        turn: Turn | None = None
        shed = False
        try:
            try:
                turn = await self.turns.take(deadline, self.clock)
            except Shed:
                shed = True
            await self._assemble(assembly, shelf, strategy, deadline, shed=shed, hurried=turn is not None and turn.hurried)
        except Late:
            self._fall_back(assembly, shelf.scope, "assembly_timeout")
        except Shed:
            self._fall_back(assembly, shelf.scope, "shed")
        except Exception as error:
            self._fall_back(assembly, shelf.scope, f"assembly_error:{type(error).__name__}")
        finally:
            if turn is not None:
                turn.end(self.clock.steady())
        return assembly.context()

    async def recall(self, request: Request, shelf: Shelf, strategy: Strategy) -> tuple[Scored, ...]:
        """Scored items in score order: signals, gathering and scoring; nothing packed, nothing counted."""
        plans = tuple(plan for plan in strategy.sources if plan.name not in _NOT_SEARCHING)
        strategy = replace(strategy, sources=plans)
        gathered = await self._gather(request, shelf, strategy, Deadline(None, None))
        return above(score(gathered.candidates, strategy, request.at, self.relevance), strategy.floor)[0]

    async def _assemble(
        self, assembly: Assembly, shelf: Shelf, strategy: Strategy, deadline: Deadline, *, shed: bool, hurried: bool
    ) -> None:
        request = assembly.request
        with assembly.stage("measure", deadline):
            profile = assembly.profile = self.catalog.find(request.model)
            texts = texts_of(request.messages, request.tools)
            tokens = assembly.tokenizer = await settle(self.tokenizer(profile.tokenizer), texts)
            cap = strategy.cap if request.max_tokens is None else request.max_tokens
            budget = assembly.budget = measure(request.messages, request.tools, profile, tokens, cap)
        if budget.overfull:
            assembly.alone("messages_exceed_window")
            return
        if shed:
            raise Shed
        key = await self._key(request, shelf, strategy, deadline)
        known = self.cache.get(key, self.clock.steady())
        if known is not None and known.packing.tokens <= budget.available:
            assembly.finish(known)
            return
        with assembly.stage("gather", deadline):
            found = await self._gather(request, shelf, strategy, deadline, searching=not hurried)
            gathered = assembly.gathered = self.standing.steady(shelf.scope, found)
        with assembly.stage("score", deadline):
            ranked = score(gathered.candidates, strategy, request.at, self.relevance)
            kept, dropped = above(ranked, strategy.floor)
        with assembly.stage("pack", deadline):
            layout = assembly.layout = self._layout(shelf.scope, strategy, tokens, gathered.query)
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
            passed = await self._gate(packing, shelf, request, deadline)
            packing = packing if passed is packing else trim(passed, budget.available, layout)
        with assembly.stage("write", deadline):
            written = layout.write(packing.directive, packing.chosen)
        outcome = Outcome(gathered=gathered, available=len(kept), packing=packing, written=written)
        assembly.finish(outcome)
        if assembly.level == 0:
            self.cache.put(key, outcome, self.clock.steady())

    async def _gather(
        self, request: Request, shelf: Shelf, strategy: Strategy, deadline: Deadline, *, searching: bool = True
    ) -> Gathered:
        gathered = await gather(
            read(request),
            shelf,
            strategy,
            sources(shelf, strategy, self.sources, wait=deadline.answer is None, least=least(strategy), searching=searching),
            embedder=self.embedder,
            ends=deadline.gathered,
            clock=self.clock,
            abandoned=self.abandoned,
        )
        merged = merge(gathered.candidates)
        kept = fresh(merged, request.messages, request.filters, session=shelf.scope.session)
        return replace(gathered, candidates=kept)

    async def _gate(self, packing: Packing, shelf: Shelf, request: Request, deadline: Deadline) -> Packing:
        """What can't be asked in time isn't allowed. Items of registered sources aren't the store's to judge."""
        stored = {item.id for item in packing.chosen if not {item.source, *item.scored.candidate.also} <= self.sources.keys()}
        if not stored:
            return packing
        task = asyncio.ensure_future(shelf.allowed(sorted(stored), at=request.at, filters=request.filters))
        if not await self._done(task, deadline.left(self.clock.steady())):
            raise Late
        return gate(packing, task.result() | {item.id for item in packing.chosen if item.id not in stored})

    async def _key(self, request: Request, shelf: Shelf, strategy: Strategy, deadline: Deadline) -> Hashable | None:
        task = asyncio.ensure_future(self.cache.key(request, strategy, shelf))
        patience = None if deadline.gathered is None else max(0.0, deadline.gathered - self.clock.steady()) / 4
        return task.result() if await self._done(task, patience) and task.exception() is None else None

    async def _done(self, task: asyncio.Future[Any], patience: float | None) -> bool:
        """Whether it came to an end in time; abandoned if not. One that gave itself up never came to any."""
        try:
            done, _ = await asyncio.wait([task], timeout=patience)
        except asyncio.CancelledError:
            self.abandoned.take(task)
            raise
        if not done:
            self.abandoned.take(task)
        return bool(done) and not task.cancelled()

    def _layout(self, scope: Scope, strategy: Strategy, tokens: Tokenizer, query: Query | None = None) -> Format:
        words = [] if query is None else [term.word for term in query.terms]
        name = nonce(self.nonce_key, scope)
        return open_format(strategy.format, tokenizer=tokens, nonce=name, zone=zone(scope.zone), terms=words)

    def _fall_back(self, assembly: Assembly, scope: Scope, reason: str) -> None:
        """The directive alone, as last known where it couldn't be read; the messages alone if even that fails."""
        try:
            gathered = assembly.gathered
            directive = self.standing.last(scope) if gathered is None else gathered.directive
            if assembly.layout is None and assembly.tokenizer is not None:
                assembly.layout = self._layout(scope, assembly.strategy, assembly.tokenizer)
            assembly.directive_only(directive, reason)
        except Exception:
            assembly.alone(reason)
