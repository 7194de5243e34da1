# Made by tools/twins.py from the asynchronous classes. To change it, change those and run "make twins".
"""Sync: the blocking twin of `germane`. It only forwards its calls to the asynchronous implementation.

    from germane.sync import Germane

    with Germane.open("germane.db") as germane:
        context = germane.agent("support").assemble(messages, model="gpt-4o")

Without `with` it opens at its first call, in a notebook, or in a web server's module, and `close` closes it. A process that
ends without `close` loses nothing that a call has returned. Each opened `Germane` has one event loop in one daemon thread, and
any number of threads may call it. Listeners, hooks and progress callbacks are called in the loop's thread. A call that is
interrupted is cancelled; a call under way when another thread closes the `Germane` raises `StoreUnavailable`. Don't call it
from an event loop, which it would block, nor from a source or a callback of its own, which would wait for itself.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from germane.api.blocking import BlockingAgent, BlockingDelegation, BlockingGermane, BlockingTwin
from germane.api.germane import Germane as AwaitedGermane
from germane.compaction.strategy import SUMMARISE
from germane.kinds.blocks.value import DEFAULT_LIMIT

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any

    from germane.api.arguments import EmbedderArgument, LLMArgument, System
    from germane.api.digest import MemoryDigest
    from germane.api.strategies import Strategies
    from germane.api.verbs.about import AboutEntity
    from germane.api.verbs.expand import Expanded
    from germane.api.verbs.transfer import Exported, Line, Restored
    from germane.api.workers.open_blocks import BlockListener
    from germane.catalog.profiles import Prices
    from germane.clock import Clock
    from germane.compaction.plan import Compaction
    from germane.compaction.strategy import CompactionStrategy
    from germane.extraction.archetypes.findings import RecordedEvent
    from germane.extraction.archetypes.registry import Archetypes
    from germane.extraction.archetypes.value import Archetype
    from germane.kinds.blocks.handle import AgentBlocks as AwaitedAgentBlocks
    from germane.kinds.blocks.mutation import Mutation
    from germane.kinds.blocks.permission import ConsentRequest, Share
    from germane.kinds.blocks.schema import Schema
    from germane.kinds.blocks.value import ArchivalEntry, Block, FoundBlock, FoundEntry, Version
    from germane.kinds.conversations.aliases import AliasedSession, SessionAlias
    from germane.kinds.conversations.handle import AgentConversations as AwaitedAgentConversations
    from germane.kinds.conversations.handle import EarlierMessages
    from germane.kinds.conversations.outline import OutlinePage
    from germane.kinds.conversations.value import KeptSummary
    from germane.kinds.documents.handle import AgentDocuments as AwaitedAgentDocuments
    from germane.kinds.documents.handle import FolderIngested
    from germane.kinds.documents.value import DocumentPage, Ingested, KeptDocument
    from germane.kinds.events.handle import AgentEvents as AwaitedAgentEvents
    from germane.kinds.events.reads import MessagePage, SessionPage
    from germane.kinds.events.value import Event, EventPage, NewEvent, Recorded
    from germane.kinds.graph.handle import AgentGraph as AwaitedAgentGraph
    from germane.kinds.graph.handle import Patterns as AwaitedPatterns
    from germane.kinds.graph.value import Entity, EntityPage, Neighbourhood, Pattern, Relation, Step
    from germane.kinds.keys.handle import Keyring as AwaitedKeyring
    from germane.kinds.keys.value import Grant, Key, NewKey, Right
    from germane.kinds.memories.conflicts import Contradiction
    from germane.kinds.memories.handle import AgentMemories as AwaitedAgentMemories
    from germane.kinds.memories.reads import Page
    from germane.kinds.memories.upkeep import Audit, Consolidated
    from germane.kinds.memories.value import Memory, Receipt
    from germane.kinds.profile.value import Mark, ProfileView
    from germane.kinds.tasks.handle import AgentTasks as AwaitedAgentTasks
    from germane.kinds.tasks.handle import Artifacts
    from germane.kinds.tasks.handle import Delegations as AwaitedDelegations
    from germane.kinds.tasks.value import Mode, TaskBranch, TaskCheckpoint, TaskFrame
    from germane.search.relevance import Relevance
    from germane.settings.settings import Settings
    from germane.stages.gather.source import SourceFactory
    from germane.stores.contract import Checkup
    from germane.text.secrets.detection import SecretPolicy
    from germane.types.budget import CompressedText, Effort, TokenCount
    from germane.types.candidate import Provenance, Scored, Sensitivity
    from germane.types.context import BuiltContext, Context
    from germane.types.inventory import AgentPage, OrgPage, Stats, UserPage
    from germane.types.message import Message, Raw
    from germane.types.query import Filters
    from germane.types.reports import ExtractionRun, Why
    from germane.types.scope import Scope
    from germane.types.strategy import Strategy

__all__ = [
    "Agent",
    "AgentBlocks",
    "AgentConversations",
    "AgentDocuments",
    "AgentEvents",
    "AgentGraph",
    "AgentMemories",
    "AgentTasks",
    "Delegation",
    "Delegations",
    "Germane",
    "Keyring",
    "Patterns",
]


class Germane(BlockingGermane):
    """As `germane.api.germane.Germane`."""

    @classmethod
    def open(
        cls,
        path: str | Path = "germane.db",
        *,
        settings: Settings | str | Path | None = None,
        embedder: EmbedderArgument | None = None,
        clock: Clock | None = None,
        sources: Mapping[str, SourceFactory] | None = None,
        freeze: bool = True,
        warm: bool = True,
        relevance: Relevance | str | Path | None = None,
        dimensions: int | None = None,
        embedder_model: str | None = None,
        secrets: SecretPolicy | None = None,
        extraction: bool | None = None,
        llm: LLMArgument | None = None,
        archetype: str | Archetype | None = None,
        entities: bool | None = None,
    ) -> Germane:
        """A germane over the store in the file at `path`, which is created if need be (`:memory:` keeps nothing).

        `settings` is a `Settings` or the path of a TOML file; by default the environment and the built-in defaults. `embedder`
        is a name (`distilled`, `minilm`, `openai:<model>`), an `Embedder`, or a function from a list of texts to their vectors,
        which may be a coroutine function; `dimensions` is the length of those vectors, for a function; an endpoint tells its
        own with its first answer. `embedder_model` names the model behind a function, by default the function's module and
        name: only vectors of one model are compared. `extraction` says whether recording extracts memories from the users' own
        turns, by rules (default: the settings', which is yes). `llm` is a language model that reads the conversations in the
        background, extracts more, and sums up what leaves a compacted prompt: a name (`openai:<model>`, `anthropic:<model>`),
        an `LLM`, or a coroutine function from a prompt to a text (default: the settings', which is none). `relevance` is a file
        of coefficients that `germane eval fit` wrote, or the model itself. All of them override the settings. `sources`
        registers sources by the names that strategies use. `freeze` excludes the objects that are alive after opening from the
        garbage collector's walks (`gc.freeze`, once per process), which take tens of milliseconds in the middle of an answer,
        and makes walks over new objects rarer (`gc.set_threshold`). `warm=False` opens sooner, for programs that store and
        search only: the first assembly then loads the vocabulary and is late. `secrets` overrides the settings' policy on
        secrets in what is stored: `redact` (default), `tag`, `refuse` or `off`. `archetype` is one whose extractors read what
        is recorded: `coding`, `support`, `research`, one of the settings', or an `Archetype` (default: the settings', which is
        none). `entities` says whether messages are searched for the entities that they mention (default: the settings', which
        is no; with an archetype they are).

        Opened with `with Germane.open(…) as germane:`, or with `germane = Germane.open(…)` and closed with
        `germane.close()`. Raises `InvalidInput`. Opening raises `StoreUnavailable`, `StoreCorrupt`, `StoreTooNew`,
        `InvalidInput` or `MissingExtra`.
        """
        opened = AwaitedGermane.open(
            path,
            settings=settings,
            embedder=embedder,
            clock=clock,
            sources=sources,
            freeze=freeze,
            warm=warm,
            relevance=relevance,
            dimensions=dimensions,
            embedder_model=embedder_model,
            secrets=secrets,
            extraction=extraction,
            llm=llm,
            archetype=archetype,
            entities=entities,
        )
        return cls(opened)

    def agent(
        self,
        agent: str = "default",
        *,
        org: str = "default",
        user: str | None = None,
        zone: str = "UTC",
        archetype: str | Archetype | None = None,
    ) -> Agent:
        """Returns the handle on one scope (SCOPE-1): what an agent keeps, or an agent with one user. `archetype` is the one
        whose extractors read what it records (default: that of `open`). Raises `InvalidInput`."""
        awaited = self._awaited.agent(agent, org=org, user=user, zone=zone, archetype=archetype)
        return Agent(awaited, self._loop)

    def agents(self, org: str = "default", *, limit: int = 50, cursor: str | None = None) -> AgentPage:
        """Returns a page of `limit` (1 to 1,000) agents of the org with what each has stored, in the order of their first
        write. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.agents, org, limit=limit, cursor=cursor)

    def orgs(self, *, limit: int = 50, cursor: str | None = None) -> OrgPage:
        """Returns a page of `limit` (1 to 1,000) orgs of the store with what each has stored, in the order of their first
        write. For the operator, who has the file: no handle on a scope and no key leads here. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.orgs, limit=limit, cursor=cursor)

    def owner(self, id: str, *, org: str = "default") -> Scope | None:
        """Returns the scope that a memory or message with this id belongs to, or belonged to until it was forgotten; None where
        the org has none. For the operator: a handle on a scope sees only its own. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.owner, id, org=org)

    def forget(self, org: str, *, agent: str | None = None, dry_run: bool = False, by: str = "", reason: str = "") -> Receipt:
        """Forgets all that an org, or one `agent` of it, has stored: memories, messages, directives, sessions and names of all
        users, and what is agent-wide. API keys stay: revoke them with `keys`. Each user is forgotten by itself; a call that was
        interrupted is completed by the next one. `dry_run` and the receipt are as in `Agent.forget`. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.forget, org, agent=agent, dry_run=dry_run, by=by, reason=reason)

    @property
    def keys(self) -> Keyring:
        """The key ring: the API keys of every org in the store (RPC-5)."""
        return Keyring(self._awaited.keys, self._loop)

    @property
    def strategies(self) -> Strategies:
        """The registry of strategies, to which a caller adds its own."""
        return self._awaited.strategies

    @property
    def archetypes(self) -> Archetypes:
        """The registry of archetypes: `register`, `create` and `extend` add one, each with a strategy of its name."""
        return self._awaited.archetypes

    @property
    def prices(self) -> Prices:
        """What input tokens cost, by model: list prices and those of the settings."""
        return self._awaited.prices

    def pseudonym(self, id: str) -> str:
        """Returns what replaces the id of an org or an agent in the service's log: twelve hex digits, the same in every process
        over this store. They depend on a key in the store, so nobody can find an id from them without the store. Raises
        `InvalidInput`."""
        return self._awaited.pseudonym(id)

    def count(self, text: str, *, model: str) -> int:
        """Returns the tokens that `text` alone costs `model`; an upper bound where the model's tokenizer isn't available.
        Raises `InvalidInput`."""
        return self._awaited.count(text, model=model)

    def backup(self, target: str | Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Writes a consistent copy of the store to the file `target`, while the store is in use. `progress(done, total)` counts
        pages. Raises `StoreError`."""
        return self._loop.call(self._awaited.backup, target, progress)

    def export(self, org: str | None = None, agent: str | None = None) -> Iterator[Exported]:
        """Yields all that is stored, or with `org` all of that org, or with `org` and `agent` all of that agent and its users,
        as `Agent.export` does for one scope. Raises `InvalidInput`."""
        return self._loop.each(self._awaited.export(org, agent))

    def restore(self, lines: Iterable[Line] | AsyncIterable[Line], *, skip_conflicts: bool = False) -> Restored:
        """Stores what an export holds as it was, each line in the scope that it came from. Otherwise as `Agent.restore`."""
        return self._loop.call(self._awaited.restore, lines, skip_conflicts=skip_conflicts)

    def ping(self) -> None:
        """Returns when the store has answered; raises `StoreError` where it can't. For health checks."""
        return self._loop.call(self._awaited.ping)

    def verify(self, *, full: bool = False, progress: Callable[[int, int], None] | None = None) -> Checkup:
        """Reads all that is stored and returns findings about the content: whether each text is the one that was stored (by its
        checksum), whether search rows match their texts (a sample of them, all where `full`), and whether rows are left of what
        is gone. `progress(done, total)` counts texts, on any thread. Raises `StoreError`."""
        return self._loop.call(self._awaited.verify, full=full, progress=progress)

    def check(self) -> Checkup:
        """Returns findings about the store: whether the file is sound, which embedder made its vectors, whether the
        embedder fails, how many keys it has. Waits at most five seconds for texts that have no vector yet."""
        return self._loop.call(self._awaited.check)

    def reembed(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Makes vectors of the embedder in use for every text that has none (SEARCH-3). Returns how many it made."""
        return self._loop.call(self._awaited.reembed, progress)

    def upgrade(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Brings what an earlier version stored into the form of this one: its long texts are divided into parts for search,
        and its sessions get their outlines.
        Opening begins that in the background and logs how far it is (logger `germane.store`); `upgrade` returns when it is
        done. `progress(done, total)` counts texts, then sessions. Returns how many were left to do. What is interrupted is
        taken up again when the store is opened next. Raises `StoreError`."""
        return self._loop.call(self._awaited.upgrade, progress)


class Agent(BlockingAgent):
    """As `germane.api.agent.Agent`."""

    @cached_property
    def memories(self) -> AgentMemories:
        """The memories, to read and correct."""
        return AgentMemories(self._awaited.memories, self._loop)

    @cached_property
    def blocks(self) -> AgentBlocks:
        """The memory blocks."""
        return AgentBlocks(self._awaited.blocks, self._loop)

    @cached_property
    def documents(self) -> AgentDocuments:
        """The documents."""
        return AgentDocuments(self._awaited.documents, self._loop)

    @cached_property
    def events(self) -> AgentEvents:
        """What the agent did."""
        return AgentEvents(self._awaited.events, self._loop)

    @cached_property
    def graph(self) -> AgentGraph:
        """The people, places and things, and how they relate."""
        return AgentGraph(self._awaited.graph, self._loop)

    @cached_property
    def tasks(self) -> AgentTasks:
        """The stack of tasks."""
        return AgentTasks(self._awaited.tasks, self._loop)

    @cached_property
    def delegations(self) -> Delegations:
        """The tasks that were given to other agents."""
        return Delegations(self._awaited.delegations, self._loop)

    @cached_property
    def conversations(self) -> AgentConversations:
        """The conversations, to compact them."""
        return AgentConversations(self._awaited.conversations, self._loop)

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
        return self._loop.call(
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
        """Returns what `assemble` returns when there is no time at all: the messages with the directive as this process last
        knew it, and the texts of the session's earlier calls as this process last sent them, as far as `filters` allow and the
        window has room. Does no I/O and may be called on any event loop. Raises `InvalidInput`."""
        return self._loop.call(
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
        """Returns the memories that matter for `query` as a text of its own, for a prompt that you build yourself: a list with
        ids and provenance within the budgets of `memory.v1`, or one line that says why there is none. The same for an
        interactive turn and for one of a delegated agent. `assemble(…, strategy="digest")` writes the same list into messages.
        Tokens are those of `model`. Raises `InvalidInput`."""
        return self._loop.call(
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

    def search(
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
        return self._loop.call(self._awaited.search, query, limit, filters=filters, at=at, strategy=strategy)

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
        """Gives a task to another agent, and returns the messages for it. `session` is the parent's. Modes: `isolated` (the
        task and the directive), `fork` (the parent's `messages` as they are, open tool calls closed, then the task) and `brief`
        (what the parent's stack, history and memories hold for the task, in at most `max_tokens` tokens). The task is a frame
        below the parent's current one until `complete` brings its result back. `filters` and `scope` narrow what the
        other agent sees. Raises `InvalidInput`, also beyond the settings `delegation_depth` and `delegations`, and
        `NotPermitted` where the other agent would see more than the parent."""
        awaited = self._loop.call(
            self._awaited.delegate,
            task,
            mode,
            model=model,
            session=session,
            messages=messages,
            max_tokens=max_tokens,
            provider=provider,
            filters=filters,
            scope=scope,
            deadline=deadline,
        )
        return Delegation(awaited, self._loop)

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
        """Returns what is known for `query` as one text of at most `max_tokens` tokens of `model`, with the components that it
        is made of, for a prompt that you write yourself. The pipeline is that of `assemble`, without messages.

        `strategy` is a name, a `Strategy`, or a table of the settings to change, merged deeply:
        `{"weights": {"recency": 0.5}}`, with `like` for the strategy that they change. A directive and memory blocks aren't
        part of it. `additional_context` counts in the budget and stands in a section of its own, written as data.

        Raises `InvalidInput` for arguments that can't be used, and nothing else: a fault gives less context, and
        `metadata.fallback_reason` says why.
        """
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
        """Returns `built` with one more recorded event, given as such or by its id, first among its components and in the
        text at its place in time. No search is made. What shows the same thing goes, then what scores lowest, until the text as
        written is within the budget of `built`; an event that is larger than that is shortened, and where that is impossible,
        `note` says so. What may not be shown any more is left out. The same update again changes nothing.

        Raises `NotFound` for an event that isn't stored here, and `InvalidInput`, also for a context of another scope."""
        return self._loop.call(self._awaited.update_context, built, event)

    def expand(self, name: str, context: Context | BuiltContext | None = None) -> str:
        """Returns the whole text of something that was shown in part or as a breadcrumb. `name` is its handle in `context`,
        that of an artifact that a task's line names (`m3.1`), or an id as in `find`. What has been forgotten since, or may not
        be shown, isn't there. Raises `NotFound`, `InvalidInput`."""
        return self._loop.call(self._awaited.expand, name, context)

    def estimate_tokens(self, content: str, *, model: str = "gpt-4o") -> TokenCount:
        """Returns the tokens of `content` for `model`: exact where the model's vocabulary is installed, else an upper estimate.
        Raises `InvalidInput`."""
        return self._loop.call(self._awaited.estimate_tokens, content, model=model)

    def compress(
        self, content: str, max_tokens: int, *, model: str = "gpt-4o", query: str | None = None, use_llm: bool | None = None
    ) -> CompressedText:
        """Returns `content` within `max_tokens` tokens of `model`, never longer than it was: as it is where it fits, else
        shortened by the language model of this `Germane` (default: where one is configured), else the sentences that say most,
        those about `query` first, with `…` where something was left out. Where the language model fails or writes too much, its
        answer isn't used, and `note` says so. Raises `InvalidInput`, also for `use_llm=True` without a language model."""
        return self._loop.call(self._awaited.compress, content, max_tokens, model=model, query=query, use_llm=use_llm)

    def record(
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
        return self._loop.call(
            self._awaited.record, messages, session=session, source_kind=source_kind, channel=channel, said_at=said_at
        )

    def extract(
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
        return self._loop.call(
            self._awaited.extract, session=session, everything=everything, dry_run=dry_run, progress=progress
        )

    def remember(
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
        return self._loop.call(self._awaited.remember, text, kind=kind, agent_wide=agent_wide, provenance=provenance, **fields)

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
        """Removes what matches every criterion given, with its vectors and index entries, and leaves a tombstone without
        content. `everything`, or a `user` and no other criterion, also removes the directive, the sessions and the names of
        their owner. `session`, `source_kind` and `channel` are those of the provenance. The receipt
        tells where the store was searched for what is left, and whether the texts are gone from every file, or what that waits
        for; the same call later tells the state then. `dry_run` removes nothing and returns what would be removed. Raises
        `InvalidInput`, also without any criterion."""
        return self._loop.call(
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
        """Counts that memories helped, or did harm, which moves their usefulness. Returns for how many it was counted: the
        scope's own. Agent-wide memories, which all users share, take feedback from a scope without a user only. Ids of messages
        and unknown ids are ignored, so the ids of a whole context may be passed. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.feedback, ids, helpful=helpful)

    def directive(self, text: str | None = None) -> str:
        """Returns the agent's standing instructions (a user's own where one is set). `text` sets them first; an empty text
        removes them. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.directive, text)

    def consolidate(
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
        return self._loop.call(
            self._awaited.consolidate, max_memories=max_memories, max_bytes=max_bytes, dry_run=dry_run, by=by, progress=progress
        )

    def find(self, id: str) -> Memory | Event:
        """Returns one memory or message, by its id, by the beginning of its id (four characters or more), or by your own id of
        the message. Raises `NotFound`, also for things of another scope (SCOPE-3), and `InvalidInput` where several have it."""
        return self._loop.call(self._awaited.find, id)

    def about(
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
        return self._loop.call(self._awaited.about, name, at=at, max_tokens=max_tokens, model=model, filters=filters)

    def profile(self, at: datetime | None = None, *, tokens: int | None = None) -> ProfileView:
        """Returns the lines that stand in every prompt of a session that begins now, or at `at`: standing instructions and what
        holds about the person, each with the reason; what was left out; and the text. The assembly makes the same choice.
        `tokens` (0 to 1,000,000) is the budget (default: that of the strategy `default`). Raises `InvalidInput`."""
        return self._loop.call(self._awaited.profile, at, tokens=tokens)

    def mark_line(self, id: str, mark: Mark | None) -> str:
        """Pins a line of the profile (`pin`: it is chosen before all others) or hides it (`hide`: it never stands); None takes
        the mark away. Idempotent; returns the line's whole id. `id` is a line's, or the beginning of one: four characters or
        more, and `@` with the place at which it begins where a message has several lines. The next session shows the change.
        Raises `NotFound`, and `InvalidInput`, also where several lines begin so."""
        return self._loop.call(self._awaited.mark_line, id, mark)

    def why(self, id: str, context: Context, *, session: str | None = None) -> Why:
        """Returns what the assembly that made `context` did with one stored thing, and the reason: it went in, was left out,
        was filtered, isn't valid, stands in the request, was forgotten, or the search didn't reach it (then with its rank and
        its P(relevant)). `id` is as in `find`; `session` that of the assembly. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.why, id, context, session=session)

    def audit(self, *, unused_days: int = 30, limit: int = 100, messages: bool = True) -> Audit:
        """Returns what deserves a look among the scope's own memories: duplicates, near-duplicates, contradictions, secrets
        (with `messages` in its messages too), what is stale or expired, and what was never retrieved although it is
        `unused_days` old. At most `limit` (1 to 1,000) findings of each kind, with ids and without content; all are counted.
        Raises `InvalidInput`."""
        return self._loop.call(self._awaited.audit, unused_days=unused_days, limit=limit, messages=messages)

    def messages(
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
        return self._loop.call(self._awaited.messages, session, filters=filters, limit=limit, cursor=cursor, whole=whole)

    def sessions(self, *, limit: int = 50, cursor: str | None = None) -> SessionPage:
        """Returns a page of `limit` (1 to 1,000) sessions, the one with the latest message first. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.sessions, limit=limit, cursor=cursor)

    def users(self, *, limit: int = 50, cursor: str | None = None) -> UserPage:
        """Returns a page of `limit` (1 to 1,000) of the agent's users with what each has stored, in the order of their first
        write. Raises `InvalidInput`, also where the scope has a user: it sees no other."""
        return self._loop.call(self._awaited.users, limit=limit, cursor=cursor)

    def stats(self) -> Stats:
        """Returns how much this scope sees: memories by kind, messages, sessions, users, bytes, times."""
        return self._loop.call(self._awaited.stats)

    def texts(self, ids: Sequence[str]) -> dict[str, str]:
        """Returns the texts of these memories and messages by id, for what a trace names without its text
        (`context.trace.unread`). What has been forgotten since, or may not be shown, is missing. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.texts, ids)

    def warm(self) -> None:
        """Loads what this scope searches into memory, so that the first answer has every source, and its directive, so that
        every answer has it."""
        return self._loop.call(self._awaited.warm)

    def export(self) -> Iterator[Exported]:
        """Yields all that this scope can see, one dict at a time, as it was at the first step: a header, the directives,
        memories, contradictions, sessions with their messages, and tombstones. `docs/use/export.md` describes them. API keys
        and vectors aren't part of it."""
        return self._loop.each(self._awaited.export())

    def restore(
        self, lines: Iterable[Line] | AsyncIterable[Line], *, into: bool = False, skip_conflicts: bool = False
    ) -> Restored:
        """Stores what an export of this scope holds as it was: ids, times, counts, what was superseded and what was forgotten.
        `lines` are the dicts of `export`, or lines of JSON. With `into` the export of another agent or user goes into this
        scope. Idempotent; an interrupted call is completed by the next one. What was forgotten here isn't stored again. Raises
        `InvalidInput`, and `Conflict` where something else is stored in a line's place, unless `skip_conflicts`; what stands
        before the line that it names may be stored then."""
        return self._loop.call(self._awaited.restore, lines, into=into, skip_conflicts=skip_conflicts)


class AgentMemories(BlockingTwin):
    """As `germane.kinds.memories.handle.AgentMemories`."""

    _awaited: AwaitedAgentMemories

    def get(self, id: str) -> Memory:
        """Returns one memory. Raises `NotFound`, also for a memory of another scope (SCOPE-3)."""
        return self._loop.call(self._awaited.get, id)

    def list(self, filters: Filters | None = None, *, limit: int = 50, cursor: str | None = None) -> Page:
        """Returns a page of `limit` (1 to 1,000) memories, newest first; its `cursor` asks for the next page. Without `filters`
        every sensitivity is listed. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.list, filters, limit=limit, cursor=cursor)

    def update(self, id: str, text: str | None = None, **changes: Any) -> Memory:
        """Changes fields of a memory and returns it. Raises `NotFound`, and `InvalidInput` for fields that its kind doesn't
        have."""
        return self._loop.call(self._awaited.update, id, text, **changes)

    def fact(self, key: str) -> Memory:
        """Returns the fact of the scope's own user that holds now under `key` (of several, the one that began last). Raises
        `NotFound`."""
        return self._loop.call(self._awaited.fact, key)

    def put_fact(self, key: str, value: Any, *, provenance: Provenance | None = None, **fields: Any) -> Memory:
        """Stores a fact in the place of the one that holds under `key`, whose id stays and whose value is gone, and returns it.
        `remember` keeps the earlier value as a version instead. `value` is any JSON value; `fields` are as in `remember`.
        Raises `InvalidInput`, also where the value can't be stored exactly as it is given, such as for a secret that the policy
        would redact; and `Conflict` where the key has a fact without any of the `tags` given."""
        return self._loop.call(self._awaited.put_fact, key, value, provenance=provenance, **fields)

    def review(self, *, limit: int = 50) -> tuple[Contradiction, ...]:
        """Returns at most `limit` (1 to 1,000) open conflicts between the scope's own memories, oldest first: what superseding
        and linking couldn't decide. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.review, limit=limit)

    def resolve(self, id: str, *, keep: str) -> Contradiction:
        """Closes a conflict and returns it. `keep` is the id of the memory to keep, or `both`; the other memory ends.
        Idempotent. Raises `NotFound`, and `InvalidInput` for another `keep` or another decision than before."""
        return self._loop.call(self._awaited.resolve, id, keep=keep)

    def versions(self, id: str) -> tuple[Memory, ...]:
        """Returns the memory with everything that superseded it or that it superseded, oldest first. Raises `NotFound`."""
        return self._loop.call(self._awaited.versions, id)


class AgentBlocks(BlockingTwin):
    """As `germane.kinds.blocks.handle.AgentBlocks`."""

    _awaited: AwaitedAgentBlocks

    def create(
        self,
        label: str,
        *,
        description: str = "",
        type: str = "working",
        schema: Schema | Mapping[str, Any] | str | None = None,
        text: str | None = None,
        value: Any = None,
        permission: str = "read_write",
        limit: int = DEFAULT_LIMIT,
        pinned: bool = False,
        by: str = "",
        reason: str = "",
    ) -> Block:
        """Makes a block and returns it. `type` is core, working, archival or log; `schema` a `Schema`, its dict, or the name of
        a shape (default: a log for a log, else plain text). The first content is `text`, or the plain `value` of another
        schema. `limit` is the most characters of the rendered text. Raises `Conflict` where the label is taken, and
        `InvalidInput`."""
        return self._loop.call(
            self._awaited.create,
            label,
            description=description,
            type=type,
            schema=schema,
            text=text,
            value=value,
            permission=permission,
            limit=limit,
            pinned=pinned,
            by=by,
            reason=reason,
        )

    def get(self, label: str) -> Block:
        """Returns a block as it is now. Raises `NotFound`, also for a deleted one and for blocks of other scopes."""
        return self._loop.call(self._awaited.get, label)

    def value(self, label: str) -> Any:
        """Returns the content of a block as plain JSON of its schema; of plain text, the whole text without any mark. Raises
        `NotFound`."""
        return self._loop.call(self._awaited.value, label)

    def list(self, type: str | None = None, *, folder: str | None = None, deleted: bool = False) -> tuple[Block, ...]:
        """Returns the blocks, own ones by label and then shared ones; of one `type`, and with labels that begin with `folder/`,
        where these are given. With `deleted`, the own ones that were deleted, the latest first."""
        return self._loop.call(self._awaited.list, type, folder=folder, deleted=deleted)

    def edit(
        self,
        label: str,
        *mutations: Mutation | Mapping[str, Any],
        base: int | None = None,
        if_hash: str | None = None,
        by: str = "",
        reason: str = "",
        system: bool = False,
    ) -> Block:
        """Applies mutations (values, or their dicts), all or none, and returns the block. `if_hash` is the `content_hash` that
        the caller has read: `Stale` where the content is another one. `base` is the version that the caller has read: what
        was changed since stays, and a text that is set is merged with it; `Stale` for what depends on positions."""
        return self._loop.call(
            self._awaited.edit, label, *mutations, base=base, if_hash=if_hash, by=by, reason=reason, system=system
        )

    def set_text(self, label: str, text: str, *, base: int | None = None, by: str = "", reason: str = "") -> Block:
        """Replaces the text of a plain text block; see `edit`."""
        return self._loop.call(self._awaited.set_text, label, text, base=base, by=by, reason=reason)

    def append(self, label: str, text: str, *, by: str = "", reason: str = "") -> Block:
        """Adds to the end of the text of a plain text block, as it is; see `edit`."""
        return self._loop.call(self._awaited.append, label, text, by=by, reason=reason)

    def replace(self, label: str, old: str, new: str, *, by: str = "", reason: str = "") -> Block:
        """Replaces `old`, which must occur exactly once in the text, with `new`; see `edit`."""
        return self._loop.call(self._awaited.replace, label, old, new, by=by, reason=reason)

    def undo(self, label: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        """Takes back the latest edit that isn't undone, whoever made it, and returns the block. What was changed since stays.
        Survives a restart; how far it goes is bounded by the versions that are kept."""
        return self._loop.call(self._awaited.undo, label, by=by, reason=reason, system=system)

    def redo(self, label: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        """Makes the edit again that was undone last, unless another edit followed, and returns the block."""
        return self._loop.call(self._awaited.redo, label, by=by, reason=reason, system=system)

    def versions(self, label: str) -> tuple[Version, ...]:
        """Returns the versions of a block that are kept, oldest first: after consolidation the last 3 to 100, as many as fit
        into 8 KB or 1.6 times the text. Raises `NotFound`."""
        return self._loop.call(self._awaited.versions, label)

    def show_version(self, label: str, version: int) -> str:
        """Returns the text of a block as it was at a version. Raises `NotFound`, also where the version isn't kept."""
        return self._loop.call(self._awaited.show_version, label, version)

    def pin(self, label: str, pinned: bool = True, *, by: str = "", system: bool = False) -> Block:
        """Pins a working block, so that it is in every context, or unpins it; returns the block."""
        return self._loop.call(self._awaited.pin, label, pinned, by=by, system=system)

    def change(
        self,
        label: str,
        *,
        new_label: str | None = None,
        description: str | None = None,
        type: str | None = None,
        schema: Schema | Mapping[str, Any] | str | None = None,
        permission: str | None = None,
        limit: int | None = None,
        if_hash: str | None = None,
        by: str = "",
        reason: str = "",
        system: bool = False,
    ) -> Block:
        """Changes settings of an own block and returns it. A new `schema` takes over the content; `InvalidInput` names what
        doesn't fit, and edits before it can't be undone any more. Limit, permission and schema need `admin`. `if_hash` as in
        `edit`."""
        return self._loop.call(
            self._awaited.change,
            label,
            new_label=new_label,
            description=description,
            type=type,
            schema=schema,
            permission=permission,
            limit=limit,
            if_hash=if_hash,
            by=by,
            reason=reason,
            system=system,
        )

    def delete(self, label: str, *, if_hash: str | None = None, by: str = "", reason: str = "", system: bool = False) -> Block:
        """Deletes a block and returns it: its label is free, and `restore` brings it back. `agent.forget([block.id])` removes
        it for good. `if_hash` as in `edit`. Needs `admin`."""
        return self._loop.call(self._awaited.delete, label, if_hash=if_hash, by=by, reason=reason, system=system)

    def rename_folder(
        self, folder: str, new_folder: str, *, type: str | None = None, by: str = "", reason: str = "", system: bool = False
    ) -> tuple[Block, ...]:
        """Renames all blocks with labels that begin with `folder/` so that they begin with `new_folder/`, or none of them, and
        returns them. Core and working blocks also get `type`, where it is given. Raises `NotFound` for a folder without
        blocks."""
        return self._loop.call(self._awaited.rename_folder, folder, new_folder, type=type, by=by, reason=reason, system=system)

    def delete_folder(self, folder: str, *, by: str = "", reason: str = "", system: bool = False) -> tuple[Block, ...]:
        """Deletes all blocks with labels that begin with `folder/`, or none of them, and returns them; see `delete`. Raises
        `NotFound` for a folder without blocks."""
        return self._loop.call(self._awaited.delete_folder, folder, by=by, reason=reason, system=system)

    def restore(self, id: str, *, by: str = "", reason: str = "", system: bool = False) -> Block:
        """Brings back the deleted block with this id and returns it. Idempotent. Needs `admin`. Raises `Conflict` where another
        block has its label by now."""
        return self._loop.call(self._awaited.restore, id, by=by, reason=reason, system=system)

    def share(self, label: str, agent: str, permission: str = "append", *, by: str = "", system: bool = False) -> Share:
        """Shares an own block with another agent of the org, which may do at most what the block's own permission allows;
        returns the share. A user's block is shared for the same user. Sharing again changes the permission. Needs `admin`."""
        return self._loop.call(self._awaited.share, label, agent, permission, by=by, system=system)

    def unshare(self, label: str, agent: str, *, by: str = "", system: bool = False) -> bool:
        """Ends the share of an own block with an agent, and returns whether there was one. Idempotent. Needs `admin`."""
        return self._loop.call(self._awaited.unshare, label, agent, by=by, system=system)

    def shares(self, label: str | None = None) -> tuple[Share, ...]:
        """Returns the shares of an own block, or of all of them, by label and agent. Raises `NotFound`."""
        return self._loop.call(self._awaited.shares, label)

    def consents(self, *, pending: bool = True, limit: int = 50) -> tuple[ConsentRequest, ...]:
        """Returns at most `limit` (1 to 1,000) requests for consent on the scope's own blocks, newest first: those that can be
        answered now, or with `pending=False` all that are kept."""
        return self._loop.call(self._awaited.consents, pending=pending, limit=limit)

    def approve(self, id: str, scope: str | float = "once") -> ConsentRequest:
        """Approves a request: for this edit `once`, for a number of seconds, or for the `block`: all that the same agent does
        with its content, and what rules the block itself (delete, share, permission) only where that was asked for. The agent
        tries its edit again then. Idempotent. Raises `NotFound`, and `InvalidInput` for a request that has
        expired or was answered otherwise."""
        return self._loop.call(self._awaited.approve, id, scope)

    def deny(self, id: str) -> ConsentRequest:
        """Denies a request: the same edit can be asked for again after the time that requests wait. Idempotent. Raises what
        `approve` raises."""
        return self._loop.call(self._awaited.deny, id)

    def subscribe(self, listener: BlockListener) -> Callable[[], None]:
        """Calls `listener` with each block of this scope that changes from now on, on the event loop; the returned function
        ends it. What this process commits is told at once, what another one commits when this process next reads the block."""
        return self._awaited.subscribe(listener)

    def archive(self, text: str, metadata: Mapping[str, Any] | None = None) -> ArchivalEntry:
        """Keeps a text for later searches, by its words and those of its `metadata` (JSON), and returns the entry, which is
        never changed. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.archive, text, metadata)

    def entry(self, id: str) -> ArchivalEntry:
        """Returns one archival entry. Raises `NotFound`."""
        return self._loop.call(self._awaited.entry, id)

    def search_archive(self, query: str, limit: int = 10) -> tuple[FoundEntry, ...]:
        """Returns at most `limit` (1 to 1,000) archival entries and archival blocks that answer `query`, best first. Raises
        `InvalidInput`."""
        return self._loop.call(self._awaited.search_archive, query, limit)

    def search(self, query: str, limit: int = 10) -> tuple[FoundBlock, ...]:
        """Returns at most `limit` (1 to 1,000) blocks of any type that answer `query`, best first, as they are now: the user's
        and agent-wide ones, and none that others share. The first search after edits indexes what was edited. Raises
        `InvalidInput`."""
        return self._loop.call(self._awaited.search, query, limit)

    def delete_entry(self, id: str, *, by: str = "", reason: str = "") -> Receipt:
        """Forgets an archival entry of the scope's own for good, and returns the receipt of `Agent.forget`. Raises
        `NotFound`."""
        return self._loop.call(self._awaited.delete_entry, id, by=by, reason=reason)


class AgentDocuments(BlockingTwin):
    """As `germane.kinds.documents.handle.AgentDocuments`."""

    _awaited: AwaitedAgentDocuments

    def ingest(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        text: str | None = None,
        data: bytes | None = None,
        source: str | None = None,
        title: str | None = None,
        media_type: str | None = None,
        agent_wide: bool = False,
        sensitivity: Sensitivity = "private",
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Ingested:
        """Stores the passages of a document: of the file at `path`, or of a `text`, or the `data` of a file, with a `source`.
        Idempotent by content: the same document again adds nothing; of a changed one, passages that stay keep their ids, and
        those that are gone are forgotten. `source` names the document (default: the file's whole path), `title` is shown
        (default: the file's name). `media_type` is text/markdown, text/html, text/x-code, text/x-log, text/csv, text/plain or
        application/pdf (default: by name and content). `agent_wide` stores it for every user of the agent. `dry_run` stores
        nothing and returns what would be done. `progress` is called with hundredths done and 100. Secrets are treated as in
        messages. Raises `InvalidInput` for what can't be read, `MissingExtra` for a PDF without pypdf, and `Conflict`."""
        return self._loop.call(
            self._awaited.ingest,
            path,
            text=text,
            data=data,
            source=source,
            title=title,
            media_type=media_type,
            agent_wide=agent_wide,
            sensitivity=sensitivity,
            dry_run=dry_run,
            progress=progress,
        )

    def ingest_folder(
        self,
        folder: str | os.PathLike[str],
        *,
        source: str | None = None,
        agent_wide: bool = False,
        sensitivity: Sensitivity = "private",
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> FolderIngested:
        """Ingests the files of a folder and of those inside it, as `ingest` does each. Hidden files, links and folders of
        installed packages are left out. A document's title is its path below the folder; its source is its whole path, or that
        path behind `source/`. `progress` is called with bytes. A file that can't be ingested is skipped, with the reason.
        Raises `InvalidInput` where the folder can't be read or holds too many files."""
        return self._loop.call(
            self._awaited.ingest_folder,
            folder,
            source=source,
            agent_wide=agent_wide,
            sensitivity=sensitivity,
            dry_run=dry_run,
            progress=progress,
        )

    def list(self, *, limit: int = 50, cursor: str | None = None) -> DocumentPage:
        """Returns a page of `limit` (1 to 1,000) documents, the one that was ingested last first. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.list, limit=limit, cursor=cursor)

    def get(self, source: str) -> KeptDocument:
        """Returns a document by its source, by its session, by the id of one of its passages, or by its title, where only one
        document has it. `agent.messages(session)` lists the passages. Raises `NotFound`, and `InvalidInput` for a title that
        several documents have."""
        return self._loop.call(self._awaited.get, source)

    def forget(
        self, source: str, *, agent_wide: bool = False, dry_run: bool = False, by: str = "", reason: str = ""
    ) -> Receipt:
        """Removes a document with all its passages, as `agent.forget` removes messages. `agent_wide` removes that of all users.
        Raises `NotFound`, and `InvalidInput` for a user's scope that names a document of all users without `agent_wide`."""
        return self._loop.call(self._awaited.forget, source, agent_wide=agent_wide, dry_run=dry_run, by=by, reason=reason)


class AgentEvents(BlockingTwin):
    """As `germane.kinds.events.handle.AgentEvents`."""

    _awaited: AwaitedAgentEvents

    def record(
        self,
        type: str,
        content: str | Mapping[str, Any] | None = None,
        *,
        session: str | None = None,
        outcome: str = "",
        task: str | None = None,
        at: datetime | None = None,
        id: str | None = None,
        sensitivity: Sensitivity = "private",
        metadata: Mapping[str, Any] | None = None,
        archetype: str | Archetype | None = None,
    ) -> RecordedEvent:
        """Stores one event, and in the same transaction what the archetype's extractors find in it. `type` is `file_read`,
        `file_write`, `file_edit`, `shell_exec`, `search`, `error`, `decision`, `test`, or any other word; `content` a string or
        a dict; `outcome` a word such as `success` or `failure`; `task` the id of a task (default: the
        current one of the session, if any; '' for none); `at` when it happened (default: now).

        Idempotent by `id`, your own within the session: the same event again is found and not stored. Secrets are treated as in
        messages. An extractor that fails is reported in the result. Raises `InvalidInput`, `Conflict` for an `id` that was
        recorded with other content, and what a hook of the archetype raises."""
        return self._loop.call(
            self._awaited.record,
            type,
            content,
            session=session,
            outcome=outcome,
            task=task,
            at=at,
            id=id,
            sensitivity=sensitivity,
            metadata=metadata,
            archetype=archetype,
        )

    def record_many(
        self,
        events: Sequence[NewEvent | Mapping[str, Any]],
        *,
        session: str | None = None,
        archetype: str | Archetype | None = None,
    ) -> tuple[RecordedEvent, ...]:
        """Stores events, each a `NewEvent` or a dict with the arguments of `record`, and returns what was stored of each, in
        order. Each is a transaction of its own, and up to 32 become durable together: sending an interrupted call again
        completes it, where its events have ids. Raises as `record`, once for the first event that can't be stored; others may
        be stored then."""
        return self._loop.call(self._awaited.record_many, events, session=session, archetype=archetype)

    def list(
        self,
        session: str | None = None,
        *,
        types: Sequence[str] | None = None,
        task: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
        whole: bool = True,
    ) -> EventPage:
        """Returns a page of `limit` (1 to 1,000) events, the latest by their time first, of one session or all, of these
        `types`, of one `task`; its `cursor` asks for the next page. Messages aren't among them.
        Without `whole`, long texts are cut to their beginning. Raises `InvalidInput`."""
        return self._loop.call(
            self._awaited.list,
            session,
            types=types,
            task=task,
            since=since,
            until=until,
            limit=limit,
            cursor=cursor,
            whole=whole,
        )

    def highlights(
        self, sessions: int = 5, *, session: str | None = None, task: str | None = None, limit: int = 8
    ) -> tuple[Event, ...]:
        """Returns the events of the `sessions` latest sessions (or of one `session`) that are worth knowing later, at most
        `limit` of each: decisions, errors and what they were resolved with, changes, outcomes, the last message. The latest
        session comes first, and each one's events oldest first. Long texts are cut. Raises `InvalidInput`."""
        return self._loop.call(self._awaited.highlights, sessions, session=session, task=task, limit=limit)


class AgentGraph(BlockingTwin):
    """As `germane.kinds.graph.handle.AgentGraph`."""

    _awaited: AwaitedAgentGraph

    @cached_property
    def patterns(self) -> Patterns:
        """What worked before."""
        return Patterns(self._awaited.patterns, self._loop)

    def add(
        self,
        type: str,
        name: str,
        *,
        aliases: Iterable[str] = (),
        properties: Mapping[str, Any] | None = None,
        sensitivity: Sensitivity = "private",
    ) -> Entity:
        """Stores an entity and returns it. Where one of this type has one of the names, what is new is added to it. It stays
        until it is forgotten. Raises `Conflict` where several have the names."""
        return self._loop.call(self._awaited.add, type, name, aliases=aliases, properties=properties, sensitivity=sensitivity)

    def get(self, id: str) -> Entity:
        """Returns the entity with this id. Raises `NotFound`."""
        return self._loop.call(self._awaited.get, id)

    def find(self, name: str, type: str | None = None) -> tuple[Entity, ...]:
        """Returns the entities that have this name or alias, whatever its case and accents; of one `type` where it is given.
        Where none has it, the one of which it is a short form, as Caro is of Caroline; none where that fits several."""
        return self._loop.call(self._awaited.find, name, type)

    def list(
        self,
        type: str | None = None,
        *,
        prefix: str = "",
        limit: int = 50,
        cursor: str | None = None,
        filters: Filters | None = None,
    ) -> EntityPage:
        """Returns a page of entities by name: those whose name begins with `prefix`."""
        return self._loop.call(self._awaited.list, type, prefix=prefix, limit=limit, cursor=cursor, filters=filters)

    def salient(self, limit: int = 10, *, at: datetime | str | None = None) -> tuple[Entity, ...]:
        """Returns the entities that matter most at a time (default: now): often mentioned, and lately."""
        return self._loop.call(self._awaited.salient, limit, at=at)

    def relate(
        self,
        source: str,
        type: str,
        target: str,
        *,
        weight: float = 1.0,
        confidence: float = 0.8,
        properties: Mapping[str, Any] | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        exclusive: bool = False,
        sensitivity: Sensitivity = "private",
    ) -> Relation:
        """Stores how one entity stands to another, from `valid_from` (default: now) until `valid_to`, and returns it. A
        relation that says the same of the same time is the same one. `exclusive`: the source has one target of this type at a
        time, so that what held before ends. Raises `NotFound`."""
        return self._loop.call(
            self._awaited.relate,
            source,
            type,
            target,
            weight=weight,
            confidence=confidence,
            properties=properties,
            valid_from=valid_from,
            valid_to=valid_to,
            exclusive=exclusive,
            sensitivity=sensitivity,
        )

    def unrelate(self, id: str, at: datetime | str | None = None) -> Relation:
        """Ends a relation at a time (default: now) and returns it. Raises `NotFound`."""
        return self._loop.call(self._awaited.unrelate, id, at)

    def relations(self, entity: str, *, at: datetime | str | None = None, limit: int = 100) -> tuple[Relation, ...]:
        """Returns the relations of an entity in both directions, the heaviest first; those that hold `at` a time where it is
        given, else all. Raises `NotFound`."""
        return self._loop.call(self._awaited.relations, entity, at=at, limit=limit)

    def mentions(self, entity: str, *, limit: int = 100, before: datetime | str | None = None) -> tuple[str, ...]:
        """Returns the ids of the messages and memories that mention an entity, the latest first. Raises `NotFound`."""
        return self._loop.call(self._awaited.mentions, entity, limit=limit, before=before)

    def traverse(
        self, start: str, *, depth: int = 2, fan_out: int = 20, at: datetime | str | None = None, limit: int = 200
    ) -> Neighbourhood:
        """Returns what is within `depth` steps (0 to 10) of an entity: breadth first, in both directions, of each entity at
        most `fan_out` relations, the heaviest first, and at most `limit` relations in all. `at` leaves out what doesn't hold
        then. Raises `NotFound`."""
        return self._loop.call(self._awaited.traverse, start, depth=depth, fan_out=fan_out, at=at, limit=limit)

    def path(self, start: str, goal: str, *, at: datetime | str | None = None) -> tuple[Step, ...] | None:
        """Returns a shortest path between two entities, of at most 10 relations in either direction; () where both are one,
        None where there is none. Raises `NotFound`."""
        return self._loop.call(self._awaited.path, start, goal, at=at)

    def chain(
        self, start: str, types: Iterable[str] = ("causes", "fixes"), *, backwards: bool = False, limit: int = 50
    ) -> tuple[Relation, ...]:
        """Returns the causal chain from an entity: relations of these types followed from source to target, or `backwards`, the
        nearest first. Raises `NotFound`."""
        return self._loop.call(self._awaited.chain, start, types, backwards=backwards, limit=limit)

    def merge(self, kept: str, gone: str) -> Entity:
        """Makes one entity of two: names, mentions and relations of `gone` go to `kept`, which is returned. Raises
        `NotFound`."""
        return self._loop.call(self._awaited.merge, kept, gone)

    def forget(self, ids: Sequence[str], *, dry_run: bool = False, by: str = "", reason: str = "") -> Receipt:
        """Forgets entities with their relations, relations, and patterns, by id, and returns the receipt of `Agent.forget`."""
        return self._loop.call(self._awaited.forget, ids, dry_run=dry_run, by=by, reason=reason)


class Patterns(BlockingTwin):
    """As `germane.kinds.graph.handle.Patterns`."""

    _awaited: AwaitedPatterns

    def learn(
        self,
        action: str,
        *,
        keywords: Iterable[str] = (),
        intent: str | None = None,
        entity_types: Iterable[str] = (),
        sensitivity: Sensitivity = "private",
    ) -> Pattern:
        """Stores an action and when it applies, and returns the pattern; learning the same again returns the one that is there.
        `keywords` are words of requests, `intent` is fix, explain, question, action or other."""
        return self._loop.call(
            self._awaited.learn, action, keywords=keywords, intent=intent, entity_types=entity_types, sensitivity=sensitivity
        )

    def match(
        self, query: str = "", *, intent: str | None = None, entity_types: Iterable[str] = (), limit: int = 20
    ) -> tuple[Pattern, ...]:
        """Returns the patterns that apply to a request: all that a pattern says must match. The best success rate first."""
        return self._loop.call(self._awaited.match, query, intent=intent, entity_types=entity_types, limit=limit)

    def apply_result(self, id: str, succeeded: bool) -> Pattern:
        """Counts that a pattern was tried, and whether it worked; returns the pattern. Raises `NotFound`."""
        return self._loop.call(self._awaited.apply_result, id, succeeded)


class AgentTasks(BlockingTwin):
    """As `germane.kinds.tasks.handle.AgentTasks`."""

    _awaited: AwaitedAgentTasks

    def push(
        self, goal: str, *, session: str | None = None, sensitivity: str = "private", provenance: Provenance | None = None
    ) -> TaskFrame:
        """Begins a task below the current one, which may be none, and returns its frame: it is the current one now. Raises
        `InvalidInput` beyond 32 levels, 256 open tasks or 10,000 tasks of the session."""
        return self._loop.call(self._awaited.push, goal, session=session, sensitivity=sensitivity, provenance=provenance)

    def pop(self, result: str, *, session: str | None = None, status: str = "complete", artifacts: Artifacts = ()) -> TaskFrame:
        """Ends the current task with its result and returns its frame; the task above it is the current one now. `status` is
        complete or failed (then `result` says what went wrong). `artifacts` are ids of stored things that belong to the
        result, each alone or with a title; `expand` reads them back. Raises `InvalidInput` where tasks below are open: the
        message has their ids."""
        return self._loop.call(self._awaited.pop, result, session=session, status=status, artifacts=artifacts)

    def fail(self, result: str, *, session: str | None = None, artifacts: Artifacts = ()) -> TaskFrame:
        """As `pop` with the status failed."""
        return self._loop.call(self._awaited.fail, result, session=session, artifacts=artifacts)

    def block(self, reason: str, *, session: str | None = None) -> TaskFrame:
        """Marks the current task as blocked and returns its frame. The task above it is the current one then, so that other
        work can go on; `resume` comes back to it."""
        return self._loop.call(self._awaited.block, reason, session=session)

    def resume(self, id: str | None = None, *, session: str | None = None) -> TaskFrame:
        """Makes an open task of the running branch the current one, active again where it was blocked. Without an id: the one
        blocked task that the session stands at, or that lies below."""
        return self._loop.call(self._awaited.resume, id, session=session)

    def peek(self, session: str | None = None) -> TaskFrame | None:
        """Returns the current task; None where the stack is empty."""
        return self._loop.call(self._awaited.peek, session)

    def path(self, session: str | None = None) -> tuple[TaskFrame, ...]:
        """Returns the tasks from the root to the current one; () where the stack is empty."""
        return self._loop.call(self._awaited.path, session)

    def get(self, id: str) -> TaskFrame:
        """Returns one task, of any session of the scope's own. Raises `NotFound`."""
        return self._loop.call(self._awaited.get, id)

    def list(self, session: str | None = None, *, status: str | None = None, limit: int = 100) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` (1 to 1,000) tasks, the latest first: of one session, or of all where neither the call nor
        the scope names one. `status` is active, complete, blocked or failed."""
        return self._loop.call(self._awaited.list, session, status=status, limit=limit)

    def checkpoint(self, name: str, *, session: str | None = None) -> TaskCheckpoint:
        """Remembers under a name where the session stands, so that a branch can begin there later. A checkpoint of that name
        moves here."""
        return self._loop.call(self._awaited.checkpoint, name, session=session)

    def branch(
        self, name: str, goal: str | None = None, *, session: str | None = None, checkpoint: str | None = None
    ) -> TaskFrame:
        """Opens a branch where the session stands, or at a checkpoint, and switches to it. It begins with a task of its own,
        which is returned: `goal`, or else the goal of the task that it leaves from. What happens on a branch isn't seen on the
        branch that it left until `inject`. Raises `Conflict` where the name is taken."""
        return self._loop.call(self._awaited.branch, name, goal, session=session, checkpoint=checkpoint)

    def switch(self, name: str, *, session: str | None = None) -> TaskBranch:
        """Makes a branch the running one. The first branch of a session is `main`."""
        return self._loop.call(self._awaited.switch, name, session=session)

    def inject(
        self, name: str, result: str | None = None, *, session: str | None = None, artifacts: Artifacts = ()
    ) -> TaskFrame:
        """Brings a branch's result to the running branch and ends that branch: a completed task with the result is added below
        the current one, and returned; it points to the branch's own task. `result` is needed where that task is still open."""
        return self._loop.call(self._awaited.inject, name, result, session=session, artifacts=artifacts)

    def abandon(self, name: str, *, session: str | None = None) -> TaskBranch:
        """Ends a branch without a result; its tasks count no more. Idempotent."""
        return self._loop.call(self._awaited.abandon, name, session=session)

    def branches(self, session: str | None = None) -> tuple[TaskBranch, ...]:
        """Returns the branches of a session, the oldest first."""
        return self._loop.call(self._awaited.branches, session)

    def expand(self, handle: str, context: Context | BuiltContext | None = None, *, filters: Filters | None = None) -> Expanded:
        """As `agent.expand`, and returns beside the text what it is, and the artifacts of a task. `filters` limits the
        sensitivities as in `assemble` (default: those of `context`). Raises `NotFound`, `InvalidInput`."""
        return self._loop.call(self._awaited.expand, handle, context, filters=filters)


class Delegations(BlockingTwin):
    """As `germane.kinds.tasks.handle.Delegations`."""

    _awaited: AwaitedDelegations

    def begin(
        self,
        task: str,
        *,
        mode: str = "brief",
        model: str,
        session: str | None = None,
        messages: Sequence[Mapping[str, Any] | Message] | None = None,
        max_tokens: int = 2000,
        provider: str | None = None,
        filters: Filters | None = None,
        scope: Scope | None = None,
        deadline: float | None = 5.0,
    ) -> Delegation:
        """See `Agent.delegate`."""
        awaited = self._loop.call(
            self._awaited.begin,
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
        return Delegation(awaited, self._loop)

    def finish(self, id: str, result: str, *, status: str = "complete", artifacts: Artifacts = ()) -> TaskFrame:
        """Ends a delegated task with the result that its agent brought, and returns its frame: a completed (or failed) task
        below the one that delegated it, which `agent.expand` reads back whole. Raises `NotFound`, and `InvalidInput`
        where it has ended already."""
        return self._loop.call(self._awaited.finish, id, result, status=status, artifacts=artifacts)

    def list(self, session: str | None = None, *, open: bool = False, limit: int = 100) -> tuple[TaskFrame, ...]:
        """Returns at most `limit` (1 to 1,000) delegated tasks of a session, the latest first; with `open` those that run."""
        return self._loop.call(self._awaited.list, session, open=open, limit=limit)

    def allowed(self, session: str, filters: Filters | None = None) -> Filters:
        """Returns the filters that an agent in this session may use: `filters`, or as wide ones as it may. Raises
        `NotPermitted` where the session is that of a delegated task, and `filters` ask for more than its parent allowed."""
        return self._loop.call(self._awaited.allowed, session, filters)


class Delegation(BlockingDelegation):
    """As `germane.kinds.tasks.handle.Delegation`."""

    @property
    def id(self) -> str:
        return self._awaited.id

    @property
    def mode(self) -> Mode:
        return self._awaited.mode

    @property
    def session(self) -> str:
        """The session that the other agent works in."""
        return self._awaited.session

    @property
    def tokens(self) -> int:
        """Tokens of what germane added to the other agent's messages."""
        return self._awaited.tokens

    def explain(self) -> str:
        """Says what the other agent gets and why: for a brief each candidate, in or out, with the reason."""
        return self._awaited.explain()

    def assemble(
        self, messages: Sequence[Mapping[str, Any] | Message], *, model: str, filters: Filters | None = None, **options: Any
    ) -> Context:
        """Assembles a later request of the other agent, in its own session and scope. `options` are the others of
        `Agent.assemble`. Raises `NotPermitted` where `filters` ask for more than the parent allowed, and `InvalidInput`."""
        return self._loop.call(self._awaited.assemble, messages, model=model, filters=filters, **options)

    def complete(self, result: str, *, artifacts: Artifacts = ()) -> TaskFrame:
        """Brings the result back: ends the task in the parent's stack and returns its frame. As `agent.delegations.finish`."""
        return self._loop.call(self._awaited.complete, result, artifacts=artifacts)

    def fail(self, reason: str, *, artifacts: Artifacts = ()) -> TaskFrame:
        """As `complete`, where the other agent couldn't do it."""
        return self._loop.call(self._awaited.fail, reason, artifacts=artifacts)


class AgentConversations(BlockingTwin):
    """As `germane.kinds.conversations.handle.AgentConversations`."""

    _awaited: AwaitedAgentConversations

    def compact(
        self,
        messages: Sequence[Raw],
        *,
        session: str | None = None,
        model: str,
        max_tokens: int | None = None,
        strategy: CompactionStrategy = SUMMARISE,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
        provider: str | None = None,
        low_water: float = 0.5,
        max_messages: int | None = None,
        deadline: float | None = 5.0,
    ) -> Compaction:
        """Returns the messages as they fit `max_tokens`, as `germane.integrations.compact` does, and keeps what left in the
        store: what was taken out and masked under handles that bring it back, and the summary. A handle is named only after its
        content was read back. What is kept of a conversation doesn't depend on whether its messages are recorded; secrets are
        treated as in recorded messages.

        The work on the sessions used last is kept in memory: of a conversation that goes on only what is new is counted. With a
        language model configured, it sums up in the background what has left; its text comes in with the next move of the
        boundary. What the store hasn't done `deadline` seconds after the call costs the handles: the messages fit without them,
        and `trace.reasons` says why.
        Raises `InvalidInput` for arguments that can't be used, and nothing else."""
        return self._loop.call(
            self._awaited.compact,
            messages,
            session=session,
            model=model,
            max_tokens=max_tokens,
            strategy=strategy,
            system=system,
            tools=tools,
            provider=provider,
            low_water=low_water,
            max_messages=max_messages,
            deadline=deadline,
        )

    def rebuild(self, messages: Sequence[Raw], *, session: str | None = None, provider: str = "openai") -> list[Raw]:
        """Returns the conversation with each summary replaced by the messages that it stands for, and each masked output by the
        output. What isn't kept any more stays as it is in `messages`; secrets that were redacted stay redacted."""
        return self._loop.call(self._awaited.rebuild, messages, session=session, provider=provider)

    def show(self, handle: str, *, session: str | None = None) -> EarlierMessages:
        """Returns what a handle stands for: of the session, or of the latest session in which it was written. Raises
        `NotFound`, also for what is another scope's."""
        return self._loop.call(self._awaited.show, handle, session=session)

    def summaries(self, session: str | None = None, *, limit: int = 100) -> tuple[KeptSummary, ...]:
        """Returns the last `limit` (1 to 1,000) summaries of the session, oldest first."""
        return self._loop.call(self._awaited.summaries, session, limit=limit)

    def outline(self, session: str | None = None, *, limit: int = 100, cursor: str | None = None) -> OutlinePage:
        """Returns a page of `limit` (1 to 1,000) lines of the session's outline, oldest first: one for each exchange, with the
        ids and the times of its first and its last message. The line of the exchange that goes on is the last one. Lines that
        the store lacks still, as of sessions of an earlier version, are made first."""
        return self._loop.call(self._awaited.outline, session, limit=limit, cursor=cursor)

    def aliased(self, aliases: Sequence[str]) -> tuple[AliasedSession, ...]:
        """Returns the sessions that were given one of these aliases: for each alias the latest 32 sessions, latest first."""
        return self._loop.call(self._awaited.aliased, aliases)

    def add_aliases(
        self, session: str, aliases: Sequence[SessionAlias], *, ended: Sequence[str] = (), at: datetime | None = None
    ) -> None:
        """Gives the session these aliases, by which `aliased` finds it again, and takes those in `ended` from it. `at` is the
        time of that (default: now). Idempotent. Raises `Conflict` where the session or its owner was forgotten since."""
        return self._loop.call(self._awaited.add_aliases, session, aliases, ended=ended, at=at)


class Keyring(BlockingTwin):
    """As `germane.kinds.keys.handle.Keyring`."""

    _awaited: AwaitedKeyring

    def create(
        self,
        *,
        org: str,
        agents: Sequence[str] | None = None,
        rights: Sequence[Right] | None = None,
        lifetime: timedelta | None = None,
        note: str | None = None,
        replaces: str | None = None,
        overlap: timedelta = timedelta(days=1),
    ) -> NewKey:
        """Creates a key of `org` for these `agents` (default: all) and `rights` (default: read and write) that is valid for
        `lifetime` (default: until revoked). The result's `token` is the secret that callers send: it isn't stored and can't be
        shown again.

        `replaces` is the id of a key of the same org that stays valid for `overlap` and then ends; omitted options are copied
        from it. Raises `InvalidInput`, `NotFound` or `StoreUnavailable`.
        """
        return self._loop.call(
            self._awaited.create,
            org=org,
            agents=agents,
            rights=rights,
            lifetime=lifetime,
            note=note,
            replaces=replaces,
            overlap=overlap,
        )

    def list(self, org: str | None = None) -> tuple[Key, ...]:
        """Returns all keys, or those of one org, oldest first, expired and revoked keys included. Tokens aren't part of it."""
        return self._loop.call(self._awaited.list, org)

    def revoke(self, id: str) -> Key:
        """Revokes the key with this id (or this token) and returns it. The key becomes invalid at once in this process, and
        within a second in others. Idempotent. Raises `NotFound` or `StoreUnavailable`."""
        return self._loop.call(self._awaited.revoke, id)

    def verify(self, token: str, *, patience: float | None = 0.02) -> Grant | None:
        """Returns what the token allows, or None for a token that is unknown, malformed, expired or revoked; a caller can't
        tell these apart, by time either. The store is asked about a valid key at most once a second; a cache answers in
        between.

        `patience` is how many seconds the store may take (default 0.02). When it takes longer or fails, a key that the store
        confirmed within the last two minutes stays valid, and any other token raises `StoreUnavailable`. With 0 the cache
        answers at once and the store is asked in the background. With None only the store's answer counts, however long it
        takes: for requests that write.
        """
        return self._loop.call(self._awaited.verify, token, patience=patience)
