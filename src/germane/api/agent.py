"""Agent: the verbs of one scope (`assemble`, `record`, `remember`, `forget` …). Each checks its arguments, then calls the
engine or commits a plan.

The longer verbs (`api/verbs/`) are imported at their first call, so that `import germane` and the first answer are quick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, overload

from germane.api.agent_contents import AgentContents
from germane.api.arguments import (
    System,
    build_request,
    check_message_list,
    flags,
    history_terms,
    identifiers,
    named_model,
    number,
    optional,
)
from germane.api.contents import index_all
from germane.api.digest import MemoryDigest, digest_of, without_directive
from germane.api.strategies import allowed_filters
from germane.api.wiring import Parts
from germane.background import aside
from germane.compaction.strategy import CompactionStrategy
from germane.errors import InvalidInput
from germane.kinds.archetypes.value import Archetype
from germane.kinds.events.value import Event, Recorded
from germane.kinds.memories.directive import set_directive
from germane.kinds.memories.fields import check_provenance
from germane.kinds.memories.handle import forget_matching
from germane.kinds.memories.plans import feedback, new_memory, remember
from germane.kinds.memories.value import Memory, Receipt
from germane.kinds.messages.handle import Recording, origin_of
from germane.ports.models import Tokenizer
from germane.text.terms import query_terms
from germane.types.budget import Effort
from germane.types.candidate import Provenance, Scored
from germane.types.context import Context
from germane.types.limits import CHARACTERS, COUNT, DIRECTIVE, ID, NAME, QUERY, RECORDED, quoted
from germane.types.limits import check_text as string
from germane.types.message import Raw
from germane.types.operation import operation
from germane.types.query import Filters
from germane.types.scope import Scope
from germane.types.strategy import Strategy

if TYPE_CHECKING:
    from germane.api.workers.extraction import ExtractionRun
    from germane.kinds.tasks.handle import Delegation, Delegations
    from germane.types.budget import CompressedText, TokenCount
    from germane.types.context import BuiltContext


# Verbs for contexts as one text: build, update, expand, compress, estimate (ENGINE-9).


class AgentContexts(AgentContents):
    """The part of `Agent` that gives a context as one text, and makes texts shorter. Each verb imports its work when it is
    called."""

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
            max_tokens=number("max_tokens", max_tokens, maximum=COUNT.maximum),
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
        from germane.types.context import BuiltContext

        if not isinstance(built, BuiltContext):
            raise InvalidInput(f"update_context takes what build returned, not {quoted(built)}")
        if replace(built.scope, session=None) != replace(self.scope, session=None):
            raise InvalidInput("this context was built for another org, agent or user: build it with this agent")
        id = event.id if isinstance(event, Event) else event
        return await update_context(self._parts, built, string("event", id, ID))

    async def expand(self, name: str, context: Context | BuiltContext | None = None) -> str:
        """Returns the whole text of something that was shown in part or as a breadcrumb. `name` is its handle in `context`,
        that of an artifact that a task's line names (`m3.1`), or an id as in `find`. What has been forgotten since, or may not
        be shown, isn't there. Raises `NotFound`, `InvalidInput`."""
        from germane.api.verbs.expand import expand_item as expanded

        return (await expanded(self._parts, self.scope, string("name", name, ID), context)).text

    @operation("read")
    async def estimate_tokens(self, content: str, *, model: str = "gpt-4o") -> TokenCount:
        """Returns the tokens of `content` for `model`: exact where the model's vocabulary is installed, else an upper estimate.
        Raises `InvalidInput`."""
        from germane.api.verbs.expand import token_count

        return await token_count(string("content", content, CHARACTERS, valid=False), self._tokenizer(model))

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
        from germane.api.verbs.expand import compress_text as compressed

        string("content", content, CHARACTERS)
        number("max_tokens", max_tokens, maximum=COUNT.maximum)
        optional("query", query, QUERY)
        worker = self._parts.extraction_worker
        if use_llm is not None:
            flags(use_llm=use_llm)
        if use_llm and worker is None:
            raise InvalidInput("use_llm: no language model is configured: open with Germane.open(…, llm=…), or leave it out")
        return await compressed(
            content,
            max_tokens,
            self._tokenizer(model),
            terms=[] if query is None else [term.word for term in query_terms(query)],
            query=query or "",
            llm=None if worker is None or use_llm is False else worker.llm,
        )

    def _tokenizer(self, model: str) -> Tokenizer:
        engine = self._parts.engine
        return engine.tokenizer(engine.catalog.find(named_model(model)).tokenizer)


class Agent(AgentContexts):
    """The handle on one scope of one store. It is cheap to make and holds no state of its own."""

    def __init__(self, parts: Parts, scope: Scope, *, archetype: Archetype | None = None) -> None:
        super().__init__(parts, scope, parts.archetype if archetype is None else archetype)
        self._request = partial(build_request, catalog=parts.catalog, clock=parts.clock)

    @cached_property
    def delegations(self) -> Delegations:
        """The tasks that were given to other agents."""
        from germane.kinds.tasks.handle import Delegations

        return Delegations(self._parts, self.scope, lambda child: Agent(self._parts, child).assemble)

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
        `agent.history.compact` does, to `history_tokens` tokens, by default to what the model's window has room for; True
        stands for `Summarise()`. `metadata.history` says what was done. By default the messages stay as they are.

        Raises `InvalidInput` for arguments that can't be used, and nothing else. A fault of germane's own gives less context;
        `metadata.fallback_reason` and `trace` hold the reason.
        """
        began = self._parts.clock.steady()
        scope, plan = self.scope.within(session), self._parts.strategies.find(strategy)
        compacting = history_terms(history, history_tokens)
        read = partial(
            self._request,
            scope=scope,
            messages=messages,
            model=model,
            provider=provider,
            at=at,
            tools=tools,
            query=query,
            deadline=deadline,
            max_tokens=max_tokens,
            filters=allowed_filters(plan, filters),
            effort=effort,
            window=window,
            like=like,
            system=system,
            blocks=blocks,
            task=task,
        )
        request = await aside(len(messages) if isinstance(messages, Sequence) else 0, read)
        context = await self._parts.engine.assemble(request, self._scoped(scope), plan, began, compacting)
        self._parts.retrievals.injected(self.scope, context.items)
        self._parts.injections.note(scope)
        return context

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
        knew it. For a model that binds its thinking, the texts of the session's earlier calls stand in them, as far as
        `filters` allow. Does no I/O and may be called on any event loop. Raises `InvalidInput`."""
        scope, plan = self.scope.within(session), self._parts.strategies.find(strategy)
        string("reason", reason, NAME)
        read = partial(
            self._request,
            scope=scope,
            messages=messages,
            model=model,
            provider=provider,
            window=window,
            like=like,
            system=system,
            filters=allowed_filters(plan, filters),
        )
        request = await aside(len(messages) if isinstance(messages, Sequence) else 0, read)
        return await self._parts.engine.fall_back(request, plan, reason)

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
        string("query", query, QUERY, valid=False)
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

    async def recall(
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
        limit, parts = number("limit", limit, maximum=COUNT.maximum), self._parts
        string("query", query, QUERY, valid=False)
        plan = parts.strategies.find(strategy)
        request = self._request(
            scope=self.scope,
            messages=(),
            model="any",
            query=query,
            at=at,
            filters=allowed_filters(plan, filters),
        )
        await index_all(parts, self.scope)
        return await parts.engine.recall(request, self._scoped(self.scope), plan, limit)

    async def record(
        self, messages: Sequence[Raw], *, session: str, source_kind: str = "user", channel: str | None = None
    ) -> Recorded:
        """Stores a conversation verbatim and indexes it. Idempotent: each message is stored once, however often it is sent (see
        `kinds/messages/plans.py`). What germane injected is left out. A call of more than 128 messages or 64K characters is
        written in slices, with other calls in between: each slice is durable by itself, and sending an interrupted call again
        completes it. Secrets are redacted, or treated as the policy says that germane was opened with; the result's `secrets`
        counts them. Raises `InvalidInput`, and `Conflict` for an id that was recorded before with other content; a conflicting
        call writes nothing."""
        scope = self.scope.within(session)
        origin = origin_of(scope, source_kind, channel, self._parts, self._archetype)
        check_message_list(messages, RECORDED)
        recording = Recording(
            self._scoped(scope).journal,
            origin,
            now=self._parts.clock.now(),
            background=self._parts.background,
        )
        outcome = await recording.keep(messages)
        if outcome.added:
            await self._embed(long=recording.long)
        return outcome

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

        flags(everything=everything, dry_run=dry_run)
        return await extract(self._parts, self.scope.within(session), everything=everything, dry_run=dry_run, progress=progress)

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
        string("kind", kind, NAME)
        flags(agent_wide=agent_wide)
        if provenance is not None:
            provenance = check_provenance(provenance)
        scope = self._shared if agent_wide else self.scope
        now = self._parts.clock.now()
        memory = new_memory(
            text, kind=kind, scope=scope, now=now, provenance=provenance, given=fields, secrets=self._parts.secrets
        )
        outcome = await self._scoped(scope).journal.commit(remember(memory))
        await self._embed()
        return outcome.memory

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

    async def feedback(self, ids: Sequence[str], *, helpful: bool = True) -> int:
        """Counts that memories helped, or did harm, which moves their usefulness. Returns for how many it was counted: the
        scope's own. Agent-wide memories, which all users share, take feedback from a scope without a user only. Ids of messages
        and unknown ids are ignored, so the ids of a whole context may be passed. Raises `InvalidInput`."""
        return await self._scoped(self.scope).journal.commit(feedback(identifiers(ids), helpful, scope=self.scope))

    @overload
    async def directive(self) -> str: ...
    @overload
    async def directive(self, text: str) -> str: ...
    async def directive(self, text: str | None = None) -> str:
        """Returns the agent's standing instructions (a user's own where one is set). `text` sets them first; an empty text
        removes them. Raises `InvalidInput`."""
        scoped, cache = self._scoped(self.scope), self._parts.engine.directive_cache
        if text is not None:
            string("directive", text, DIRECTIVE)
            await scoped.journal.commit(set_directive(text, self._parts.secrets))
            cache.replace(self.scope)
        return (await cache.read(self.scope, scoped.directive)).text

    async def warm(self) -> None:
        """Loads what this scope searches into memory, so that the first answer has every source, and its directive, so that
        every answer has it."""
        await self._parts.store.warm(self.scope)
        await self.directive()

    def __repr__(self) -> str:
        return f"<Agent {self.scope}>"

    @property
    def _shared(self) -> Scope:
        return Scope(org=self.scope.org, agent=self.scope.agent, zone=self.scope.zone)

    async def _embed(self, *, long: bool = False) -> None:
        """A slow embedder makes its vectors after the commit, and so does every embedder for the parts of very long texts.
        Keywords find a text that can't be embedded now."""
        if not self._parts.embedder.quick or long:
            await self._parts.catch_up.settle()
