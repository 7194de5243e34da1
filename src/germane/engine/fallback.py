"""Answer: the context of an assembly; if it fails or is late, the directive as last known, else the messages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock

from germane.catalog import profiles
from germane.catalog.profiles import Catalog
from germane.catalog.request_tokens import Ceiling, at_most, is_light, measure
from germane.clock import Clock
from germane.dialects.registry import shaping
from germane.engine.assembly import Assembly, Deadline, counts_as_memory
from germane.engine.breakers import Guard
from germane.engine.earlier_injections import NO_EARLIER_TEXTS
from germane.engine.turns import changed_turns
from germane.errors import PROPAGATED
from germane.kinds.memories.directive import CurrentDirective, Directive
from germane.ports.models import Tokenizer
from germane.stages.gather.gather import Gathered
from germane.stages.gather.memories import PROFILE
from germane.stages.gather.source import SHALLOW_ITEMS
from germane.stages.inject import inject, untouched
from germane.stages.measure import Measured
from germane.stages.write.layout import Format
from germane.stores.contract import ScopedStore
from germane.types.budget import Cut
from germane.types.caches import LruCache
from germane.types.context import Context, Metadata
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Strategy
from germane.types.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackLadder:
    """The last rungs of the ladder (ENGINE-2). No rung does I/O, and none of their faults reaches the caller.

    1. The directive, counted by the model's tokenizer.
    2. The directive, with an upper bound of the tokens in place of a count, in case the tokenizer is what failed.
    3. The messages alone.
    """

    catalog: Catalog
    tokenizer: Callable[[str], Tokenizer]
    directive_cache: DirectiveCache
    layout: Callable[[Request, Strategy, Tokenizer], Format]

    def answer(self, assembly: Assembly, reason: str) -> None:
        """Ends the assembly. `reason` becomes `metadata.fallback_reason`."""
        directive = self._directive(assembly)
        for counted in (True, False):
            if self._directive_only(assembly, directive, reason, counted=counted):
                return
        if not assembly.binds:
            assembly.known = NO_EARLIER_TEXTS
        assembly.messages_only(reason)

    def _directive(self, assembly: Assembly) -> str | None:
        """The directive as this assembly read it, else as it was last known, to all or to this session; None where neither is
        there."""
        if assembly.gathered is not None:
            return None if assembly.gathered.directive is None else assembly.gathered.directive.text
        if not any(plan.name == "directive" and plan.limit > 0 for plan in assembly.strategy.sources):
            return ""
        last = self.directive_cache.last(assembly.request.scope)
        return assembly.last_directive if last is None else last

    def _directive_only(self, assembly: Assembly, directive: str | None, reason: str, *, counted: bool) -> bool:
        """Returns whether this rung answered."""
        try:
            measured = assembly.measured = self._measured(assembly, counted=counted)
            if not assembly.binds and assembly.known.cost > measured.budget.available:
                assembly.known = NO_EARLIER_TEXTS
            layout = self.layout(assembly.request, assembly.strategy, measured.tokenizer)
            assembly.directive_only(directive, layout, reason)
        except PROPAGATED:
            raise
        except BaseException:
            return False
        return True

    def _measured(self, assembly: Assembly, *, counted: bool) -> Measured:
        """What is known already, else measured now. Only small requests are counted: counting a large one would take too long,
        so it gets an upper bound from its size. Without `counted` no tokenizer is called."""
        if assembly.measured is not None:
            return assembly.measured if counted else assembly.measured._replace(tokenizer=Ceiling())
        request = assembly.request
        profile = self.catalog.find(request.model, like=request.like, window=request.window)
        tokenizer = self.tokenizer(profile.tokenizer) if counted else Ceiling()
        exact = counted and is_light(request.messages, request.tools)
        extra = shaping(request.messages, profile, tokenizer.count if exact else tokenizer.ceiling)
        size = measure if exact else at_most
        sent = {"shaping": extra, "beside": request.beside}
        budget = size(request.messages, request.tools, profile, tokenizer, assembly.cap, **sent, reserve=request.reserve)
        return Measured(profile, tokenizer, budget)


# An agent's directive and a user's own one are two entries: what is known of an agent holds for each of its users.
# Entries are learned at opening, from each answer and from each change; `revise` corrects them after another process
# changed a directive.


_MAX_READS = 16
"""How often a directive is read at most until no directive changes meanwhile."""

_Key = tuple[str, str, str | None]
"""Org, agent and user; the agent-wide directive has None as its user."""


class DirectiveCache:
    """Thread-safe. Bounded: the agents' directives and the users' own ones have `max_entries` each, of which the least recently
    learned is evicted. `changes` counts the changes: what was read before a change isn't learned after it."""

    def __init__(self, max_entries: int = 16_384) -> None:
        self._agents: LruCache[_Key, str | None] = LruCache(max_entries)
        self._own: LruCache[_Key, str | None] = LruCache(max_entries)
        """Empty for a user who is known to have none; None for one who had things forgotten, and may have one or not."""
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
        for _ in range(_MAX_READS):
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
        where nothing is known, and for a user of whom something was forgotten since."""
        own = "" if scope.user is None else self._own.get((scope.org, scope.agent, scope.user), "")
        return None if own is None else own or self._agents.get((scope.org, scope.agent, None))

    def knows(self, scope: Scope) -> bool:
        """Whether both are known: the agent's directive, and whether the user has an own one."""
        key = (scope.org, scope.agent, scope.user)
        return (key[0], key[1], None) in self._agents and (scope.user is None or self._own.get(key) is not None)

    def forget(self, scope: Scope) -> None:
        """Drops the directive of this scope's user, or the agent's and those of all its users where the scope has no user:
        something was forgotten there, perhaps the directive too. The agent's doesn't take the place of the user's."""
        with self._lock:
            self.changes += 1
            if scope.user is not None:
                self._own.put((scope.org, scope.agent, scope.user), None)
                return
            for entries in (self._agents, self._own):
                entries.drop(lambda key: key[:2] == (scope.org, scope.agent))

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

    def _correct(self, entries: LruCache[_Key, str | None], key: _Key, before: str | None, now: str) -> None:
        with self._lock:
            if entries.get(key) == before:
                self.changes += 1
                entries[key] = now


# Reads of directives that are shared by all calls of a scope.


_READ_PATIENCE = 0.25
"""Seconds that a read may take, whatever the deadline of the call that began it: later calls share it."""

_ReadKey = tuple[asyncio.AbstractEventLoop, str, str, str | None]


class DirectiveReads:
    """The reads that run now, one for each scope (org, agent, user) and event loop. What they find goes to the cache."""

    def __init__(self) -> None:
        self._running: dict[_ReadKey, asyncio.Task[None]] = {}

    def start(self, store: ScopedStore, cache: DirectiveCache, guard: Guard) -> asyncio.Task[None] | None:
        """Starts a read of this scope's directive, or joins the read that runs. None where it is known."""
        scope = store.scope
        if cache.knows(scope):
            return None
        key = (asyncio.get_running_loop(), scope.org, scope.agent, scope.user)
        if (task := self._running.get(key)) is None:
            task = self._running[key] = asyncio.create_task(_read(store, cache, guard))
            task.add_done_callback(lambda _: self._running.pop(key, None))
        return task

    async def wait(self, task: asyncio.Task[None] | None, deadline: Deadline, clock: Clock) -> None:
        """Waits for a read that `start` returned, as long as the deadline allows. Cancelling the caller leaves the read to the
        other calls."""
        patience = deadline.patience(clock.steady())
        if task is not None and (patience is None or patience > 0):
            await asyncio.wait([task], timeout=patience)


async def _read(store: ScopedStore, cache: DirectiveCache, guard: Guard) -> None:
    """A failure only means that nothing is learned."""
    try:
        read = partial(store.ask, CurrentDirective())
        await cache.read(store.scope, lambda: guard.call("directive", read, Directive, patience=_READ_PATIENCE))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        return


# Answer: the context that an assembly gives back, with its metadata, its trace and its warnings, however far it got.


_PREFIX_CHANGED = (
    "what germane put before the thinking in the answers to messages {} isn't what stood there when it was made, or can't be "
    "known: the provider refuses this request unless it may drop that thinking (context.to_anthropic(thinking=…))"
)


def answer_of(assembly: Assembly) -> Context:
    """Writes what was assembled into the request's messages. Where that fails, the assembly ends with the messages alone."""
    request, placement, written = assembly.request, assembly.strategy.placement, assembly.written
    stable, late = (written.text, "") if placement == "first" else (written.stable, written.late)
    try:
        earlier = {text.turn: text.text for text in assembly.standing.texts}
        injected = inject(request, stable, late, placement=placement, earlier=earlier)
    except PROPAGATED:
        raise
    except BaseException as error:
        assembly.give_up(f"assembly_error:{type(error).__name__}")
        injected = untouched(request)
    changed = _changed(assembly)
    warnings = (*_warnings(assembly), *((_PREFIX_CHANGED.format(", ".join(map(str, changed))),) if changed else ()))
    return Context(
        provider=request.provider,
        messages=injected.messages,
        system=injected.system,
        added=injected.added,
        items=assembly.written.items,
        metadata=_metadata(assembly, warnings, changed=bool(changed)),
        trace=_trace(assembly, warnings),
        convert=injected.convert,
        stable=stable if injected.added else "",
        convert_turns=injected.convert_turns,
        earlier=assembly.standing.texts,
    )


def _changed(assembly: Assembly) -> list[int]:
    """The turns with thinking that the provider will refuse, as other text of germane's stands before it than when it was
    made."""
    try:
        if not assembly.binds:
            return []
        standing = assembly.standing
        return changed_turns(assembly.request.messages, standing.turns, assembly.prefixes(), standing.recorded)
    except PROPAGATED:
        raise
    except BaseException:
        return [0]


def _metadata(assembly: Assembly, warnings: tuple[str, ...], *, changed: bool) -> Metadata:
    items = [item for item in assembly.written.items if counts_as_memory(item.scored.candidate)]
    packing, budget, need = assembly.packing, assembly.budget, assembly.need
    used = 0 if budget is None else budget.messages + budget.tools + assembly.tokens
    window = 1 if budget is None else max(1, budget.window)
    assessed = need if need is not None and need.threshold else None
    return Metadata(
        directive_injected=bool(assembly.written.text) and (assembly.level == 2 or bool(packing and packing.directive)),
        memories_injected=len(items),
        memories_available=0 if assembly.outcome is None else assembly.outcome.available,
        total_tokens_injected=assembly.tokens,
        context_window_used=100 * used // window,
        was_truncated=bool(packing and packing.was_truncated),
        fallback_reason=assembly.reason,
        memory_ids=tuple(item.id for item in items),
        degradation_level=assembly.level,
        sources=assembly.reports,
        timings=assembly.timings,
        cached=assembly.cached,
        warnings=warnings,
        need=None if assessed is None else assessed.probability,
        need_threshold=None if assessed is None else assessed.threshold,
        earlier_tokens=assembly.standing.tokens,
        profile_tokens=assembly.standing.profile_tokens
        + sum(item.tokens for item in assembly.written.items if item.source == PROFILE),
        history=assembly.history,
        thinking_prefix_changed=changed,
    )


def _trace(assembly: Assembly, warnings: tuple[str, ...]) -> Trace:
    packing, gathered = assembly.packing, assembly.gathered
    return Trace(
        strategy=assembly.strategy.name,
        model=assembly.request.model,
        tokenizer="" if assembly.measured is None else assembly.measured.tokenizer.name,
        query=None if gathered is None else replace(gathered.query, vector=None),
        budget=assembly.budget,
        chosen=assembly.written.items,
        left_out=() if packing is None else packing.left_out,
        unread=() if gathered is None else gathered.unread,
        gap=None if packing is None else packing.gap,
        sources=assembly.reports,
        timings=assembly.timings,
        warnings=warnings,
        need=assembly.need,
        cut=None if packing is None or packing.price is None else Cut.of(packing.price, packing.refused),
        earlier=assembly.standing.texts,
    )


def _warnings(assembly: Assembly) -> Iterator[str]:
    packing, budget, request = assembly.packing, assembly.budget, assembly.request
    profile = None if assembly.measured is None else assembly.measured.profile
    if profile is not None and not profile.known:
        yield profiles.unknown_model_warning(request.model, profile.window)
    if packing is not None and packing.directive_left_out:
        yield f"the directive was left out: {packing.directive_left_out}"
    if assembly.shallow:
        yield f"other calls were waiting: each search looked for its best {SHALLOW_ITEMS} results and no further"
    yield from assembly.standing.warnings
    if assembly.history is not None:
        yield from (f"the conversation: {reason}" for reason in assembly.history.reasons)
    yield from _absent_blocks(assembly)
    if isinstance(request.task, str) and any(one.name == "tasks" and one.reason == "no_task" for one in assembly.reports):
        yield f"there is no task {request.task!r} in this session, which the request names"
    if assembly.directive is None:
        yield "the directive couldn't be read, and none is known of this scope yet: the answer goes without"
    if budget is not None and budget.is_constrained and not budget.exceeds_window:
        yield f"only {budget.available} tokens are left to add anything"


def _absent_blocks(assembly: Assembly) -> Iterator[str]:
    """Names of blocks in the request that nothing was found for, where the blocks could be read."""
    named, packing = assembly.request.blocks, assembly.packing
    if not named or packing is None:
        return
    if not any(report.name == "blocks" and report.status == "ok" for report in assembly.reports):
        return
    offered = [*(item.scored for item in packing.chosen), *(out.scored for out in packing.left_out)]
    blocks = [block for scored in offered if (block := scored.candidate.block) is not None]
    known = {name for block in blocks for name in (block.id, block.label)}
    yield from (f"there is no block {name!r} here, which the request names" for name in named if name not in known)
