"""Steps: what a builder can be told, each step checked and kept in its plan; shared by the awaited and the blocking builder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol, Self, get_args

from germane.api.arguments import flags, identifiers, named_model, optional
from germane.api.builder.activity import Activity, read_activity
from germane.api.builder.build_plan import BuildPlan
from germane.api.builder.system_parts import PromptBlocks
from germane.compaction.strategy import CompactionStrategy
from germane.errors import InvalidInput
from germane.rules.enforce import ToolRules
from germane.rules.tool_rule import ToolRule
from germane.types.answer_time import check_answer_time
from germane.types.block_text import BlockText
from germane.types.limits import DIRECTIVE, ID, NAME, QUERY, shown, text
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.request_limits import LARGE, SMALL, LimitTable, RequestLimits
from germane.types.strategy import Strategy
from germane.types.tool import Tool

__all__ = ["BuilderSteps", "HasBuilder"]


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
        optional("provider", provider, NAME)
        return self._with(model=named_model(model), provider=provider, like=like, window=window)

    def with_messages(self, messages: Sequence[Mapping[str, Any] | Message]) -> Self:
        """Gives the conversation, in any provider's shape, the running exchange last."""
        return self._with(messages=messages)

    def with_tools(self, tools: Sequence[Mapping[str, Any] | Tool]) -> Self:
        """Gives the tools, in any provider's shape; the request has them in its own provider's."""
        return self._with(tools=tools)

    def with_base_instructions(self, instructions: str) -> Self:
        """Gives the text that the system prompt begins with; it is the operator's, and written as it is."""
        return self._with(instructions=text("instructions", instructions, DIRECTIVE))

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
        flags(descriptions=descriptions, schemas=schemas)
        given: Any = blocks
        if given is not None and not callable(getattr(given, "blocks_for_prompt", None)):
            if not isinstance(given, list | tuple) or not all(isinstance(block, BlockText) for block in given):
                raise InvalidInput("blocks must be a list of BlockText, or a source with blocks_for_prompt")
            given = tuple(given)
        return self._with(blocks=given, descriptions=descriptions, schemas=schemas)

    def with_activity(self, entries: Sequence[Activity]) -> Self:
        """Gives what agents did lately. The prompt shows the last 24 hours: 15 entries, 3 of the agent's own at most."""
        return self._with(activity=read_activity(entries, self._zone))

    def with_session(self, session: str | None) -> Self:
        """Names the running conversation."""
        optional("session", session, ID)
        return self._with(session=session)

    def with_query(self, query: str | None, *, filters: Filters | None = None, at: datetime | None = None) -> Self:
        """Replaces the last user message as the question, and says what may be found and as of when."""
        if query is not None:
            text("query", query, QUERY, valid=False)
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
        be brought back (`agent.history.show`), unless `keep` is false."""
        if not isinstance(strategy, (*get_args(CompactionStrategy), type(None))):
            raise InvalidInput(f"with_history: give Truncate, Summarise, Importance or TimeDecay, not {shown(strategy)}")
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
