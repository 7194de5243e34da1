"""Builder: assembles a whole request for a model, step by step (BUILD-1).

    request = await (
        agent.builder()
        .with_model("claude-opus-4-8")
        .with_base_instructions("You are Entropy, a task breakdown specialist.")
        .with_messages(messages)
        .with_tools(tools)
        .with_session("s1")
    )
    reply = await client.messages.create(**request.as_kwargs())

Each step returns a new builder and leaves the old one as it is, so that one builder serves many requests. Steps check their
arguments; building itself raises nothing more: a part that germane fails to give is left out, and the metadata say so.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol, Self, get_args

from germane.api.arguments import identifiers, named_model
from germane.api.builder.system_prompt import Activity, PromptBlocks, ShownBlock, UnshownBlock, read_activity
from germane.compaction.strategy import CompactionStrategy, Summarise
from germane.dialects.registry import CachePlace
from germane.errors import InvalidInput
from germane.tool_rules.enforce import ToolRules
from germane.tool_rules.value import ToolRule
from germane.types.budget import LARGE, SMALL, LimitTable, RequestLimits
from germane.types.candidate import BlockText
from germane.types.checks import check_answer_time, check_flags, check_optional_text, check_text
from germane.types.context import Context
from germane.types.limits import DIRECTIVE, ID, NAME, QUERY
from germane.types.message import Message, Tool, ToolLoss
from germane.types.query import Filters
from germane.types.reports import HistoryReport
from germane.types.strategy import Strategy

# What a builder can be told. The awaited and the blocking builder share the steps.


class HasBuilder(Protocol):
    """An agent's handle."""

    def builder(self) -> BuilderSteps: ...


class BuilderSteps:
    """Immutable: each step returns a new builder. `build` carries a plan out."""

    __slots__ = ("_plan", "_zone", "carry_out")

    def __init__(self, build: Callable[[BuildPlan], Any], *, zone: str = "UTC", plan: BuildPlan | None = None) -> None:
        self._zone, self._plan = zone, plan or BuildPlan()
        self.carry_out = build
        """Builds what a plan says."""

    def for_agent(self, agent: HasBuilder) -> Self:
        """Takes the same steps for another agent's handle."""
        other = agent.builder()
        return type(self)(other.carry_out, zone=other._zone, plan=self._plan)

    def with_model(
        self, model: str, provider: str | None = None, *, like: str | None = None, window: int | None = None
    ) -> Self:
        """Names the model, and the provider whose shape the request gets (default: the model's). `like` and `window` as in
        `assemble`."""
        check_optional_text("provider", provider, NAME)
        return self._with(model=named_model(model), provider=provider, like=like, window=window)

    def with_messages(self, messages: Sequence[Mapping[str, Any] | Message]) -> Self:
        """Gives the conversation, in any provider's shape, the running exchange last."""
        return self._with(messages=messages)

    def with_tools(self, tools: Sequence[Mapping[str, Any] | Tool]) -> Self:
        """Gives the tools, in any provider's shape; the request has them in its own provider's."""
        return self._with(tools=tools)

    def with_base_instructions(self, instructions: str) -> Self:
        """Gives the text that the system prompt begins with; it is the operator's, and written as it is."""
        return self._with(instructions=check_text("instructions", instructions, DIRECTIVE))

    def with_tool_rules(self, rules: ToolRules | Sequence[ToolRule]) -> Self:
        """Gives the rules of the tools, which the system prompt ends with; `ToolRules` enforces them. Raises `InvalidInput` for
        rules that contradict each other."""
        return self._with(rules=(rules if isinstance(rules, ToolRules) else ToolRules(rules)).rules)

    def with_batch_blocks(self, *references: str) -> Self:
        """Names blocks, by label or id, that are shown until the running exchange ends, the round trips of its tools included
        (with a session also in requests of other builders)."""
        return self._with(references=tuple(dict.fromkeys((*self._plan.references, *identifiers(references)))))

    def with_blocks(
        self, blocks: PromptBlocks | Sequence[BlockText] | None = None, *, descriptions: bool = True, schemas: bool = False
    ) -> Self:
        """Gives the blocks to choose from, or a source of them, in place of the agent's own, and says whether descriptions and
        schemas are shown."""
        check_flags(descriptions=descriptions, schemas=schemas)
        given: Any = blocks
        if given is not None and not callable(getattr(given, "blocks_for_prompt", None)):
            if not isinstance(given, list | tuple) or not all(isinstance(block, BlockText) for block in given):
                raise InvalidInput("must be a list of BlockText, or a source with blocks_for_prompt", path="blocks")
            given = tuple(given)
        return self._with(blocks=given, descriptions=descriptions, schemas=schemas)

    def with_activity(self, entries: Sequence[Activity]) -> Self:
        """Gives what agents did lately. The prompt shows the last 24 hours: 15 entries, 3 of the agent's own at most."""
        return self._with(activity=read_activity(entries, self._zone))

    def with_session(self, session: str | None) -> Self:
        """Names the running conversation."""
        check_optional_text("session", session, ID)
        return self._with(session=session)

    def with_query(self, query: str | None, *, filters: Filters | None = None, at: datetime | None = None) -> Self:
        """Replaces the last user message as the question, and says what may be found and as of when."""
        if query is not None:
            check_text("query", query, QUERY, valid=False)
        return self._with(query=query, filters=filters, at=at)

    def with_strategy(self, strategy: str | Strategy) -> Self:
        """Names the strategy that finds memories and messages."""
        return self._with(strategy=strategy)

    def with_deadline(self, deadline: float | None) -> Self:
        """Sets the seconds until the request is due (60 at most; None waits for everything)."""
        if deadline is not None:
            check_answer_time("deadline", deadline, forever="waits for everything")
        return self._with(deadline=deadline)

    def with_history(self, strategy: CompactionStrategy | None = None, *, keep: bool = True) -> Self:
        """Says what leaves first where the conversation takes more than `history_tokens` or `max_messages` (`Truncate`,
        `Summarise`, `Importance`, `TimeDecay`; default: `Summarise()`). With a session, what left is kept in the store and can
        be brought back (`agent.conversations.show`), unless `keep` is false."""
        if not isinstance(strategy, (*get_args(CompactionStrategy), type(None))):
            raise InvalidInput("must be Truncate, Summarise, Importance or TimeDecay, not {}", strategy, path="strategy")
        return self._with(history=strategy or self._plan.history, keep_history=keep)

    def with_limits(
        self,
        limits: RequestLimits | None = None,
        *,
        small: RequestLimits | None = None,
        overrides: Mapping[str, RequestLimits] | None = None,
        max_tokens: int | None = None,
        memory_tokens: int | None = None,
        history_tokens: int | None = None,
        response_tokens: int | None = None,
        max_messages: int | None = None,
    ) -> Self:
        """Shares out the tokens of the request (BUILD-3). `limits` are for all models, unless `small` gives those for small
        windows; `overrides` are by model or family. The others replace single limits whatever the model is."""
        changes = {
            "max_tokens": max_tokens,
            "memory_tokens": memory_tokens,
            "history_tokens": history_tokens,
            "response_tokens": response_tokens,
            "max_messages": max_messages,
        }
        table = LimitTable(
            large=limits or LARGE,
            small=small or limits or SMALL,
            overrides=dict(overrides or {}),
            changes={name: value for name, value in changes.items() if value is not None},
        )
        return self._with(limits=table)

    def __repr__(self) -> str:
        return f"<Builder {self._plan.model or 'without a model'}, {len(self._plan.messages)} messages>"

    def _with(self, **changes: Any) -> Self:
        return type(self)(self.carry_out, zone=self._zone, plan=replace(self._plan, **changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """See the steps of `Builder`. `blocks` None: the agent's own source of blocks, where it has one."""

    messages: Sequence[Mapping[str, Any] | Message] = ()
    tools: Sequence[Mapping[str, Any] | Tool] = ()
    instructions: str = ""
    rules: tuple[ToolRule, ...] = ()
    model: str | None = None
    provider: str | None = None
    like: str | None = None
    window: int | None = None
    references: tuple[str, ...] = ()
    blocks: PromptBlocks | tuple[BlockText, ...] | None = None
    descriptions: bool = True
    schemas: bool = False
    activity: Sequence[Activity] = ()
    session: str | None = None
    query: str | None = None
    at: datetime | None = None
    limits: LimitTable = field(default_factory=LimitTable)
    history: CompactionStrategy = field(default_factory=Summarise)
    keep_history: bool = True
    strategy: str | Strategy = "default"
    filters: Filters | None = None
    deadline: float | None = 0.25


class Builder(BuilderSteps):
    """Made by `agent.builder()`; awaited, it builds."""

    __slots__ = ()

    async def build(self) -> BuiltRequest:
        """Builds the request. Raises `InvalidInput` for arguments that can't be used, and nothing else: a part that can't be
        had is left out, and `metadata.faults` says why."""
        built: BuiltRequest = await self.carry_out(self._plan)
        return built

    def __await__(self) -> Generator[Any, Any, BuiltRequest]:
        return self.build().__await__()


# What a builder gives: a request ready for the provider's SDK, and how it came about.


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensByPart:
    """The tokens of each part of the request, as the model's tokenizer counts or estimates them."""

    instructions: int = 0
    directive: int = 0
    core_blocks: int = 0
    working_blocks: int = 0
    activity: int = 0
    tool_rules: int = 0
    found: int = 0
    """Memories and messages that the assembly added, those of earlier calls included."""
    tools: int = 0
    history: int = 0

    @property
    def system(self) -> int:
        blocks = self.core_blocks + self.working_blocks
        return self.instructions + self.directive + blocks + self.activity + self.tool_rules

    @property
    def memory(self) -> int:
        """What `memory_tokens` bounds."""
        return self.directive + self.core_blocks + self.working_blocks + self.activity + self.found

    @property
    def total(self) -> int:
        return self.system + self.found + self.tools + self.history


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePoint:
    """The end of a prefix that stays the same from request to request: after the `tools`, after the `instructions` (base
    instructions, directive and core blocks), after the `history` (the conversation before the running exchange). `tokens` are
    those of the prefix up to there. `marked` says that a cache mark stands there, where the provider takes marks."""

    place: CachePlace
    tokens: int
    marked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildMetadata:
    """How a request was built. `compression` names what was done to the history: `none` or `compacted`; `archived` counts the
    messages that left, and `history` has the figures. `losses` are what the provider doesn't take of the tools, `tool_names`
    the tools' names there where they had to be changed. `faults` name the parts that are missing because germane failed, with
    the reason."""

    tokens: TokensByPart = field(default_factory=TokensByPart)
    limits: RequestLimits = field(default_factory=RequestLimits)
    message_count: int = 0
    archived: int = 0
    compression: str = "none"
    history: HistoryReport | None = None
    blocks: tuple[ShownBlock, ...] = ()
    blocks_left_out: tuple[UnshownBlock, ...] = ()
    activity_shown: int = 0
    cache_points: tuple[CachePoint, ...] = ()
    losses: tuple[ToolLoss, ...] = ()
    tool_names: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def estimated_tokens(self) -> int:
        return self.tokens.total


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltRequest:
    """`system`, `messages` and `tools` are in the provider's shape; with OpenAI's chat the system prompt is the first of the
    messages too. `context` is that of the assembly inside, with its items and its trace; None where it failed."""

    provider: str
    model: str
    system: str | list[dict[str, Any]] | None
    messages: list[Mapping[str, Any] | Message]
    tools: list[Mapping[str, Any]]
    metadata: BuildMetadata
    context: Context | None
    kwargs: Mapping[str, Any] = field(repr=False)

    def as_kwargs(self, **more: Any) -> dict[str, Any]:
        """The arguments of the SDK's call: `chat.completions.create`, `responses.create`, `messages.create` or
        `generate_content`. `more` adds to them or replaces some; a `config` of Gemini's is joined."""
        if isinstance(config := more.get("config"), Mapping) and "config" in self.kwargs:
            more["config"] = {**self.kwargs["config"], **config}
        return {**self.kwargs, **more}

    def __repr__(self) -> str:
        tokens, blocks = self.metadata.estimated_tokens, len(self.metadata.blocks)
        return f"<BuiltRequest {self.model} {len(self.messages)} messages {blocks} blocks {tokens} tokens>"
