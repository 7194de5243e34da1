"""Blocking agent: the blocking twins of `Agent` and `Recollections`, for `germane.sync`."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from germane.api.builder.builder import BuilderSteps

if TYPE_CHECKING:
    from germane.api import agent as agents
    from germane.api.arguments import System
    from germane.api.blocking_blocks import MemoryBlocks
    from germane.api.blocking_documents import Documents
    from germane.api.blocking_events import EventLog
    from germane.api.blocking_graph import KnownGraph
    from germane.api.blocking_history import AgentHistory
    from germane.api.blocking_tasks import Delegation, Delegations, TaskStack
    from germane.api.builder.builder import BuiltRequest
    from germane.api.digest import MemoryDigest
    from germane.api.verbs.about import AboutEntity
    from germane.api.verbs.consolidate import Consolidated
    from germane.api.verbs.transfer import Exported, Line, Restored
    from germane.api.workers.extraction import ExtractionRun
    from germane.api.workers.threads import Loop
    from germane.compaction.strategy import CompactionStrategy
    from germane.kinds.events.reads import MessagePage, SessionPage
    from germane.kinds.events.value import Event, Recorded
    from germane.kinds.memories import handle as agent_memories
    from germane.kinds.memories.conflicts import Contradiction
    from germane.kinds.memories.forgetting import Audit
    from germane.kinds.memories.reads import Page
    from germane.kinds.memories.value import Memory, Receipt
    from germane.kinds.profile.handle import ProfileView
    from germane.kinds.profile.reads import Mark
    from germane.types.budget import CompressedText, Effort, TokenCount
    from germane.types.candidate import Provenance, Scored
    from germane.types.context import BuiltContext, Context
    from germane.types.inventory import Stats, UserPage
    from germane.types.message import Raw
    from germane.types.query import Filters
    from germane.types.reports import Why
    from germane.types.scope import Scope
    from germane.types.strategy import Strategy


class BlockingRooms:
    """As the handles of `germane.api.agent.Agent`."""

    def __init__(self, awaited: agents.Agent, loop: Loop) -> None:
        self._awaited, self._loop = awaited, loop

    @cached_property
    def blocks(self) -> MemoryBlocks:
        from germane.api.blocking_blocks import MemoryBlocks

        return MemoryBlocks(self._awaited.blocks, self._loop)

    @cached_property
    def documents(self) -> Documents:
        from germane.api.blocking_documents import Documents

        return Documents(self._awaited.documents, self._loop)

    @cached_property
    def events(self) -> EventLog:
        from germane.api.blocking_events import EventLog

        return EventLog(self._awaited.events, self._loop)

    @cached_property
    def graph(self) -> KnownGraph:
        from germane.api.blocking_graph import KnownGraph

        return KnownGraph(self._awaited.graph, self._loop)

    @cached_property
    def tasks(self) -> TaskStack:
        from germane.api.blocking_tasks import TaskStack

        return TaskStack(self._awaited.tasks, self._loop)

    @cached_property
    def history(self) -> AgentHistory:
        from germane.api.blocking_history import AgentHistory

        return AgentHistory(self._awaited.history, self._loop)

    @cached_property
    def delegations(self) -> Delegations:
        from germane.api.blocking_tasks import Delegations

        return Delegations(self._awaited.delegations, self._loop)


class BlockingContexts(BlockingRooms):
    """As the verbs of `germane.api.agent.Agent` for one text."""

    def build(
        self,
        query: str,
        *,
        session: str | None = None,
        max_tokens: int,
        strategy: str | Strategy | Mapping[str, Any] | None = None,
        additional_context: str | None = None,
        filters: Filters | None = None,
        model: str = "gpt-4o",
        at: datetime | None = None,
        deadline: float | None = 0.25,
    ) -> BuiltContext:
        return self._loop.call(
            self._awaited.build,
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

    def update_context(self, built: BuiltContext, event: Event | str) -> BuiltContext:
        return self._loop.call(self._awaited.update_context, built, event)

    def expand(self, name: str, context: Context | BuiltContext | None = None) -> str:
        return self._loop.call(self._awaited.expand, name, context)

    def estimate_tokens(self, content: str, *, model: str = "gpt-4o") -> TokenCount:
        return self._loop.call(self._awaited.estimate_tokens, content, model=model)

    def compress(
        self,
        content: str,
        max_tokens: int,
        *,
        model: str = "gpt-4o",
        query: str | None = None,
        use_llm: bool | None = None,
    ) -> CompressedText:
        return self._loop.call(self._awaited.compress, content, max_tokens, model=model, query=query, use_llm=use_llm)


class Builder(BuilderSteps):
    """As `germane.api.builder.builder.Builder`; `build` blocks."""

    __slots__ = ()

    def build(self) -> BuiltRequest:
        built: BuiltRequest = self.carry_out(self._plan)
        return built


class Agent(BlockingContexts):
    """As `germane.Agent`; made by `Germane.agent`."""

    def __init__(self, awaited: agents.Agent, loop: Loop) -> None:
        super().__init__(awaited, loop)
        self._call = loop.call
        self.scope: Scope = awaited.scope

    @cached_property
    def memories(self) -> Recollections:
        return Recollections(self._awaited.memories, self._loop)

    def __repr__(self) -> str:
        return repr(self._awaited)

    def assemble(
        self,
        messages: Sequence[Raw],
        *,
        model: str,
        provider: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        query: str | None = None,
        session: str | None = None,
        at: datetime | None = None,
        deadline: float | None = 0.25,
        max_tokens: int | None = None,
        strategy: str | Strategy = "default",
        filters: Filters | None = None,
        effort: Effort | float | None = None,
        window: int | None = None,
        like: str | None = None,
        system: System | None = None,
        blocks: Sequence[str] = (),
        task: str | bool | None = None,
        history: CompactionStrategy | bool | None = None,
        history_tokens: int | None = None,
    ) -> Context:
        return self._call(
            self._awaited.assemble,
            messages,
            model=model,
            provider=provider,
            tools=tools,
            query=query,
            session=session,
            at=at,
            deadline=deadline,
            max_tokens=max_tokens,
            strategy=strategy,
            filters=filters,
            effort=effort,
            window=window,
            like=like,
            system=system,
            blocks=blocks,
            task=task,
            history=history,
            history_tokens=history_tokens,
        )

    def delegate(
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
        scope: Scope | None = None,
        deadline: float | None = 5.0,
    ) -> Delegation:
        return self.delegations.begin(
            task,
            mode=mode,
            model=model,
            session=session,
            messages=messages,
            max_tokens=max_tokens,
            provider=provider,
            filters=filters,
            scope=scope,
            deadline=deadline,
        )

    def builder(self) -> Builder:
        build = self._awaited.builder().carry_out
        return Builder(lambda plan: self._call(build, plan), zone=self.scope.zone)

    def fallback(
        self,
        messages: Sequence[Raw],
        *,
        model: str,
        provider: str | None = None,
        session: str | None = None,
        strategy: str | Strategy = "default",
        window: int | None = None,
        like: str | None = None,
        system: System | None = None,
        filters: Filters | None = None,
        reason: str = "assembly_timeout",
    ) -> Context:
        return self._call(
            self._awaited.fallback,
            messages,
            model=model,
            provider=provider,
            session=session,
            strategy=strategy,
            window=window,
            like=like,
            system=system,
            filters=filters,
            reason=reason,
        )

    def digest(
        self,
        query: str,
        *,
        model: str = "gpt-4o",
        session: str | None = None,
        at: datetime | None = None,
        deadline: float | None = 0.25,
        max_tokens: int | None = None,
        filters: Filters | None = None,
        strategy: str | Strategy = "digest",
    ) -> MemoryDigest:
        return self._call(
            self._awaited.digest,
            query,
            model=model,
            session=session,
            at=at,
            deadline=deadline,
            max_tokens=max_tokens,
            filters=filters,
            strategy=strategy,
        )

    def recall(
        self,
        query: str,
        limit: int = 10,
        *,
        filters: Filters | None = None,
        at: datetime | None = None,
        strategy: str | Strategy = "default",
    ) -> tuple[Scored, ...]:
        return self._call(self._awaited.recall, query, limit, filters=filters, at=at, strategy=strategy)

    def record(
        self, messages: Sequence[Raw], *, session: str, source_kind: str = "user", channel: str | None = None
    ) -> Recorded:
        return self._call(self._awaited.record, messages, session=session, source_kind=source_kind, channel=channel)

    def extract(
        self,
        *,
        session: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> ExtractionRun:
        return self._call(self._awaited.extract, session=session, everything=everything, dry_run=dry_run, progress=progress)

    def remember(
        self,
        text: str | None = None,
        *,
        kind: str = "note",
        agent_wide: bool = False,
        provenance: Provenance | None = None,
        **fields: Any,
    ) -> Memory:
        return self._call(self._awaited.remember, text, kind=kind, agent_wide=agent_wide, provenance=provenance, **fields)

    def forget(
        self,
        ids: Sequence[str] | None = None,
        *,
        key: str | None = None,
        tag: str | None = None,
        session: str | None = None,
        source_kind: str | None = None,
        channel: str | None = None,
        user: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        by: str = "",
        reason: str = "",
    ) -> Receipt:
        return self._call(
            self._awaited.forget,
            ids,
            key=key,
            tag=tag,
            session=session,
            source_kind=source_kind,
            channel=channel,
            user=user,
            everything=everything,
            dry_run=dry_run,
            by=by,
            reason=reason,
        )

    def feedback(self, ids: Sequence[str], *, helpful: bool = True) -> int:
        return self._call(self._awaited.feedback, ids, helpful=helpful)

    def audit(self, *, unused_days: int = 30, limit: int = 100, messages: bool = True) -> Audit:
        return self._call(self._awaited.audit, unused_days=unused_days, limit=limit, messages=messages)

    def consolidate(
        self,
        *,
        max_memories: int | None = None,
        max_bytes: int | None = None,
        dry_run: bool = False,
        by: str = "",
        progress: Callable[[int, int], None] | None = None,
    ) -> Consolidated:
        return self._call(
            self._awaited.consolidate,
            max_memories=max_memories,
            max_bytes=max_bytes,
            dry_run=dry_run,
            by=by,
            progress=progress,
        )

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        return self._call(self._awaited.texts, ids)

    def find(self, id: str) -> Memory | Event:
        return self._call(self._awaited.find, id)

    def about(
        self,
        name: str | None = None,
        *,
        at: datetime | None = None,
        max_tokens: int = 1000,
        model: str = "gpt-4o",
        filters: Filters | None = None,
    ) -> AboutEntity:
        return self._call(self._awaited.about, name, at=at, max_tokens=max_tokens, model=model, filters=filters)

    def profile(self, at: datetime | None = None, *, tokens: int | None = None) -> ProfileView:
        return self._call(self._awaited.profile, at, tokens=tokens)

    def mark_line(self, id: str, mark: Mark | None) -> str:
        return self._call(self._awaited.mark_line, id, mark)

    def why(self, id: str, context: Context, *, session: str | None = None) -> Why:
        return self._call(self._awaited.why, id, context, session=session)

    def messages(
        self,
        session: str | None = None,
        *,
        filters: Filters | None = None,
        limit: int = 50,
        cursor: str | None = None,
        whole: bool = True,
    ) -> MessagePage:
        return self._call(self._awaited.messages, session, filters=filters, limit=limit, cursor=cursor, whole=whole)

    def sessions(self, *, limit: int = 50, cursor: str | None = None) -> SessionPage:
        return self._call(self._awaited.sessions, limit=limit, cursor=cursor)

    def users(self, *, limit: int = 50, cursor: str | None = None) -> UserPage:
        return self._call(self._awaited.users, limit=limit, cursor=cursor)

    def stats(self) -> Stats:
        return self._call(self._awaited.stats)

    @overload
    def directive(self) -> str: ...
    @overload
    def directive(self, text: str) -> str: ...
    def directive(self, text: str | None = None) -> str:
        return self._call(self._awaited.directive) if text is None else self._call(self._awaited.directive, text)

    def warm(self) -> None:
        self._call(self._awaited.warm)

    def export(self) -> Iterator[Exported]:
        return self._loop.each(self._awaited.export())

    def restore(
        self, lines: Iterable[Line] | AsyncIterable[Line], *, into: bool = False, skip_conflicts: bool = False
    ) -> Restored:
        return self._call(self._awaited.restore, lines, into=into, skip_conflicts=skip_conflicts)


class Recollections:
    """As `germane.kinds.memories.handle.Recollections`, at `agent.memories`."""

    def __init__(self, awaited: agent_memories.Recollections, loop: Loop) -> None:
        self._awaited, self._call = awaited, loop.call

    def get(self, id: str) -> Memory:
        return self._call(self._awaited.get, id)

    def list(self, filters: Filters | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        return self._call(self._awaited.list, filters, limit=limit, cursor=cursor)

    def update(self, id: str, text: str | None = None, **changes: Any) -> Memory:
        return self._call(self._awaited.update, id, text, **changes)

    def review(self, *, limit: int = 50) -> tuple[Contradiction, ...]:
        return self._call(self._awaited.review, limit=limit)

    def resolve(self, id: str, *, keep: str) -> Contradiction:
        return self._call(self._awaited.resolve, id, keep=keep)

    def history(self, id: str) -> tuple[Memory, ...]:
        return self._call(self._awaited.history, id)
