"""Engine: the stages in order. The file to read first.

    request ─▶ compact ─▶ measure ─▶ read ─▶ gather ─▶ score ─▶ pack ─▶ gate ─▶ write ─▶ inject ─▶ context

Only `compact`, `gather` and `gate` do I/O; every other stage is a plain function over immutable values. The engine looks at
the deadline after each stage. If a stage fails, the caller still gets the messages: with the directive alone if one is known,
else as the caller sent them (ENGINE-2). A fault takes memories away and never adds any (ENGINE-3).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from germane.catalog.profiles import Catalog
from germane.catalog.request_tokens import Ceiling
from germane.clock import Clock, zone
from germane.dialects.openai_chat import OpenAIChat
from germane.dialects.registry import is_plain
from germane.engine.admission import AdmissionQueue, Overloaded, Slot
from germane.engine.assembly import Assembly, Deadline, Late, Outcome, counts_as_memory, unanswered
from germane.engine.breakers import Breakers, BreakerState, Guard, breaker_key
from germane.engine.earlier_injections import NO_EARLIER_TEXTS
from germane.engine.fallback import DirectiveCache, DirectiveReads, FallbackLadder, answer_of
from germane.engine.injection_log import InjectionLog
from germane.engine.result_cache import NO_TASK, ResultCache, RunningTask, read_first
from germane.engine.selection import ask_gate, best_of, choose_profile, pack_in_time, rank_candidates, room_for_new
from germane.errors import PROPAGATED
from germane.extraction.llm.queue import LLMUsage
from germane.kinds.graph.aliases import forget_names
from germane.kinds.memories.directive import Directive
from germane.ports.background import aside
from germane.ports.models import Embedder, Tokenizer
from germane.search.relevance import Relevance
from germane.stages.compact import HistoryCompactor, HistoryTerms, compact_history
from germane.stages.gather.builtin import DEEP, RECENT, STANDING, sources
from germane.stages.gather.gather import Abandoned, Gathered, gather
from germane.stages.gather.merge import RequestContents, distinct
from germane.stages.gather.source import SearchDepth, SourceFactory, search_depth
from germane.stages.inject import Returned, without_returned
from germane.stages.measure import measure_request
from germane.stages.pack.pack import trim
from germane.stages.read.query import read
from germane.stages.score.clauses import ClauseReader
from germane.stages.score.score import min_relevance
from germane.stages.write.escape import nonce
from germane.stages.write.formats import open_format
from germane.stages.write.layout import Format
from germane.stores.contract import ScopedStore
from germane.types.candidate import Scored
from germane.types.context import Context
from germane.types.query import Query
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Strategy

_COMPACTING_SHARE = 0.6  # the share of the time for gathering that compacting a conversation may take
_NO_DEADLINE = Deadline(None, None)
"""No deadline. Used by `search`, and by the last stage: once the text is written, returning it is the fastest answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The collaborators of every assembly. What one assembly learns is in its `Assembly`."""

    clock: Clock
    catalog: Catalog
    tokenizer: Callable[[str], Tokenizer]
    embedder: Embedder
    relevance: Relevance
    nonce_key: bytes
    sources: Mapping[str, SourceFactory] = field(default_factory=dict)
    directive_cache: DirectiveCache = field(default_factory=DirectiveCache)
    directive_reads: DirectiveReads = field(default_factory=DirectiveReads)
    result_cache: ResultCache = field(default_factory=ResultCache)
    abandoned: Abandoned = field(default_factory=Abandoned)
    injections: InjectionLog = field(default_factory=InjectionLog)
    clauses: ClauseReader = field(default_factory=ClauseReader)
    compactor: HistoryCompactor | None = None
    admission: AdmissionQueue = field(default_factory=AdmissionQueue)
    breakers: Breakers = field(default_factory=Breakers)

    async def assemble(
        self,
        request: Request,
        store: ScopedStore,
        strategy: Strategy,
        began: float | None = None,
        history: HistoryTerms | None = None,
    ) -> Context:
        """Raises nothing but cancellation and interpreter exit. `began` is when the call came, on the steady clock (seconds);
        the deadline counts from there. With `history` the conversation is compacted first."""
        deadline = Deadline.of(self.clock.steady() if began is None else began, request.deadline)
        assembly, returned = self._start.begin(request, strategy)
        slot: Slot | None = None
        failure = ""
        try:
            slot = await self.admission.acquire(deadline, self.clock, request.scope.org)
            if history is not None:
                with assembly.stage("compact", deadline):
                    await self._compact(assembly, history, store, deadline)
                self._start.replay(assembly, returned)
            await self._assemble(assembly, store, deadline, slot)
        except PROPAGATED:
            raise
        except Overloaded:
            await self._directive_known(request, store, strategy, deadline)
            failure = "shed"
        except Late:
            failure = "assembly_timeout"
        except BaseException as error:
            failure = f"assembly_error:{type(error).__name__}"
        finally:
            if slot is not None:
                slot.end(self.clock.steady())
        context = await self._answered(assembly, failure)
        self.injections.remember(assembly, self.sources.keys(), self.clock.now)
        return context

    async def fall_back(self, request: Request, strategy: Strategy, reason: str) -> Context:
        """The fallback's answer, at once and without I/O: the messages with the directive as it was last known."""
        assembly, _ = self._start.begin(request, strategy)
        context = await self._answered(assembly, reason)
        if assembly.binds:
            self.injections.remember(assembly, self.sources.keys(), self.clock.now)
        return context

    async def _answered(self, assembly: Assembly, failure: str) -> Context:
        """What was assembled; with a reason of its `failure`, the fallback's answer, in which plain messages come back as they
        are, without being read."""
        if failure:
            self._start.stand_again(assembly)
        raws = assembly.request.raw

        def answer() -> Context:
            if failure:
                self._fallback.answer(assembly, failure)
            return answer_of(assembly)

        cheap = (bool(failure) or assembly.level >= 2) and not assembly.known.texts
        return await aside(
            sum(not is_plain(raw) for raw in raws) if cheap and assembly.request.provider == OpenAIChat.name else len(raws),
            answer,
        )

    def forget(self, scope: Scope) -> None:
        """Drops what the caches hold of this scope, after something in it was forgotten; the names of entities in any."""
        forget_names()
        self.result_cache.forget(scope)
        self.directive_cache.forget(scope)
        self.injections.forget(scope)
        if self.compactor is not None:
            self.compactor.forget(scope)

    async def search(self, request: Request, store: ScopedStore, strategy: Strategy, limit: int) -> tuple[Scored, ...]:
        """The best `limit` candidates, scored, best first. Waits for every source; packs nothing and counts no tokens."""
        plans = tuple(plan for plan in strategy.sources if plan.name not in STANDING)
        strategy = replace(strategy, sources=plans)
        guard, said = self._guard(request.scope, _NO_DEADLINE), RequestContents(request.messages)
        search = partial(self._gather, request, store, strategy, _NO_DEADLINE, guard, said)
        return await best_of(search, request, said, strategy, self.relevance, limit)

    def state(self, *, read_only: bool = False) -> State:
        """The engine's figures. To be called from within an event loop."""
        return State(
            breakers=self.breakers.states(self.clock.steady()),
            abandoned=len(self.abandoned),
            abandoned_total=self.abandoned.total,
            working=self.admission.working,
            waiting=len(self.admission),
            shed=self.admission.shed,
            cache_hits=self.result_cache.hits,
            cache_misses=self.result_cache.misses,
            read_only=read_only,
        )

    async def _compact(self, assembly: Assembly, asked: HistoryTerms, store: ScopedStore, deadline: Deadline) -> None:
        assembly.request, assembly.history = await compact_history(
            self.compactor,
            assembly.request,
            asked,
            store,
            catalog=self.catalog,
            tokenizers=self.tokenizer,
            cap=assembly.cap,
            seconds=deadline.gathering(self.clock.steady(), _COMPACTING_SHARE),
        )

    async def _assemble(self, assembly: Assembly, store: ScopedStore, deadline: Deadline, slot: Slot | None) -> None:
        """The stages. Raises `Late`, and whatever a stage raises."""
        request, strategy = assembly.request, assembly.strategy
        with assembly.stage("measure", deadline):
            measured = assembly.measured = await measure_request(request, assembly.cap, self.catalog, self.tokenizer)
        _, tokens, budget = measured
        if budget.exceeds_window:
            if assembly.binds:
                self._fallback.answer(assembly, "messages_exceed_window")
            else:
                assembly.messages_only("messages_exceed_window")
            return
        guard = self._guard(request.scope, deadline)
        appends = strategy.placement == "append" and request.scope.session is not None
        key = None if appends else self.result_cache.key_of(request, strategy)
        result = self.result_cache.find(key, self.clock.steady())
        known, task, request = await read_first(self.result_cache, result, request, store, strategy, deadline, guard)
        assembly.request = request
        if known is not None and known.packing.tokens <= budget.available:
            assembly.finish(known, cached=True)
            return
        with assembly.stage("gather", deadline):
            said, since = RequestContents(request.messages), self.directive_cache.changes
            revision = self.result_cache.known_revision(store)
            searching = slot is None or slot.searching != "none"
            depth = search_depth(budget.available, assembly.price, min_relevance(strategy))
            shallow = slot is not None and slot.searching == "shallow"
            depth = depth.shallow() if shallow else depth
            gathering = self._gather(request, store, strategy, deadline, guard, said, depth, task, searching=searching)
            if appends:
                earlier = self.injections.stand(assembly, store, guard, deadline, self.nonce_key)
                answers, (standing, report) = await asyncio.gather(gathering, earlier)
                answers = replace(answers, reports=(*answers.reports, report))
            else:
                answers, standing = await gathering, NO_EARLIER_TEXTS
            answers = self.directive_cache.fill_missing(request.scope, answers, since)
            if answers.directive is None and assembly.last_directive is not None:
                answers = replace(answers, directive=Directive(assembly.last_directive))
            gathered = assembly.gathered = answers
            assembly.cut = shallow and depth.reached(gathered.candidates, gathered.unread, DEEP)
            candidates = distinct(gathered.candidates, request, said)
            if slot is not None:
                slot.gathered = self.clock.steady()
        if reason := unanswered(gathered.reports):
            self._fallback.answer(assembly, reason)
            return
        with assembly.stage("score", deadline):
            ranked = rank_candidates(
                assembly, gathered, candidates, self.relevance, self.clauses, deadline, self.clock.steady()
            )
            kept, elsewhere = task.separate(ranked.kept)
            ranked = ranked._replace(kept=kept)
            standing = standing.opened(ranked.kept)
            new, standing_already = standing.separate(ranked.kept)
        with assembly.stage("pack", deadline):
            layout = self._layout(request, strategy, tokens, gathered.query, first_number=standing.first_number)
            profile = choose_profile(
                new, standing.ids, tokens=strategy.profile, layout=layout, stands=standing.has_profile or standing.closed
            )
            bounds = partial(self._layout, request, strategy, Ceiling(), first_number=standing.first_number)
            room = room_for_new(assembly, gathered, standing, budget.available, layout)
            packing = await pack_in_time(assembly, gathered, ranked, profile.items, layout, bounds, room, deadline, self.clock)
        with assembly.stage("gate", deadline):
            patience = deadline.patience(self.clock.steady())
            passed, standing = await ask_gate(assembly, packing, standing, store, guard, patience, self.sources.keys())
            if passed is not packing:
                room = room if assembly.binds else budget.available - standing.cost
                packing = passed if assembly.hurried else trim(passed, room, layout)
            packing = replace(packing, refused=(*packing.refused, *standing_already, *elsewhere, *profile.left_out))
        with assembly.stage("write", _NO_DEADLINE):
            written = layout.write(packing.directive, packing.chosen)
        seen = replace(gathered, candidates=())
        found = sum(counts_as_memory(item.candidate) for item in ranked.kept) + len(gathered.unread)
        outcome = Outcome(gathered=seen, available=found, packing=packing, written=written, standing=standing, need=ranked.need)
        assembly.finish(outcome)
        if assembly.level == 0 and not assembly.cut:
            self.result_cache.put(key, revision, outcome, self.clock.steady())

    async def _directive_known(self, request: Request, store: ScopedStore, strategy: Strategy, deadline: Deadline) -> None:
        """Waits until the directive of a call that is refused is known, where it isn't yet."""
        try:
            if any(plan.name == "directive" and plan.limit > 0 for plan in strategy.sources):
                task = self.directive_reads.start(store, self.directive_cache, self._guard(request.scope, deadline))
                await self.directive_reads.wait(task, deadline, self.clock)
        except PROPAGATED:
            raise
        except BaseException:
            return

    async def _gather(
        self,
        request: Request,
        store: ScopedStore,
        strategy: Strategy,
        deadline: Deadline,
        guard: Guard,
        said: RequestContents,
        depth: SearchDepth,
        task: RunningTask = NO_TASK,
        *,
        searching: bool = True,
    ) -> Gathered:
        asked = partial(
            sources, store, strategy, self.sources, blocks=request.blocks, tasks=task.read, relevance=self.relevance
        )
        return await gather(
            task.joined(read(request), request.messages),
            store,
            strategy,
            asked(wait=deadline.answer is None, said=said, depth=depth, searching=searching),
            embedder=self.embedder,
            ends=deadline.gathered,
            clock=self.clock,
            abandoned=self.abandoned,
            start_attempt=guard.start_attempt,
        )

    def _guard(self, scope: Scope, deadline: Deadline) -> Guard:
        return Guard(
            clock=self.clock,
            breakers=self.breakers,
            abandoned=self.abandoned,
            key=breaker_key(scope),
            force=deadline.answer is None,
        )

    def _layout(
        self, request: Request, strategy: Strategy, tokens: Tokenizer, query: Query | None = None, first_number: int = 1
    ) -> Format:
        return open_format(
            strategy.format,
            tokenizer=tokens,
            nonce=nonce(self.nonce_key, request.scope),
            zone=zone(request.scope.zone),
            terms=[] if query is None else [term.word for term in query.terms],
            details=strategy.details,
            first_number=first_number,
            apart=strategy.placement == "append",
            shortening=strategy.shorten,
            recent=RECENT,
        )

    @property
    def _start(self) -> AssemblyStart:
        return AssemblyStart(clock=self.clock, nonce_key=self.nonce_key, injections=self.injections)

    @property
    def _fallback(self) -> FallbackLadder:
        return FallbackLadder(
            catalog=self.catalog, tokenizer=self.tokenizer, directive_cache=self.directive_cache, layout=self._layout
        )


# How an assembly begins: with the caller's request without germane's own text, and with the texts of earlier calls that
# stay in the prompt even if the assembly fails (INJECT-6, INJECT-10). Nothing here raises an error of its own.


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyStart:
    """Begins assemblies. `nonce_key` is that of the store, by which germane's text is known again."""

    clock: Clock
    nonce_key: bytes
    injections: InjectionLog

    def begin(self, request: Request, strategy: Strategy) -> tuple[Assembly, Returned]:
        """An assembly of the request without germane's own text, where the caller sent that back, and what was taken out."""
        returned = Returned(request)
        try:
            if strategy.placement == "append":
                returned = without_returned(request, nonce(self.nonce_key, request.scope))
        except PROPAGATED:
            raise
        except BaseException:
            returned = Returned(request)
        assembly = Assembly(returned.request, strategy, self.clock)
        assembly.binds = strategy.placement == "append" and request.scope.session is not None and request.binds_thinking
        self.replay(assembly, returned)
        return assembly, returned

    def replay(self, assembly: Assembly, returned: Returned) -> None:
        """Notes what stands whatever fails, where the model binds its thinking; anew once the conversation was compacted."""
        if not assembly.binds:
            return
        try:
            assembly.known = self.injections.last_known(assembly.request, returned, self.nonce_key, self.clock.now())
            assembly.shown, assembly.key = returned.stable, self.nonce_key
            assembly.last_directive = self.injections.last_directive(assembly.request.scope)
        except PROPAGATED:
            raise
        except BaseException:
            return

    def stand_again(self, assembly: Assembly) -> None:
        """Notes what the session of a failed assembly was last sent, where its records weren't read: the provider's cache holds
        the prompt with these texts."""
        if assembly.binds or assembly.read or assembly.strategy.placement != "append":
            return
        try:
            assembly.known = self.injections.last_sent(assembly.request, self.nonce_key)
        except PROPAGATED:
            raise
        except BaseException:
            return


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """`breakers` are those of every source called so far, of the store's `gate` and `revision` too. `abandoned` tasks still run
    although no assembly waits for them; `abandoned_total` counts all since the start. `working` and `waiting` count assemblies
    with a deadline, `shed` those refused since the start, `cache_hits` and `cache_misses` the result cache's.
    `embedder_fault` says why an embedder that is slow or behind a network gives no vectors at the moment; meanwhile keywords
    alone are used. `refused_texts` are those that the embedder refuses while it embeds others; keywords find them."""

    breakers: tuple[BreakerState, ...] = ()
    abandoned: int = 0
    abandoned_total: int = 0
    working: int = 0
    waiting: int = 0
    shed: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    read_only: bool = False
    embedder_fault: str = ""
    refused_texts: int = 0
    llm_fault: str = ""
    """What the extraction with a language model waits for: its endpoint, or the next day's tokens; empty if nothing."""
    llm_calls: int = 0
    llm_input_tokens: int = 0
    llm_output_tokens: int = 0
    """These three count since this process opened the store, for extraction and for summaries."""
    llm_usage: tuple[LLMUsage, ...] = ()
    """What each agent spent today, in all processes."""
    extraction_waiting: int = 0
    extraction_parked: int = 0
    """Runs of messages that a language model is to read, and those that failed too often."""
    extracted_memories: int = 0
