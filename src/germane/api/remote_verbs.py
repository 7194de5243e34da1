"""Remote verbs: operations where the library's own method takes or returns more than data, such as a trace or a `Delegation`.

Each does what the method of `Agent` with the same name does, and returns what a client in another process can use
(`remote_values.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from germane.api.agent import Agent
from germane.api.arguments import System
from germane.api.builder.builder import BuildMetadata
from germane.api.builder.system_prompt import Activity
from germane.api.germane import Germane
from germane.compaction.plan import report_of
from germane.compaction.strategy import SUMMARISE, CompactionStrategy
from germane.errors import InvalidInput
from germane.kinds.remote_values import (
    CheckedCalls,
    ConsideredThing,
    KnownAbout,
    KnownThing,
    RemoteActivity,
    RemoteCompaction,
    RemoteComponent,
    RemoteContext,
    RemoteDelegation,
    RemoteDigest,
    RemoteEarlier,
    RemoteOutline,
    RemoteOutlineLine,
    RemoteRequest,
    RemoteSummary,
)
from germane.tool_rules.enforce import ToolRules
from germane.tool_rules.value import ToolRule, parse_rule
from germane.types.budget import Effort, RequestLimits
from germane.types.candidate import Scored
from germane.types.checks import check_answer_time, check_flag, check_size, check_text, check_whole_number
from germane.types.codec import encode
from germane.types.inventory import AgentPage
from germane.types.limits import COUNT, EXPLAINED, ID, LIST_ITEMS, MESSAGES, PAGE, TOOL_CHARACTERS
from germane.types.message import Message, Raw, ToolCall
from germane.types.nested_data import bounded
from germane.types.operation import operation
from germane.types.query import Filters
from germane.types.reports import Why


def plain_messages(messages: Iterable[Raw]) -> list[Mapping[str, Any]]:
    """Returns the messages as dicts."""
    return [{"role": one.role, "content": one.content} if isinstance(one, Message) else one for one in messages]


class RemoteVerbs:
    """The verbs of one agent's scope. `keep` says whether its caller may write."""

    def __init__(self, agent: Agent, germane: Germane, *, keep: bool) -> None:
        self._agent, self._germane, self._keep = agent, germane, keep

    @operation("read", of_org=True)
    async def agents(self, *, limit: int = 50, cursor: str | None = None) -> AgentPage:
        """Returns a page of `limit` (1 to 1,000) of the org's agents with what each has stored. Raises `InvalidInput`, and
        `GermaneError` where the key doesn't allow all agents of the org."""
        return await self._germane.agents(self._agent.scope.org, limit=limit, cursor=cursor)

    @operation("read")
    async def directive(self) -> str:
        """Returns the agent's standing instructions (a user's own where one is set)."""
        return await self._agent.directive()

    @operation("write")
    async def set_directive(self, text: str) -> str:
        """Replaces the standing instructions and returns them; an empty text removes them. Raises `InvalidInput`."""
        return await self._agent.directive(text)

    @operation("read")
    async def search(
        self,
        query: str,
        limit: int = 10,
        *,
        filters: Filters | None = None,
        at: datetime | None = None,
        strategy: str = "default",
    ) -> tuple[Scored, ...]:
        """Returns the memories, messages, archival entries and blocks that answer `query` best, scored, best first, at most
        `limit` (1 to 1,000). Raises `InvalidInput`."""
        check_whole_number("limit", limit, 1, PAGE.maximum)
        return await self._agent.search(query, limit, filters=filters, at=at, strategy=strategy)

    @operation("read")
    async def about(
        self,
        name: str | None = None,
        *,
        at: datetime | None = None,
        max_tokens: int = 1000,
        model: str = "gpt-4o",
        filters: Filters | None = None,
    ) -> KnownAbout:
        """Returns everything that is known about a person or a thing: what holds now, what no longer holds, and the messages
        that name it, within `max_tokens`; without a name, about the user. `at` is the time asked about (default: now). Raises
        `InvalidInput`."""
        found = await self._agent.about(name, at=at, max_tokens=max_tokens, model=model, filters=filters)
        return KnownAbout(
            name=name or self._agent.scope.user or "me",
            current=tuple(map(KnownThing.of, found.current)),
            earlier=tuple(map(KnownThing.of, found.earlier)),
            mentions=tuple(map(KnownThing.of, found.mentions)),
            text=found.text,
            tokens=found.tokens,
            left_out=found.left_out,
            hints=found.hints,
        )

    @operation("read")
    async def build_context(
        self,
        query: str,
        *,
        session: str | None = None,
        max_tokens: int,
        strategy: str | Mapping[str, Any] | None = None,
        additional_context: str | None = None,
        filters: Filters | None = None,
        model: str = "gpt-4o",
        at: datetime | None = None,
        deadline: float = 0.25,
        explain: bool = False,
    ) -> RemoteContext:
        """Returns what is known for `query` as one text of at most `max_tokens` tokens, with its components, as
        `germane.Agent.build` does. `strategy` is a name, or the settings to change; `deadline` is in seconds. `explain` asks
        for everything that was considered, in and out, with the reasons. Raises `InvalidInput`."""
        check_flag("explain", explain)
        check_answer_time("deadline", deadline)
        built = await self._agent.build(
            query,
            session=session,
            max_tokens=max_tokens,
            strategy=strategy,
            additional_context=additional_context,
            filters=filters,
            model=model,
            at=at,
            deadline=deadline,
        )
        figures = built.metadata
        considered, unlisted = ConsideredThing.in_trace(built.trace) if explain else ((), 0)
        return RemoteContext(
            considered=considered,
            unlisted=unlisted,
            content=built.content,
            components=tuple(
                RemoteComponent(**{one.name: getattr(part, one.name) for one in fields(RemoteComponent)})
                for part in built.components
            ),
            token_count=built.token_count,
            truncated=built.truncated,
            strategy=built.strategy.name,
            events_considered=figures.events_considered,
            entities_considered=figures.entities_considered,
            chunks_considered=figures.chunks_considered,
            assembly_ms=figures.assembly_ms,
            fallback_reason=figures.fallback_reason,
            degradation_level=figures.degradation_level,
        )

    @operation("read")
    async def digest(
        self,
        query: str,
        *,
        model: str = "gpt-4o",
        session: str | None = None,
        at: datetime | None = None,
        deadline: float = 0.25,
        max_tokens: int | None = None,
        filters: Filters | None = None,
        strategy: str = "digest",
    ) -> RemoteDigest:
        """Returns the memories that matter for `query` as a text of its own, for a prompt that you build yourself, as
        `germane.Agent.digest` does: a list with ids and provenance, or one line that says why there is none. `deadline` is in
        seconds. Raises `InvalidInput`."""
        check_answer_time("deadline", deadline)
        found = await self._agent.digest(
            query,
            model=model,
            session=session,
            at=at,
            deadline=deadline,
            max_tokens=max_tokens,
            filters=filters,
            strategy=strategy,
        )
        items = tuple(map(KnownThing.of, found.items))
        return RemoteDigest(text=found.text, status=found.status, items=items, tokens=found.tokens)

    @operation("read")
    async def expand(self, id: str, *, filters: Filters | None = None) -> str:
        """Returns the whole text of what has this id: a task's result, a message, a memory, an archival entry, a block. The ids
        of a context's lines are those of its items, or a component's `source`. Raises `NotFound`."""
        return (await self._agent.tasks.expand(id, filters=filters)).text

    @operation("read")
    async def why(
        self,
        id: str,
        messages: Sequence[Raw] = (),
        *,
        model: str,
        provider: str | None = None,
        session: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        query: str | None = None,
        at: datetime | None = None,
        max_tokens: int | None = None,
        strategy: str = "default",
        filters: Filters | None = None,
        effort: Effort | float | None = None,
        window: int | None = None,
        like: str | None = None,
        system: System | None = None,
        blocks: Sequence[str] = (),
        task: str | bool | None = None,
        deadline: float = 10.0,
    ) -> Why:
        """Assembles `messages` anew and returns what that did with one stored thing, and the reason. `id` is as in `find`; the
        others are those of `assemble`, and `deadline` is long enough that no slow source hides the reason. Raises
        `InvalidInput`."""
        check_answer_time("deadline", deadline)
        check_size("messages", bounded("messages", list(messages))[1], EXPLAINED)
        context = await self._agent.assemble(
            messages,
            model=model,
            provider=provider,
            session=session,
            tools=tools,
            query=query,
            at=at,
            max_tokens=max_tokens,
            strategy=strategy,
            filters=filters,
            effort=effort,
            window=window,
            like=like,
            system=system,
            blocks=blocks,
            task=task,
            deadline=deadline,
        )
        return await self._agent.why(id, context, session=session)

    @operation("read")
    async def build(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        model: str,
        provider: str | None = None,
        session: str | None = None,
        instructions: str = "",
        tools: Sequence[Mapping[str, Any]] = (),
        rules: Sequence[ToolRule | Mapping[str, Any]] = (),
        blocks: Sequence[str] = (),
        activity: Sequence[RemoteActivity] = (),
        limits: Mapping[str, int] | None = None,
        query: str | None = None,
        filters: Filters | None = None,
        at: datetime | None = None,
        strategy: str = "default",
        like: str | None = None,
        window: int | None = None,
        deadline: float = 0.25,
        schemas: bool = False,
        descriptions: bool = True,
        history: CompactionStrategy | None = None,
    ) -> RemoteRequest:
        """Builds a whole request, as `agent.builder()` does: instructions, directive, blocks, tools with their rules, as much
        of the history as fits, and what is found. `limits` holds some of `RequestLimits` by name, `deadline` is in seconds.
        `history` says what leaves first where the conversation doesn't fit (default `Summarise()`). Raises `InvalidInput`."""
        check_answer_time("deadline", deadline)
        check_size("messages", len(messages), MESSAGES)
        builder = (
            self._agent.builder()
            .with_model(model, provider, like=like, window=window)
            .with_messages(messages)
            .with_base_instructions(instructions)
            .with_tools(tools)
            .with_tool_rules(_rules(rules))
            .with_batch_blocks(*blocks)
            .with_blocks(descriptions=descriptions, schemas=schemas)
            .with_activity([Activity(at=one.at, agent=one.agent, text=one.text) for one in activity])
            .with_session(session)
            .with_query(query, filters=filters, at=at)
            .with_strategy(strategy)
            .with_deadline(deadline)
            .with_limits(**_limits(limits or {}))
            .with_history(history, keep=self._keep)
        )
        built = await builder
        return RemoteRequest(
            provider=built.provider,
            kwargs=await asyncio.to_thread(encode, built.as_kwargs()),
            metadata=_described(built.metadata),
            estimated_tokens=built.metadata.estimated_tokens,
            faults=built.metadata.faults,
        )

    @operation("read")
    async def check_tool_calls(
        self,
        rules: Sequence[ToolRule | Mapping[str, Any]],
        calls: Sequence[ToolCall] = (),
        *,
        state: str = "",
        begin_turn: bool = False,
        approved: Sequence[ToolCall] = (),
        made: Sequence[ToolCall] = (),
    ) -> CheckedCalls:
        """Says for each call of a batch whether the rules allow it, as `ToolRules` does. In this order: the turn begins anew
        where `begin_turn` says so, `approved` calls are consented to, `made` ones are recorded as one batch, and `calls` are
        judged. `state` is that of the last answer; empty: an agent's first turn. Raises `InvalidInput`."""
        for name, given in (("calls", calls), ("approved", approved), ("made", made)):
            check_size(name, len(given), LIST_ITEMS)
            for index, one in enumerate(given):
                check_text(f"{name}[{index}].name", one.name, ID)
                check_size(f"{name}[{index}].arguments", len(one.arguments), TOOL_CHARACTERS)
        read = _rules(rules)
        turn = ToolRules.from_json(read, state) if state else ToolRules(read)
        if begin_turn:
            turn.begin_turn()
        for one in approved:
            turn.approve(one)
        turn.called(*made)
        return CheckedCalls(
            verdicts=tuple(turn.check_all(calls)),
            state=turn.as_json(),
            next_step=turn.next_step,
            owed=tuple(turn.before_exit()),
            may_exit=turn.may_exit,
        )

    @operation("write", also_reads=True)
    async def delegate(
        self,
        task: str,
        mode: str = "brief",
        *,
        model: str,
        session: str | None = None,
        messages: Sequence[Raw] | None = None,
        max_tokens: int = 2000,
        provider: str | None = None,
        filters: Filters | None = None,
        agent_wide: bool = False,
        deadline: float = 5.0,
    ) -> RemoteDelegation:
        """Gives a task to another agent, and returns the messages for it, as `germane.Agent.delegate` does. `agent_wide` keeps
        from the other agent what belongs to the user. `delegations.finish` brings the result back. Raises `InvalidInput`, and
        `GermaneError` for a key that may not read."""
        check_answer_time("deadline", deadline)
        given = await self._agent.delegate(
            task,
            mode,
            model=model,
            session=session,
            messages=messages,
            max_tokens=max_tokens,
            provider=provider,
            filters=filters,
            scope=replace(self._agent.scope, user=None) if agent_wide else None,
            deadline=deadline,
        )
        return RemoteDelegation(
            frame=given.frame,
            messages=plain_messages(given.messages),
            system=given.system,
            tokens=given.tokens,
            explanation=given.explain(),
        )


class RemoteConversations:
    """The long conversations of one scope's own sessions, as `agent.conversations`."""

    def __init__(self, agent: Agent) -> None:
        self._conversations = agent.conversations

    @operation("write", also_reads=True)
    async def compact(
        self,
        messages: Sequence[Raw],
        *,
        session: str | None = None,
        model: str,
        max_tokens: int | None = None,
        strategy: CompactionStrategy | None = None,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
        provider: str | None = None,
        low_water: float = 0.5,
        max_messages: int | None = None,
        deadline: float = 5.0,
    ) -> RemoteCompaction:
        """Returns the messages as they fit `max_tokens`, as `germane.Agent.conversations.compact` does, and keeps what left
        under handles that `show` brings back. `deadline` are the seconds that the store may take. The answer may hold a summary
        that was kept before, so the key has to allow reading too. Raises `InvalidInput`."""
        check_answer_time("deadline", deadline)
        made = await self._conversations.compact(
            messages,
            session=session,
            model=model,
            max_tokens=max_tokens,
            strategy=strategy or SUMMARISE,
            system=system,
            tools=tools,
            provider=provider,
            low_water=low_water,
            max_messages=max_messages,
            deadline=deadline,
        )
        return RemoteCompaction(
            messages=plain_messages(made.messages),
            provider=made.provider,
            system=made.system,
            report=report_of(made),
            summary="" if made.summary is None else made.summary.text,
            constraints=tuple(one.text for one in made.constraints),
        )

    @operation("read")
    async def show(self, handle: str, *, session: str | None = None) -> RemoteEarlier:
        """Returns what a handle in a compacted conversation stands for. Raises `NotFound`, also for what is another scope's."""
        found = await self._conversations.show(handle, session=session)
        return RemoteEarlier(**{one.name: getattr(found, one.name) for one in fields(RemoteEarlier)})

    @operation("read")
    async def rebuild(
        self, messages: Sequence[Raw], *, session: str | None = None, provider: str = "openai"
    ) -> Sequence[Mapping[str, Any]]:
        """Returns a compacted conversation with what was taken out of it, as far as it is kept. Raises `InvalidInput`."""
        return plain_messages(await self._conversations.rebuild(messages, session=session, provider=provider))

    @operation("read")
    async def outline(self, session: str | None = None, *, limit: int = 100, cursor: str | None = None) -> RemoteOutline:
        """Returns a page of `limit` (1 to 1,000) lines of a session's outline, oldest first: one for each exchange."""
        page = await self._conversations.outline(session, limit=limit, cursor=cursor)
        names = [one.name for one in fields(RemoteOutlineLine)]
        lines = tuple(RemoteOutlineLine(**{name: getattr(line, name) for name in names}) for line in page.lines)
        return RemoteOutline(lines=lines, cursor=page.cursor)

    @operation("read")
    async def summaries(self, session: str | None = None, *, limit: int = 100) -> tuple[RemoteSummary, ...]:
        """Returns the last `limit` (1 to 1,000) summaries of a session, oldest first."""
        return tuple(
            RemoteSummary(
                id=kept.id,
                session=kept.session,
                text=kept.summary.text,
                covers=kept.summary.covers,
                tokens=kept.summary.tokens,
                method=kept.summary.method,
                note=kept.summary.note,
                fingerprint=kept.fingerprint,
                created_at=kept.created_at,
            )
            for kept in await self._conversations.summaries(session, limit=limit)
        )


def _rules(given: Sequence[ToolRule | Mapping[str, Any]]) -> list[ToolRule]:
    check_size("rules", len(given), LIST_ITEMS)
    return [parse_rule(one, f"rules[{index}]") if isinstance(one, Mapping) else one for index, one in enumerate(given)]


def _limits(given: Mapping[str, int]) -> dict[str, Any]:
    known = [one.name for one in fields(RequestLimits)]
    if unknown := sorted(given.keys() - set(known)):
        raise InvalidInput("has no {}", unknown[0], path="limits", advice=f"there are {', '.join(known)}")
    return {name: check_whole_number(f"limits.{name}", one, high=COUNT.maximum) for name, one in given.items()}


def _described(report: BuildMetadata) -> dict[str, Any]:
    """How a request was built, without the texts of blocks, which are in the request."""
    shown = [
        {"label": one.block.label, "reason": one.reason, "tokens": one.tokens, "shortened": one.shortened}
        for one in report.blocks
    ]
    losses = [f"{one.tool}: {one.field}: {one.reason}" for one in report.losses]
    plain: dict[str, Any] = encode(replace(report, blocks=(), losses=()))
    return {**plain, "blocks": shown, "losses": losses}
