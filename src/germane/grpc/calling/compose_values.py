"""Compose values: what `client.about` and `client.build_context` return: the library's values as far as they cross the wire."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from germane.grpc.calling.plain_values import time_of_wire
from germane.grpc.stubs import compose_pb2 as pb
from germane.types.compressed_text import CompressedText, TokenCount

__all__ = [
    "KnownAbout",
    "KnownThing",
    "RemoteComponent",
    "RemoteContext",
    "about_of_wire",
    "compressed_of_wire",
    "context_of_wire",
    "counted_of_wire",
]


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
