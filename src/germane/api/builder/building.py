"""Building: one build, from what the steps said to the request for the SDK.

The tokens are shared out in this order: tools, instructions and rules, the answer's reserve and the running exchange are fixed;
then come the directive, the blocks and the activity, within the tokens for memory; then the older exchanges, the newest first;
what memory has left goes to the assembly, which adds what it finds within it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from germane.api.arguments import build_request
from germane.api.builder.builder import BuildMetadata, BuildPlan, BuiltRequest, CachePoint, TokensByPart
from germane.api.builder.stored_parts import StandingParts, StandingReader
from germane.api.builder.system_prompt import Activity, BlockPacking, pack_blocks, recent_activity, write_activity
from germane.api.strategies import allowed_filters
from germane.api.wiring import Parts
from germane.catalog.media_tokens import WrittenObject
from germane.catalog.profiles import Profile
from germane.catalog.request_tokens import CountedTokenizer, count_within, measure, message_tokens, texts_of, tools_tokens
from germane.clock import zone
from germane.compaction.exchanges import divide
from germane.dialects.registry import RequestBody, body_of
from germane.dialects.tools import WrittenTools, convert_tools
from germane.errors import PROPAGATED, InvalidInput
from germane.ports.background import aside
from germane.stages.compact import HistoryTerms, compact_history
from germane.stages.inject import untouched, without_returned
from germane.stages.write.escape import nonce
from germane.tool_rules.wording import write_rules
from germane.types.budget import RequestLimits
from germane.types.context import Context
from germane.types.limits import COUNT, IDS
from germane.types.message import Tool, Wire
from germane.types.nested_data import plain_size
from germane.types.reports import HistoryReport
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Strategy

_DIRECTIVE_TAG_TOKENS = 48
"""Tokens of the tags around a directive and of the standing notice, at most."""
_MAX_INLINE = 50_000
"""Values and characters of tools that are read on the event loop; more are read in a thread."""
_COMPACTING_SHARE = 0.4
"""The share of the time left that compacting the conversation may take."""


@dataclass(frozen=True, slots=True)
class Building:
    """Builds requests for one agent's handle."""

    parts: Parts
    scope: Scope

    async def build(self, plan: BuildPlan) -> BuiltRequest:
        """Raises `InvalidInput` for arguments that can't be used, and nothing else but cancellation."""
        if plan.model is None:
            raise InvalidInput("the builder has no model", advice="name one with with_model('gpt-4o')")
        parts, scope, began = self.parts, self.scope.within(plan.session), self.parts.clock.steady()
        strategy = parts.strategies.find(plan.strategy)
        read = partial(
            build_request,
            scope=scope,
            catalog=parts.catalog,
            clock=parts.clock,
            messages=plan.messages,
            model=plan.model,
            provider=plan.provider,
            at=plan.at,
            query=plan.query,
            deadline=plan.deadline,
            filters=allowed_filters(strategy, plan.filters),
            effort=strategy.effort,
            window=plan.window,
            like=plan.like,
        )
        request = await aside(len(plan.messages), read)
        convert = partial(convert_tools, plan.tools, request.provider)
        tools = await asyncio.to_thread(_written_once, convert) if _are_large(plan.tools) else convert()
        request = replace(request, tools=tuple(tools.tools))
        try:
            return await _Build(self, plan, strategy, request, tools, began).run()
        except PROPAGATED:
            raise
        except BaseException as error:
            return self._bare(plan, request, tools, f"build: {type(error).__name__}")

    def _bare(self, plan: BuildPlan, request: Request, tools: WrittenTools, fault: str) -> BuiltRequest:
        """The request without anything of germane's: instructions, rules, messages and tools as they were given."""
        profile = self.parts.catalog.find(request.model, like=request.like, window=request.window)
        limits = plan.limits.of((profile.name, request.model), profile.window, profile.max_output)
        injected = untouched(request)
        try:
            wire = injected.convert(request.provider)
        except PROPAGATED:
            raise
        except BaseException:
            wire = Wire(messages=list(injected.messages), system=injected.system)  # type: ignore[arg-type]
        system = (plan.instructions, write_rules(plan.rules))
        body = _body(request, wire, system, limits)
        metadata = BuildMetadata(
            limits=limits, message_count=len(request.raw), losses=tools.losses, tool_names=tools.names, faults=(fault,)
        )
        return _built(request, body, metadata, None)


class _Build:
    """Mutable. One build of one request."""

    def __init__(
        self, building: Building, plan: BuildPlan, strategy: Strategy, request: Request, tools: WrittenTools, began: float
    ) -> None:
        self._parts, self._plan, self._tools, self._began = building.parts, plan, tools, began
        self._strategy = replace(strategy, sources=tuple(each for each in strategy.sources if each.name != "blocks"))
        self._asked = strategy
        self._nonce = nonce(self._parts.engine.nonce_key, request.scope)
        self._request = without_returned(request, self._nonce).request if strategy.placement == "append" else request
        self._faults: list[str] = []

    async def run(self) -> BuiltRequest:
        plan, request, engine = self._plan, self._request, self._parts.engine
        profile = self._parts.catalog.find(request.model, like=request.like, window=request.window)
        limits = plan.limits.of((profile.name, request.model), profile.window, profile.max_output)
        many = len(request.messages)
        texts = await aside(many, lambda: list(texts_of(request.messages, request.tools)))
        counter = await count_within(engine.tokenizer(profile.tokenizer), texts)
        read = await StandingReader(
            parts=self._parts, plan=plan, request=request, strategy=self._asked, began=self._began, faults=self._faults
        ).read()
        costs = await aside(many, lambda: [message_tokens(one, profile, counter.count) for one in request.messages])
        rules = write_rules(plan.rules)
        stated = sum(counter.count(text) for text in (plan.instructions, rules) if text)
        lead, exchanges = await aside(many, partial(divide, request.messages))
        active = sum(costs[exchanges[-1].start :]) if exchanges else 0
        room = self._room(limits, profile, counter, lead, stated)
        memory = min(limits.memory_tokens, max(0, room - active))
        directive = counter.count(read.directive) + _DIRECTIVE_TAG_TOKENS if read.directive else 0
        packing = self._packed(read, memory - directive, counter)
        activity, written = self._active(memory - directive - packing.tokens, counter)
        said = counter.count(written) if written else 0
        left = max(0, memory - packing.tokens - said)
        older = min(limits.history_tokens, max(0, room - memory))
        report = await self._compacted(max(older, min(active, room)), limits)
        request = self._request
        standing = frozenset(each.block.id for each in packing.shown if plan.blocks is None)
        beside = stated + packing.tokens + said + 2 * profile.per_message
        context = await self._assembled(limits, beside, left, standing)
        front = [plan.instructions, context.stable, *(each.text for each in packing.core)]
        behind = [*(each.text for each in packing.working), written, rules]
        system = "\n\n".join(filter(None, front)), "\n\n".join(filter(None, behind))
        convert = context.convert_turns or context.convert
        body = await aside(many, lambda: _body(request, convert(request.provider), system, limits))
        stable = counter.count(context.stable) if context.stable else 0
        schemas = tools_tokens(request.tools, profile, counter.count)
        history = report.tokens - schemas
        tokens = TokensByPart(
            instructions=counter.count(plan.instructions) if plan.instructions else 0,
            directive=stable,
            core_blocks=sum(each.tokens for each in packing.core),
            working_blocks=sum(each.tokens for each in packing.working),
            activity=said,
            tool_rules=counter.count(rules) if rules else 0,
            found=max(0, context.metadata.total_tokens_injected - stable),
            tools=schemas,
            history=history,
        )
        metadata = BuildMetadata(
            tokens=tokens,
            limits=limits,
            message_count=len(request.messages),
            archived=report.summarised + report.dropped,
            compression="compacted" if report.summarised or report.dropped or report.masked else "none",
            history=report,
            blocks=packing.shown,
            blocks_left_out=packing.left_out,
            activity_shown=len(activity),
            cache_points=_cache_points(tokens, body, before=history - profile.per_request - active),
            losses=self._tools.losses,
            tool_names=self._tools.names,
            faults=tuple(self._faults),
            warnings=self._warnings(context, report, active, limits),
        )
        return _built(request, body, metadata, context)

    def _room(self, limits: RequestLimits, profile: Profile, counter: CountedTokenizer, lead: int, stated: int) -> int:
        """The tokens that conversation and memory may take together."""
        request = self._request
        sized = replace(profile, window=limits.max_tokens)
        return measure(
            request.messages[:lead],
            request.tools,
            sized,
            counter,
            COUNT.maximum,
            beside=stated,
            reserve=limits.response_tokens,
        ).available

    def _packed(self, read: StandingParts, available: int, counter: CountedTokenizer) -> BlockPacking:
        try:
            return pack_blocks(
                read.blocks,
                read.references,
                available=available,
                count=counter.count,
                nonce=self._nonce,
                descriptions=self._plan.descriptions,
                schemas=self._plan.schemas,
            )
        except PROPAGATED:
            raise
        except BaseException as error:
            self._faults.append(f"blocks: {type(error).__name__}")
            return BlockPacking()

    def _active(self, available: int, counter: CountedTokenizer) -> tuple[Sequence[Activity], str]:
        """The activity that fits, the newest first of all, and its section."""
        scope = self._request.scope
        entries: Sequence[Activity] = recent_activity(self._plan.activity, scope.agent, self._request.at)
        while entries:
            text = write_activity(entries, self._nonce, zone(scope.zone))
            if counter.count(text) <= available:
                return entries, text
            entries = entries[1:]
        return (), ""

    async def _compacted(self, tokens: int, limits: RequestLimits) -> HistoryReport:
        """Makes the conversation fit into so many tokens, and into the number of messages."""
        parts, deadline = self._parts, self._plan.deadline
        spent = parts.clock.steady() - self._began
        self._request, report = await compact_history(
            parts.engine.compactor,
            self._request,
            HistoryTerms(
                strategy=self._plan.history,
                max_tokens=tokens,
                max_messages=limits.max_messages,
                keep=self._plan.keep_history,
            ),
            parts.store.within(self._request.scope),
            catalog=parts.catalog,
            tokenizers=parts.engine.tokenizer,
            cap=0,
            seconds=None if deadline is None else max(0.001, (deadline - spent) * _COMPACTING_SHARE),
        )
        return report

    async def _assembled(self, limits: RequestLimits, beside: int, left: int, standing: frozenset[str]) -> Context:
        """`standing` are the ids of the stored blocks that the system prompt shows: they aren't found for it again."""
        request, parts, filters = self._request, self._parts, self._request.filters
        request = replace(
            request,
            filters=replace(filters, exclude=frozenset([*filters.exclude, *standing][: IDS.maximum])),
            window=limits.max_tokens,
            reserve=limits.response_tokens,
            beside=beside,
            max_tokens=left,
        )
        store = parts.store.within(request.scope)
        context = await parts.engine.assemble(request, store, self._strategy, self._began)
        parts.retrievals.injected(request.scope.within(None), context.items)
        parts.injections.note(request.scope)
        return context

    def _warnings(self, context: Context, report: HistoryReport, running: int, limits: RequestLimits) -> tuple[str, ...]:
        found = [*context.metadata.warnings, *(f"the conversation: {reason}" for reason in report.reasons)]
        if reason := context.metadata.fallback_reason:
            found.append(f"the assembly gave less than it could: {reason}")
        if running > limits.history_tokens:
            found.append("the running exchange alone takes more than the tokens for the history: nothing of it is left out")
        return tuple(found)


def _are_large(tools: Sequence[Mapping[str, Any] | Tool]) -> bool:
    """Whether reading these tools would keep others waiting."""
    size = 0
    for one in tools:
        counted = plain_size(one.schema if isinstance(one, Tool) else one)
        if counted is None:
            return True
        size += sum(counted)
        if size > _MAX_INLINE:
            return True
    return False


def _written_once(convert: Callable[[], WrittenTools]) -> WrittenTools:
    """The tools with their JSON, which is counted at several places."""
    tools = convert()
    return replace(tools, tools=[WrittenObject(one) for one in tools.tools])


def _body(request: Request, wire: Wire, system: Sequence[str], limits: RequestLimits) -> RequestBody:
    return body_of(
        request.provider,
        model=request.model,
        wire=wire,
        system=system,
        tools=request.tools,
        max_output=limits.response_tokens,
    )


def _built(request: Request, body: RequestBody, metadata: BuildMetadata, context: Context | None) -> BuiltRequest:
    return BuiltRequest(
        provider=request.provider,
        model=request.model,
        system=body.system,
        messages=body.messages,
        tools=body.tools,
        metadata=metadata,
        context=context,
        kwargs=body.kwargs,
    )


def _cache_points(tokens: TokensByPart, body: RequestBody, *, before: int) -> tuple[CachePoint, ...]:
    """The prefixes in the order of the request; `before` are the tokens of the conversation before the running exchange."""
    stable = tokens.tools + tokens.instructions + tokens.directive + tokens.core_blocks
    points = [CachePoint(place="tools", tokens=tokens.tools, marked="tools" in body.marked)] if tokens.tools else []
    if stable > tokens.tools:
        points.append(CachePoint(place="instructions", tokens=stable, marked="instructions" in body.marked))
    if before > 0:
        history = tokens.tools + tokens.system + before
        points.append(CachePoint(place="history", tokens=history, marked="history" in body.marked))
    return tuple(points)
