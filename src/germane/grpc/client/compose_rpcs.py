"""Compose RPCs: the client's calls for texts within a number of tokens.

`about`, `build_context`, `expand`, `compress` and `estimate_tokens`.

They return the library's values as far as these cross the wire.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from germane.errors import InvalidInput
from germane.grpc.client.assembly import ClientScope, checked_text, filters_to_wire, time_to_wire
from germane.grpc.client.block_values import number_given, wire_struct
from germane.grpc.client.rpcs import ClientRpc, scope_to_wire
from germane.grpc.client.values import time_of_wire
from germane.grpc.stubs import compose_pb2 as pb
from germane.grpc.stubs.compose_pb2_grpc import ComposeServiceStub
from germane.types.budget import CompressedText, TokenCount
from germane.types.limits import COUNT, quoted

_MAX_SECONDS = 60.0


def about(
    scope: ClientScope,
    name: str | None = None,
    *,
    at: datetime | None = None,
    max_tokens: int = 1000,
    model: str = "gpt-4o",
    filters: Any = None,
) -> ClientRpc[KnownAbout]:
    """Returns everything that is known about a person or a thing: what holds now, what no longer holds, and the messages that
    name it, within `max_tokens`; without a name, about the user. `at` is the time asked about (default: now). Raises
    `InvalidInput`."""
    request = pb.AboutRequest(
        scope=scope_to_wire(scope),
        name="" if name is None else checked_text("name", name),
        at=None if at is None else time_to_wire("at", at, scope.zone),
        max_tokens=number_given("max_tokens", max_tokens, 1, COUNT.maximum),
        model=checked_text("model", model),
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
    )
    return ClientRpc(ComposeServiceStub, "About", request, lambda response: about_of_wire(response, name or scope.user or "me"))


def build_context(
    scope: ClientScope,
    query: str,
    *,
    session: str | None = None,
    max_tokens: int,
    strategy: str | Mapping[str, Any] | None = None,
    additional_context: str | None = None,
    filters: Any = None,
    model: str = "gpt-4o",
    at: datetime | None = None,
    deadline: float | None = None,
) -> ClientRpc[RemoteContext]:
    """Returns what is known for `query` as one text of at most `max_tokens` tokens, with its components, as
    `germane.Agent.build` does. `strategy` is a name, or the settings to change; `deadline` is in seconds (default 0.25). Raises
    `InvalidInput`."""
    changes = wire_struct("strategy", strategy) if isinstance(strategy, Mapping) else None
    request = pb.BuildContextRequest(
        scope=scope_to_wire(scope),
        query=checked_text("query", query),
        session_id=checked_text("session", session, optional=True),
        max_tokens=number_given("max_tokens", max_tokens, 1, COUNT.maximum),
        strategy="" if isinstance(strategy, Mapping) else checked_text("strategy", strategy, optional=True),
        strategy_changes=changes,
        additional_context=checked_text("additional_context", additional_context, optional=True),
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
        model=checked_text("model", model),
        at=None if at is None else time_to_wire("at", at, scope.zone),
        deadline_ms=_milliseconds(deadline),
    )
    return ClientRpc(ComposeServiceStub, "BuildContext", request, context_of_wire)


def expand(scope: ClientScope, id: str, *, filters: Any = None) -> ClientRpc[str]:
    """Returns the whole text of what has this id: a task's result, a message, a memory, an archival entry, a block. The ids of
    a context's lines are those of its items, or a component's `source`. Raises `NotFound`."""
    request = pb.ExpandItemRequest(
        scope=scope_to_wire(scope),
        id=checked_text("id", id),
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
    )
    return ClientRpc(ComposeServiceStub, "ExpandItem", request, lambda response: str(response.text))


def compress(
    scope: ClientScope,
    content: str,
    max_tokens: int,
    *,
    model: str = "gpt-4o",
    query: str | None = None,
    use_llm: bool | None = None,
) -> ClientRpc[CompressedText]:
    """Returns `content` within `max_tokens` tokens, never longer than it was: by the service's language model where it has one,
    else its own sentences. Nothing is stored. Raises `InvalidInput`."""
    request = pb.CompressTextRequest(
        scope=scope_to_wire(scope),
        content=checked_text("content", content, optional=True),
        max_tokens=number_given("max_tokens", max_tokens, 0, COUNT.maximum),
        model=checked_text("model", model),
        query=checked_text("query", query, optional=True),
        use_llm=use_llm,
    )
    return ClientRpc(ComposeServiceStub, "CompressText", request, compressed_of_wire)


def estimate_tokens(scope: ClientScope, content: str, *, model: str = "gpt-4o") -> ClientRpc[TokenCount]:
    """Returns the tokens of `content` for `model`: exact where the service has its vocabulary, else an upper estimate."""
    request = pb.EstimateTokensRequest(
        scope=scope_to_wire(scope), content=checked_text("content", content, optional=True), model=checked_text("model", model)
    )
    return ClientRpc(ComposeServiceStub, "EstimateTokens", request, counted_of_wire)


def _milliseconds(deadline: float | None) -> int:
    if deadline is None:
        return 0
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline <= _MAX_SECONDS:
        raise InvalidInput(f"deadline must be a number of seconds, above 0 and at most 60, not {quoted(deadline)}")
    return max(1, round(deadline * 1000))


# What these calls return, and the reading of the service's messages.


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownThing:
    """One memory or message about a name: its id, its handle in the text, what is shown of it, and the fraction (`share`) of
    the original that this is. `tokens` are those of its line."""

    id: str
    handle: str
    text: str
    category: str
    tokens: int
    share: float
    created_at: datetime
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownAbout:
    """What is known about a name, as `germane.Agent.about` says it, without its trace: `current` holds at the time asked about,
    `earlier` ended before it, `mentions` are the messages that name it. `text` is all of them, ready for a prompt."""

    name: str
    current: tuple[KnownThing, ...]
    earlier: tuple[KnownThing, ...]
    mentions: tuple[KnownThing, ...]
    text: str
    tokens: int
    left_out: int
    hints: tuple[str, ...] = ()

    def __repr__(self) -> str:
        known = f"current={len(self.current)} earlier={len(self.earlier)} mentions={len(self.mentions)}"
        return f"<KnownAbout {known} tokens={self.tokens}>"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteComponent:
    """One item of a built context. `source` is its id, `content` what is shown of it, `tokens` are those of its line."""

    type: str
    source: str
    content: str
    tokens: int
    relevance_score: float
    handle: str = ""
    share: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteContext:
    """A context as `germane.Agent.build` builds it: `content` for a prompt, `token_count` of it, and what it is made of.
    `strategy` is the name of the strategy; `fallback_reason` is empty when all went well."""

    content: str
    components: tuple[RemoteComponent, ...]
    token_count: int
    truncated: bool
    strategy: str
    events_considered: int = 0
    entities_considered: int = 0
    chunks_considered: int = 0
    assembly_ms: float = 0.0
    fallback_reason: str = ""
    degradation_level: int = 0

    def __repr__(self) -> str:
        return f"<RemoteContext {len(self.components)} components tokens={self.token_count}>"


def about_of_wire(wire: pb.AboutResponse, name: str) -> KnownAbout:
    return KnownAbout(
        name=name,
        current=tuple(map(_thing, wire.current)),
        earlier=tuple(map(_thing, wire.earlier)),
        mentions=tuple(map(_thing, wire.mentions)),
        text=wire.text,
        tokens=wire.tokens,
        left_out=wire.left_out,
        hints=tuple(wire.hints),
    )


def context_of_wire(wire: pb.BuildContextResponse) -> RemoteContext:
    return RemoteContext(
        content=wire.content,
        components=tuple(map(_component, wire.components)),
        token_count=wire.token_count,
        truncated=wire.truncated,
        strategy=wire.strategy,
        events_considered=wire.events_considered,
        entities_considered=wire.entities_considered,
        chunks_considered=wire.chunks_considered,
        assembly_ms=wire.assembly_ms,
        fallback_reason=wire.fallback_reason,
        degradation_level=wire.degradation_level,
    )


def compressed_of_wire(wire: pb.CompressTextResponse) -> CompressedText:
    return CompressedText(
        text=wire.text,
        tokens=wire.tokens,
        original_tokens=wire.original_tokens,
        method=cast("Any", wire.method),
        share=wire.share,
        note=wire.note,
    )


def counted_of_wire(wire: pb.EstimateTokensResponse) -> TokenCount:
    return TokenCount(tokens=wire.tokens, exact=wire.exact, tokenizer=wire.tokenizer)


def _thing(wire: pb.KnownItem) -> KnownThing:
    return KnownThing(
        id=wire.id,
        handle=wire.handle,
        text=wire.text,
        category=wire.category,
        tokens=wire.tokens,
        share=wire.share,
        created_at=time_of_wire(wire.created_at),
        session=wire.session_id or None,
    )


def _component(wire: pb.ContextComponent) -> RemoteComponent:
    return RemoteComponent(
        type=wire.type,
        source=wire.source,
        content=wire.content,
        tokens=wire.tokens,
        relevance_score=wire.relevance_score,
        handle=wire.handle,
        share=wire.share,
    )
