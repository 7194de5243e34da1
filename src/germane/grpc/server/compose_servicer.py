"""Compose servicer: the RPCs of `ComposeService`: about, build, compress and estimate, as the methods of `Agent` do."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall
from germane.grpc.server.from_wire import required, set_filters, set_moment, set_object
from germane.grpc.server.refusals import invalid
from germane.grpc.server.to_wire import stamp, wire_text
from germane.grpc.stubs import compose_pb2 as pb
from germane.kinds.keys.value import Right
from germane.types.candidate import Chosen
from germane.types.context import ContextComponent

_MODEL, _TOKENS, _MILLISECONDS = "gpt-4o", 1000, 250


class ComposeServicer:
    """Runs on the engine's loop. Raises `Refused` and `InvalidInput` for a request that its caller has to correct."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType(
        {"About": "read", "BuildContext": "read", "ExpandItem": "read", "CompressText": "read", "EstimateTokens": "read"}
    )

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def about(self, request: pb.AboutRequest, call: RpcCall) -> pb.AboutResponse:
        agent = self._resolver.scoped(request.scope, call)
        found = await agent.about(
            request.name or None,
            at=set_moment(request, "at"),
            max_tokens=request.max_tokens or _TOKENS,
            model=request.model or _MODEL,
            filters=set_filters(request),
        )
        return pb.AboutResponse(
            current=map(_item, found.current),
            earlier=map(_item, found.earlier),
            mentions=map(_item, found.mentions),
            text=wire_text(found.text),
            tokens=found.tokens,
            left_out=found.left_out,
            hints=map(wire_text, found.hints),
        )

    async def build_context(self, request: pb.BuildContextRequest, call: RpcCall) -> pb.BuildContextResponse:
        agent = self._resolver.scoped(request.scope, call)
        if request.strategy and request.HasField("strategy_changes"):
            raise invalid("strategy and strategy_changes are both given: name the strategy as `like` in the changes")
        if request.max_tokens < 1:
            raise invalid("max_tokens is missing: say how many tokens the text may have")
        if request.deadline_ms < 0:
            raise invalid("deadline_ms must be 0 or more")
        built = await agent.build(
            required("query", request.query),
            session=request.session_id or None,
            max_tokens=request.max_tokens,
            strategy=request.strategy or set_object(request, "strategy_changes"),
            additional_context=request.additional_context or None,
            filters=set_filters(request),
            model=request.model or _MODEL,
            at=set_moment(request, "at"),
            deadline=(request.deadline_ms or _MILLISECONDS) / 1000,
        )
        figures = built.metadata
        return pb.BuildContextResponse(
            content=wire_text(built.content),
            components=map(_component, built.components),
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

    async def expand_item(self, request: pb.ExpandItemRequest, call: RpcCall) -> pb.ExpandItemResponse:
        agent = self._resolver.scoped(request.scope, call)
        whole = await agent.tasks.expand(required("id", request.id), filters=set_filters(request))
        return pb.ExpandItemResponse(text=wire_text(whole.text))

    async def compress_text(self, request: pb.CompressTextRequest, call: RpcCall) -> pb.CompressTextResponse:
        agent = self._resolver.scoped(request.scope, call)
        made = await agent.compress(
            request.content,
            request.max_tokens,
            model=request.model or _MODEL,
            query=request.query or None,
            use_llm=request.use_llm if request.HasField("use_llm") else None,
        )
        return pb.CompressTextResponse(
            text=wire_text(made.text),
            tokens=made.tokens,
            original_tokens=made.original_tokens,
            method=made.method,
            share=made.share,
            note=made.note,
        )

    async def estimate_tokens(self, request: pb.EstimateTokensRequest, call: RpcCall) -> pb.EstimateTokensResponse:
        agent = self._resolver.scoped(request.scope, call)
        counted = await agent.estimate_tokens(request.content, model=request.model or _MODEL)
        return pb.EstimateTokensResponse(tokens=counted.tokens, exact=counted.exact, tokenizer=counted.tokenizer)


def _item(chosen: Chosen) -> pb.KnownItem:
    candidate = chosen.scored.candidate
    return pb.KnownItem(
        id=chosen.id,
        handle=chosen.handle,
        text=wire_text(chosen.text),
        category=chosen.category,
        tokens=chosen.tokens,
        share=chosen.share,
        created_at=stamp(candidate.created_at),
        session_id=wire_text(candidate.session or ""),
    )


def _component(one: ContextComponent) -> pb.ContextComponent:
    return pb.ContextComponent(
        type=one.type,
        source=one.source,
        content=wire_text(one.content),
        tokens=one.tokens,
        relevance_score=one.relevance_score,
        handle=one.handle,
        share=one.share,
    )
