"""Agent: the handle on one scope: the handles of the kinds (`agent.blocks`, `agent.tasks` …) and the verbs of the scope.

A verb is a function of the parts and the scope, in `api/verbs/` or beside its kind; the method here has its arguments and says
what it does. Handles and longer verbs are imported at their first use, so that `import germane` and the first answer are quick.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

from germane.api.arguments import System, build_request, identifiers
from germane.api.contents import find_thing, list_messages, list_sessions, list_users, statistics, texts_by_id
from germane.api.digest import MemoryDigest, digest_of, without_directive
from germane.api.strategies import allowed_filters
from germane.api.verbs.assemble import assemble, fall_back, search
from germane.api.wiring import Parts
from germane.compaction.strategy import CompactionStrategy
from germane.extraction.archetypes.value import Archetype
from germane.kinds.events.reads import MessagePage, SessionPage
from germane.kinds.events.value import Event, Recorded
from germane.kinds.memories.handle import forget_matching, read_directive, remember_one
from germane.kinds.memories.plans import feedback
from germane.kinds.memories.value import Memory, Receipt
from germane.kinds.messages.handle import record_messages
from germane.kinds.remote_values import Assembled
from germane.stores.contract import ScopedStore, WarmsUp
from germane.types.budget import Effort
from germane.types.candidate import Provenance, Scored
from germane.types.checks import check_flags, check_text, check_whole_number
from germane.types.context import Context
from germane.types.inventory import Stats, UserPage
from germane.types.limits import COUNT, ID, QUERY
from germane.types.message import Raw
from germane.types.operation import operation
from germane.types.query import Filters
from germane.types.scope import Scope
from germane.types.strategy import Strategy

if TYPE_CHECKING:
    from germane.api.builder.builder import Builder
    from germane.api.verbs.about import AboutEntity
    from germane.api.verbs.transfer import Exported, Line, Restored
    from germane.kinds.blocks.handle import AgentBlocks
    from germane.kinds.conversations.handle import AgentConversations
    from germane.kinds.documents.handle import AgentDocuments
    from germane.kinds.events.handle import AgentEvents
    from germane.kinds.graph.handle import AgentGraph
    from germane.kinds.memories.handle import AgentMemories
    from germane.kinds.memories.upkeep import Audit, Consolidated
    from germane.kinds.profile.value import Mark, ProfileView
    from germane.kinds.tasks.handle import AgentTasks, Delegation, Delegations
    from germane.transfer.contents import Reach
    from germane.types.budget import CompressedText, TokenCount
    from germane.types.context import BuiltContext
    from germane.types.reports import ExtractionRun, Why


class Agent:
    """The handle on one scope of one store. It is cheap to make and holds no state of its own."""

    def __init__(self, parts: Parts, scope: Scope, *, archetype: Archetype | None = None) -> None:
        self._parts, self.scope = parts, scope
        self._archetype = parts.archetype if archetype is None else archetype

    def within(self, *, user: str | None) -> Self:
        """Returns the handle on the same agent with another user, or with none. Costs next to nothing. Raises
        `InvalidInput`."""
        return type(self)(self._parts, replace(self.scope, user=user), archetype=self._archetype)

    @cached_property
    def memories(self) -> AgentMemories:
        """The memories, to read and correct."""
        from germane.kinds.memories.handle import AgentMemories

        return AgentMemories(self._parts.store.within(self.scope), self.scope, self._parts.clock, self._parts.secrets)

    @cached_property
    def blocks(self) -> AgentBlocks:
        """The memory blocks."""
        from germane.kinds.blocks.handle import AgentBlocks

        return AgentBlocks(self._parts, self.scope)

    @cached_property
    def documents(self) -> AgentDocuments:
        """The documents."""
        from germane.kinds.documents.handle import AgentDocuments

        return AgentDocuments(self._parts, self.scope)

    @cached_property
    def events(self) -> AgentEvents:
        """What the agent did."""
        from germane.kinds.events.handle import AgentEvents

        return AgentEvents(self._parts, self.scope, self._archetype)

    @cached_property
    def graph(self) -> AgentGraph:
        """The people, places and things, and how they relate."""
        from germane.kinds.graph.handle import AgentGraph

        return AgentGraph(self._parts, self.scope)

    @cached_property
    def tasks(self) -> AgentTasks:
        """The stack of tasks."""
        from germane.kinds.tasks.handle import AgentTasks

        return AgentTasks(self._parts, self.scope)

    @cached_property
    def delegations(self) -> Delegations:
        """The tasks that were given to other agents."""
        from germane.kinds.tasks.handle import Delegations

        return Delegations(self._parts, self.scope, lambda child: Agent(self._parts, child).assemble)

    @cached_property
    def conversations(self) -> AgentConversations:
        """The conversations, to compact them."""
        from germane.kinds.conversations.handle import AgentConversations

        return AgentConversations(self._parts, self.scope)

    def builder(self) -> Builder:
        """Returns a builder of whole requests: instructions, blocks, tools and their rules, history, what is remembered."""
        from germane.api.builder.builder import Builder
        from germane.api.builder.building import Building

        return Builder(Building(self._parts, self.scope).build, zone=self.scope.zone)

    # Contexts: as messages, and as one text.

    @operation(
        "read",
        takes={"messages": Sequence[Mapping[str, Any]], "strategy": str},
        fixed={"history": None, "history_tokens": None},
        rpc="AssembleContext",
        gives=Assembled,
    )
    async def assemble(
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
        """Returns the messages with what the model needs to know, within its token budget, before the deadline.

        `messages` are OpenAI, Anthropic or Gemini dicts, or `Message` values. The result is shaped for `provider` (`openai`,
        `anthropic`, `gemini`), by default for the model's provider. `query` replaces the last user message as the question,
        `session` names the running conversation, `at` is the time asked about (default: now), `deadline` the seconds until the
        answer is due (60 at most; None waits for every source), `max_tokens` limits all the text that is added.
        `effort` (`low`, `medium`, `high`, or a number from 0.01 to 100, 1 being medium) says how much a token has to bring; the
        default is the strategy's. `like` names a listed model whose profile `model` gets, and `window` replaces its window
        (tokens). `system` is your own system prompt beside the messages: a text, Anthropic's text blocks, or Gemini's system
        instruction. It comes back in `system`, behind germane's text, or as the first of your messages for OpenAI. `blocks` are
        labels or ids of memory blocks that this request refers to: they are shown as well as those of every context. Where the
        session has a task stack (`agent.tasks`), it is in the context; `task` is the id of the task that this request works on
        (default: the current one), False leaves the stack out. With `history` the conversation is compacted first, as
        `agent.conversations.compact` does, to `history_tokens` tokens, by default to what the model's window has room for; True
        stands for `Summarise()`. `metadata.history` says what was done. By default the messages stay as they are.

        Raises `InvalidInput` for arguments that can't be used, and nothing else. A fault of germane's own gives less context;
        `metadata.fallback_reason` and `trace` hold the reason.
        """
        asking = partial(
            build_request,
            model=model,
            provider=provider,
            tools=tools,
            query=query,
            at=at,
            deadline=deadline,
            max_tokens=max_tokens,
            effort=effort,
            window=window,
            like=like,
            system=system,
            blocks=blocks,
            task=task,
        )
        return await assemble(
            self._parts,
            self.scope,
            messages,
            asking,
            session=session,
            strategy=strategy,
            filters=filters,
            history=history,
            history_tokens=history_tokens,
        )

    async def fallback(
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
        """Returns what `assemble` returns when there is no time at all: the messages with the directive as this process last
        knew it, and the texts of the session's earlier calls as this process last sent them, as far as `filters` allow and the
        window has room. Does no I/O and may be called on any event loop. Raises `InvalidInput`."""
        asking = partial(build_request, model=model, provider=provider, window=window, like=like, system=system)
        return await fall_back(
            self._parts, self.scope, messages, asking, session=session, strategy=strategy, filters=filters, reason=reason
        )

    async def digest(
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
        """Returns the memories that matter for `query` as a text of its own, for a prompt that you build yourself: a list with
        ids and provenance within the budgets of `memory.v1`, or one line that says why there is none. The same for an
        interactive turn and for one of a delegated agent. `assemble(…, strategy="digest")` writes the same list into messages.
        Tokens are those of `model`. Raises `InvalidInput`."""
        check_text("query", query, QUERY, valid=False)
        plan = without_directive(self._parts.strategies.find(strategy))
        asked = [{"role": "user", "content": query}]
        context = await self.assemble(
            asked,
            model=model,
            session=session,
            at=at,
            deadline=deadline,
            max_tokens=max_tokens,
            filters=filters,
            strategy=plan,
        )
        return digest_of(context, plan, (allowed_filters(plan, filters) or Filters()).sensitivities, max_tokens)

    async def search(
        self,
        query: str,
        limit: int = 10,
        *,
        filters: Filters | None = None,
        at: datetime | None = None,
        strategy: str | Strategy = "default",
    ) -> tuple[Scored, ...]:
        """Returns the memories, messages, archival entries and blocks that answer `query` best, scored, best first, at
        most `limit`. Nothing is packed and no token counted. Raises `InvalidInput`."""
        return await search(self._parts, self.scope, query, limit, filters=filters, at=at, strategy=strategy)

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
        scope: Scope | None = None,
        deadline: float | None = 5.0,
    ) -> Delegation:
        """Gives a task to another agent, and returns the messages for it. `session` is the parent's. Modes: `isolated` (the
        task and the directive), `fork` (the parent's `messages` as they are, open tool calls closed, then the task) and `brief`
        (what the parent's stack, history and memories hold for the task, in at most `max_tokens` tokens). The task is a frame
        below the parent's current one until `complete` brings its result back. `filters` and `scope` narrow what the
        other agent sees. Raises `InvalidInput`, also beyond the settings `delegation_depth` and `delegations`, and
        `NotPermitted` where the other agent would see more than the parent."""
        begin = partial(self.delegations.begin, task, mode=mode, model=model, session=session, messages=messages)
        return await begin(max_tokens=max_tokens, provider=provider, filters=filters, scope=scope, deadline=deadline)

    async def build(
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
        """Returns what is known for `query` as one text of at most `max_tokens` tokens of `model`, with the components that it
        is made of, for a prompt that you write yourself. The pipeline is that of `assemble`, without messages.

        `strategy` is a name, a `Strategy`, or a table of the settings to change, merged deeply:
        `{"weights": {"recency": 0.5}}`, with `like` for the strategy that they change. A directive and memory blocks aren't
        part of it. `additional_context` counts in the budget and stands in a section of its own, written as data.

        Raises `InvalidInput` for arguments that can't be used, and nothing else: a fault gives less context, and
        `metadata.fallback_reason` says why.
        """
        from germane.api.verbs.build import build_context

        return await build_context(
            self._parts,
            self.scope.within(session),
            query,
            max_tokens=check_whole_number("max_tokens", max_tokens, high=COUNT.maximum),
            strategy=strategy,
            additional=additional_context,
            filters=filters,
            model=model,
            at=at,
            deadline=deadline,
        )

    async def update_context(self, built: BuiltContext, event: Event | str) -> BuiltContext:
        """Returns `built` with one more recorded event, given as such or by its id, first among its components and in the
        text at its place in time. No search is made. What shows the same thing goes, then what scores lowest, until the text as
        written is within the budget of `built`; an event that is larger than that is shortened, and where that is impossible,
        `note` says so. What may not be shown any more is left out. The same update again changes nothing.

        Raises `NotFound` for an event that isn't stored here, and `InvalidInput`, also for a context of another scope."""
        from germane.api.verbs.build import update_context

        return await update_context(self._parts, self.scope, built, event)

    async def expand(self, name: str, context: Context | BuiltContext | None = None) -> str:
        """Returns the whole text of something that was shown in part or as a breadcrumb. `name` is its handle in `context`,
        that of an artifact that a task's line names (`m3.1`), or an id as in `find`. What has been forgotten since, or may not
        be shown, isn't there. Raises `NotFound`, `InvalidInput`."""
        from germane.api.verbs.expand import expand_item as expanded

        return (await expanded(self._parts, self.scope, check_text("name", name, ID), context)).text

    @operation("read")
    async def estimate_tokens(self, content: str, *, model: str = "gpt-4o") -> TokenCount:
        """Returns the tokens of `content` for `model`: exact where the model's vocabulary is installed, else an upper estimate.
        Raises `InvalidInput`."""
        from germane.api.verbs.expand import estimate_tokens

        return await estimate_tokens(self._parts, content, model)

    @operation("read")
    async def compress(
        self,
        content: str,
        max_tokens: int,
        *,
        model: str = "gpt-4o",
        query: str | None = None,
        use_llm: bool | None = None,
    ) -> CompressedText:
        """Returns `content` within `max_tokens` tokens of `model`, never longer than it was: as it is where it fits, else
        shortened by the language model of this `Germane` (default: where one is configured), else the sentences that say most,
        those about `query` first, with `…` where something was left out. Where the language model fails or writes too much, its
        answer isn't used, and `note` says so. Raises `InvalidInput`, also for `use_llm=True` without a language model."""
        from germane.api.verbs.expand import compress

        return await compress(self._parts, content, max_tokens, model=model, query=query, use_llm=use_llm)

    # What is stored, changed and forgotten.

    @operation("write", fixed={"said_at": None})
    async def record(
        self,
        messages: Sequence[Raw],
        *,
        session: str,
        source_kind: str = "user",
        channel: str | None = None,
        said_at: datetime | None = None,
    ) -> Recorded:
        """Stores a conversation verbatim and indexes it. Idempotent: each message is stored once, however often it is sent (see
        `kinds/messages/plans.py`). What germane injected is left out. A call of more than 128 messages or 64K characters is
        written in slices, with other calls in between: each slice is durable by itself, and sending an interrupted call again
        completes it. Secrets are redacted, or treated as the policy says that germane was opened with; the result's `secrets`
        counts them. `said_at` is for a recording that had to wait: messages without a `created_at` get this time (default:
        now), and where the session or its owner was forgotten as a whole since, nothing is written. Raises `InvalidInput`, and
        `Conflict` for an id that was recorded before with other content; a conflicting call writes nothing."""
        scope = self.scope.within(session)
        return await record_messages(self._parts, scope, messages, source_kind, channel, self._archetype, said_at)

    @operation("write", fixed={"progress": None})
    async def extract(
        self,
        *,
        session: str | None = None,
        everything: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> ExtractionRun:
        """Has the configured language model read what waits in this scope, to the end: the messages recorded since a model was
        configured, and those that were parked. Without a user in the scope that means all users of the agent. `session` reads
        one session, `everything` also what was recorded before. With `dry_run` only counts. `progress(done, total)` gets
        numbers of messages. Raises `InvalidInput` where no model is configured."""
        from germane.api.workers.on_demand import extract

        check_flags(everything=everything, dry_run=dry_run)
        return await extract(self._parts, self.scope.within(session), everything=everything, dry_run=dry_run, progress=progress)

    @operation("write", fixed={"provenance": None})
    async def remember(
        self,
        text: str | None = None,
        *,
        kind: str = "note",
        agent_wide: bool = False,
        provenance: Provenance | None = None,
        **fields: Any,
    ) -> Memory:
        """Stores a memory and returns it. `kind` is fact, preference, procedure, behavior, episode or note; `text` is the
        kind's main field; `fields` are its other fields (`key`, `value`, `title`, `observed_at`, `occurred_at`) and those that
        every memory has: `tags`, `sensitivity`, `confidence`, `pinned`, `expires_at`, `valid_from`, `valid_to`. A newer fact
        on the same key supersedes the older one. An exact duplicate returns the memory that is stored already. `agent_wide`
        stores it for every user of the agent. The result's `secrets` counts the secrets that were found, by kind. Raises
        `InvalidInput`, `UnknownName`."""
        check_flags(agent_wide=agent_wide)
        scope = replace(self.scope, user=None, session=None) if agent_wide else self.scope
        return await remember_one(self._parts, scope, text, kind=kind, provenance=provenance, fields=fields)

    @operation("write")
    async def forget(
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
        """Removes what matches every criterion given, with its vectors and index entries, and leaves a tombstone without
        content. `everything`, or a `user` and no other criterion, also removes the directive, the sessions and the names of
        their owner. `session`, `source_kind` and `channel` are those of the provenance. The receipt
        tells where the store was searched for what is left, and whether the texts are gone from every file, or what that waits
        for; the same call later tells the state then. `dry_run` removes nothing and returns what would be removed. Raises
        `InvalidInput`, also without any criterion."""
        return await forget_matching(
            self._parts,
            self.scope,
            ids=ids,
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

    @operation("write")
    async def feedback(self, ids: Sequence[str], *, helpful: bool = True) -> int:
        """Counts that memories helped, or did harm, which moves their usefulness. Returns for how many it was counted: the
        scope's own. Agent-wide memories, which all users share, take feedback from a scope without a user only. Ids of messages
        and unknown ids are ignored, so the ids of a whole context may be passed. Raises `InvalidInput`."""
        return await self._scoped(self.scope).commit(feedback(identifiers(ids), helpful, scope=self.scope))

    async def directive(self, text: str | None = None) -> str:
        """Returns the agent's standing instructions (a user's own where one is set). `text` sets them first; an empty text
        removes them. Raises `InvalidInput`."""
        return await read_directive(self._parts, self.scope, text)

    @operation("write", fixed={"progress": None})
    async def consolidate(
        self,
        *,
        max_memories: int | None = None,
        max_bytes: int | None = None,
        dry_run: bool = False,
        by: str = "",
        progress: Callable[[int, int], None] | None = None,
    ) -> Consolidated:
        """Brings the scope's own memories within a storage budget: merges duplicates, compresses the oldest episodes into
        notes, drops vectors, and evicts the least valuable memories (episodes, notes, procedures, facts), each only as far as
        needed. Pinned memories, preferences, behaviors and messages stay. What goes is forgotten, with a tombstone. `dry_run`
        changes nothing and returns what would be done. A call that is interrupted loses nothing, and the next one goes on.
        Raises `InvalidInput`, also without a limit."""
        from germane.api.verbs.consolidate import consolidate

        return await consolidate(
            self._parts,
            self.scope,
            max_memories=max_memories,
            max_bytes=max_bytes,
            dry_run=dry_run,
            by=by,
            progress=progress,
        )

    @operation("read")
    async def find(self, id: str) -> Memory | Event:
        """Returns one memory or message, by its id, by the beginning of its id (four characters or more), or by your own id of
        the message. Raises `NotFound`, also for things of another scope (SCOPE-3), and `InvalidInput` where several have it."""
        return await find_thing(self._scoped(self.scope), check_text("id", id, ID))

    async def about(
        self,
        name: str | None = None,
        *,
        at: datetime | None = None,
        max_tokens: int = 1000,
        model: str = "gpt-4o",
        filters: Filters | None = None,
    ) -> AboutEntity:
        """Returns everything that is known about a person or a thing by its `name`: what holds now, what no longer holds with
        its dates, and the messages that name it, within `max_tokens` (1 to 1,000,000) of `model`. Without a name, and by a word
        for oneself such as `me`, `ich` or `yo`, it is about the user: their own memories and messages. The user's id, the name
        that they gave and, where one person speaks, the name under which they speak mean the same. `at` is the time asked
        about (default: now): what was said or began later isn't known then. Nothing has to be configured. Raises
        `InvalidInput`."""
        from germane.api.verbs.about import about

        return await about(self._parts, self.scope, name, at=at, max_tokens=max_tokens, model=model, filters=filters)

    @operation("read")
    async def profile(self, at: datetime | None = None, *, tokens: int | None = None) -> ProfileView:
        """Returns the lines that stand in every prompt of a session that begins now, or at `at`: standing instructions and what
        holds about the person, each with the reason; what was left out; and the text. The assembly makes the same choice.
        `tokens` (0 to 1,000,000) is the budget (default: that of the strategy `default`). Raises `InvalidInput`."""
        from germane.kinds.profile.handle import look_at_profile

        return await look_at_profile(self._parts, self.scope, at=at, tokens=tokens)

    @operation("write")
    async def mark_line(self, id: str, mark: Mark | None) -> str:
        """Pins a line of the profile (`pin`: it is chosen before all others) or hides it (`hide`: it never stands); None takes
        the mark away. Idempotent; returns the line's whole id. `id` is a line's, or the beginning of one: four characters or
        more, and `@` with the place at which it begins where a message has several lines. The next session shows the change.
        Raises `NotFound`, and `InvalidInput`, also where several lines begin so."""
        from germane.kinds.profile.handle import mark_named_line

        return await mark_named_line(self._parts, self.scope, id, mark)

    async def why(self, id: str, context: Context, *, session: str | None = None) -> Why:
        """Returns what the assembly that made `context` did with one stored thing, and the reason: it went in, was left out,
        was filtered, isn't valid, stands in the request, was forgotten, or the search didn't reach it (then with its rank and
        its P(relevant)). `id` is as in `find`; `session` that of the assembly. Raises `InvalidInput`."""
        from germane.api.verbs.why import explain_one

        return await explain_one(self._parts, self.scope, id, context, session)

    @operation("read")
    async def audit(self, *, unused_days: int = 30, limit: int = 100, messages: bool = True) -> Audit:
        """Returns what deserves a look among the scope's own memories: duplicates, near-duplicates, contradictions, secrets
        (with `messages` in its messages too), what is stale or expired, and what was never retrieved although it is
        `unused_days` old. At most `limit` (1 to 1,000) findings of each kind, with ids and without content; all are counted.
        Raises `InvalidInput`."""
        from germane.api.verbs.consolidate import audit

        return await audit(self._parts, self.scope, unused_days=unused_days, limit=limit, messages=messages)

    @operation("read", fixed={"whole": False})
    async def messages(
        self,
        session: str | None = None,
        *,
        filters: Filters | None = None,
        limit: int = 50,
        cursor: str | None = None,
        whole: bool = True,
    ) -> MessagePage:
        """Returns a page of `limit` (1 to 1,000) stored messages, newest first, of one session or of all; its `cursor` asks for
        the next page. Without `whole`, long texts are cut to their beginning. Without `filters` every sensitivity is listed.
        Raises `InvalidInput`."""
        return await list_messages(self._scoped(self.scope), session, filters, limit, cursor, whole=whole)

    @operation("read")
    async def sessions(self, *, limit: int = 50, cursor: str | None = None) -> SessionPage:
        """Returns a page of `limit` (1 to 1,000) sessions, the one with the latest message first. Raises `InvalidInput`."""
        return await list_sessions(self._scoped(self.scope), limit, cursor)

    @operation("read")
    async def users(self, *, limit: int = 50, cursor: str | None = None) -> UserPage:
        """Returns a page of `limit` (1 to 1,000) of the agent's users with what each has stored, in the order of their first
        write. Raises `InvalidInput`, also where the scope has a user: it sees no other."""
        return await list_users(self._scoped(self.scope), limit, cursor)

    @operation("read")
    async def stats(self) -> Stats:
        """Returns how much this scope sees: memories by kind, messages, sessions, users, bytes, times."""
        return await statistics(self._scoped(self.scope), self._parts.clock)

    @operation("read")
    async def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Returns the texts of these memories and messages by id, for what a trace names without its text
        (`context.trace.unread`). What has been forgotten since, or may not be shown, is missing. Raises `InvalidInput`."""
        return await texts_by_id(self._scoped(self.scope), ids, self._parts.clock)

    async def warm(self) -> None:
        """Loads what this scope searches into memory, so that the first answer has every source, and its directive, so that
        every answer has it."""
        store = self._parts.store
        if isinstance(store, WarmsUp):
            await store.warm(self.scope)
        await self.directive()

    # What is stored, moved.

    @operation("read", rpc="Export")
    def export(self) -> AsyncIterator[Exported]:
        """Yields all that this scope can see, one dict at a time, as it was at the first step: a header, the directives,
        memories, contradictions, sessions with their messages, and tombstones. `docs/use/export.md` describes them. API keys
        and vectors aren't part of it."""
        from germane.api.verbs.transfer import export_lines as exported

        return exported(self._parts.store, self._reach)

    async def restore(
        self, lines: Iterable[Line] | AsyncIterable[Line], *, into: bool = False, skip_conflicts: bool = False
    ) -> Restored:
        """Stores what an export of this scope holds as it was: ids, times, counts, what was superseded and what was forgotten.
        `lines` are the dicts of `export`, or lines of JSON. With `into` the export of another agent or user goes into this
        scope. Idempotent; an interrupted call is completed by the next one. What was forgotten here isn't stored again. Raises
        `InvalidInput`, and `Conflict` where something else is stored in a line's place, unless `skip_conflicts`; what stands
        before the line that it names may be stored then."""
        from germane.api.verbs.transfer import restore_lines as restored

        check_flags(into=into, skip_conflicts=skip_conflicts)
        return await restored(self._parts, lines, target=self._reach, into=into, skip_conflicts=skip_conflicts)

    def __repr__(self) -> str:
        return f"<Agent {self.scope}>"

    @property
    def _reach(self) -> Reach:
        from germane.transfer.contents import Reach

        return Reach(org=self.scope.org, agent=self.scope.agent, user=self.scope.user)

    def _scoped(self, scope: Scope) -> ScopedStore:
        return self._parts.store.within(scope)
