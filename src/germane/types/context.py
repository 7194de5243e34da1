"""Context: the answer of one assembly, and the text that `agent.build` returns (ENGINE-9).

The answer of an assembly is messages that are ready for the model. Both answers tell the reasons for every part of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from germane.types.candidate import Chosen
from germane.types.message import Message, Wire
from germane.types.query import Filters
from germane.types.reports import Metadata as Metadata
from germane.types.scope import Scope
from germane.types.strategy import Strategy
from germane.types.trace import EarlierInjection, Trace, explain

BINDING_CONTROLS = "thinking-binding-controls-2026-08-01"
"""The name of Anthropic's beta with `thinking.block_binding`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """`messages` and `system` are shaped for the request's provider (INJECT-2a); `added` is all the text germane added;
    `items` are exactly what this call injected, in rendered order, and `earlier` the texts that stand in the prompt since
    earlier calls of the session, by turn."""

    provider: str
    messages: list[Mapping[str, Any] | Message]
    system: str | list[dict[str, Any]] | None
    added: str
    items: tuple[Chosen, ...]
    metadata: Metadata
    trace: Trace
    convert: Callable[[str], Wire] = field(repr=False, compare=False)
    earlier: tuple[EarlierInjection, ...] = ()
    stable: str = ""
    """The part of `added` that stands in front of the messages: the directive, and what the placement puts beside it."""
    convert_turns: Callable[[str], Wire] | None = field(default=None, repr=False, compare=False)
    """As `convert`, without `stable`: for a caller that writes the system prompt itself."""

    @property
    def attribution(self) -> dict[str, str]:
        """The id of each item in the prompt by its handle, those of earlier calls included (FORMAT-6)."""
        before = {item.handle: item.id for injection in self.earlier for item in injection.items}
        return before | {item.handle: item.id for item in self.items}

    def explain(self) -> str:
        """For every candidate, in or out: source, score and its parts, tokens, rank, reason (ENGINE-5). Changes nothing."""
        return explain(self.trace, self.metadata.fallback_reason)

    def to_openai(self) -> list[dict[str, Any]]:
        """`messages` for chat completions, germane's system message first."""
        return self.convert("openai").messages

    def to_openai_responses(self) -> dict[str, Any]:
        """`instructions` and `input`, ready to splat into `client.responses.create(**…)`."""
        wire = self.convert("openai-responses")
        return {"input": wire.messages} | ({} if wire.system is None else {"instructions": wire.system})

    def to_anthropic(self, *, thinking: Mapping[str, Any] | None = None, betas: Sequence[str] | None = None) -> dict[str, Any]:
        """`system` and `messages`, ready to splat into `client.messages.create(**…)`.

        With `thinking`, your own setting for the call, the result has `thinking` and `betas` too, for
        `client.beta.messages.create(**…)`. Where `metadata.thinking_prefix_changed`, they tell the provider to drop the
        thinking that it would refuse the request for (INJECT-10); otherwise they are as you gave them."""
        wire = self.convert("anthropic")
        body = {"messages": wire.messages} | ({} if wire.system is None else {"system": wire.system})
        if thinking is None:
            return body | ({} if betas is None else {"betas": [*betas]})
        if not self.metadata.thinking_prefix_changed or thinking.get("type") not in ("enabled", "adaptive"):
            return body | {"thinking": dict(thinking), "betas": [*(betas or ())]}
        binding = {**(thinking.get("block_binding") or {}), "prefix_mismatch_behavior": "drop_block"}
        names = dict.fromkeys((*(betas or ()), BINDING_CONTROLS))
        return body | {"thinking": {**thinking, "block_binding": binding}, "betas": [*names]}

    def to_gemini(self) -> dict[str, Any]:
        """`system_instruction` and `contents` of a `generateContent` request over REST."""
        wire = self.convert("gemini")
        if wire.system is None:
            return {"contents": wire.messages}
        parts = [{"text": wire.system}] if isinstance(wire.system, str) else wire.system
        return {"system_instruction": {"parts": parts}, "contents": wire.messages}

    def to_google_genai(self, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """`contents` and `config`, ready to splat into google-genai's `client.models.generate_content(**…)`, which takes the
        system instruction in its `config`. `config` is the rest of your own, as a mapping; it isn't changed."""
        body = self.to_gemini()
        system = {key: body[key] for key in ("system_instruction",) if key in body}
        return {"contents": body["contents"], "config": {**(config or {}), **system}}

    def __repr__(self) -> str:
        level, tokens = self.metadata.degradation_level, self.metadata.total_tokens_injected
        return f"<Context {self.provider} {len(self.items)} items {tokens} tokens L{level}>"


# One text within a budget, and the parts that it is made of.


ComponentType = Literal["recent", "semantic", "entity", "relation", "pattern", "custom"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextComponent:
    """One item of a built context. `source` is its id, `content` what is shown of it, before escaping; `tokens` are those of
    its line, `relevance_score` is in [0, 1]. `share` is the fraction of the original that is shown: 0 for a breadcrumb."""

    type: ComponentType
    source: str
    content: str
    tokens: int
    relevance_score: float
    handle: str = ""
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFigures:
    """How a built context came about. The counts are of distinct things: events gathered because they are recent, entities, and
    whatever a search found. `fallback_reason` is one of ENGINE-2's, empty when all went well."""

    query: str
    events_considered: int = 0
    entities_considered: int = 0
    chunks_considered: int = 0
    assembly_ms: float = field(default=0.0, compare=False)
    fallback_reason: str = ""
    degradation_level: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltContext:
    """`content` is the text for a prompt, `token_count` its tokens as counted on the text itself, never above `max_tokens`.
    `truncated` says that something was left out for the budget, or shortened. `note` says why an update changed nothing. The
    fields from `scope` on are what an update needs."""

    content: str
    components: tuple[ContextComponent, ...]
    token_count: int
    truncated: bool
    strategy: Strategy
    metadata: BuildFigures
    max_tokens: int
    note: str = ""
    scope: Scope = field(repr=False)
    model: str = field(repr=False)
    at: datetime | None = field(default=None, repr=False)
    """The time asked about, where one was given."""
    filters: Filters = field(default_factory=Filters, repr=False)
    items: tuple[Chosen, ...] = field(default=(), repr=False)
    """What the components are made of, in rendered order."""
    trace: Trace = field(repr=False, compare=False)
    """Of the assembly; updates don't change it."""

    @property
    def attribution(self) -> dict[str, str]:
        """The id of each item by its handle (FORMAT-6). An update may give an item another handle."""
        return {item.handle: item.id for item in self.items}
