"""Outgoing: from the front's values to the wire's."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from germane.grpc.stubs import context_pb2, ibex_pb2, memory_pb2
from germane.memories.memory import Memory
from germane.types.candidate import Scored
from germane.types.context import Metadata

__all__ = ["found", "ibex_metadata", "memory", "metadata", "text"]


def memory(kept: Memory) -> memory_pb2.Memory:
    wire = memory_pb2.Memory(
        id=kept.id,
        kind=kept.kind,
        text=text(kept.text),
        user_id=kept.user or "",
        tags=map(text, kept.tags),
        sensitivity=kept.sensitivity,
        confidence=kept.confidence,
        pinned=kept.pinned,
        created_at=_moment(kept.created_at),
        updated_at=_moment(kept.updated_at),
        valid_from=_moment(kept.valid_from),
        valid_to=_moment(kept.valid_to),
        expires_at=_moment(kept.expires_at),
        superseded_by=kept.superseded_by or "",
        helpful=kept.helpful,
        harmful=kept.harmful,
        retrieval_count=kept.retrieval_count,
    )
    given = {one.name: getattr(kept.content, one.name) for one in fields(kept.content)}
    wire.fields.update({name: _plain(value) for name, value in given.items() if value is not None})
    return wire


def found(scored: Scored) -> memory_pb2.SearchResponse:
    one = scored.candidate
    return memory_pb2.SearchResponse(
        id=one.id,
        score=scored.score,
        relevance=scored.breakdown.relevance,
        text=text(one.text),
        category=one.category,
        source=one.source,
        created_at=_moment(one.created_at),
        speaker=text(one.speaker),
        session_id=one.session or "",
    )


def metadata(told: Metadata, request_id: str) -> context_pb2.InjectionMetadata:
    return context_pb2.InjectionMetadata(
        directive_injected=told.directive_injected,
        memories_injected=told.memories_injected,
        memories_available=told.memories_available,
        total_tokens_injected=told.total_tokens_injected,
        context_window_used=told.context_window_used,
        was_truncated=told.was_truncated,
        fallback_reason=told.fallback_reason,
        memory_ids=told.memory_ids,
        degradation_level=told.degradation_level,
        sources=[
            context_pb2.SourceReport(
                name=one.name, status=one.status, reason=one.reason, latency_ms=one.latency * 1000, found=one.found
            )
            for one in told.sources
        ],
        timings=[context_pb2.StageTiming(stage=stage, ms=seconds * 1000) for stage, seconds in told.timings],
        cached=told.cached,
        request_id=request_id,
    )


def ibex_metadata(told: Metadata) -> ibex_pb2.InjectionMetadata:
    """Only what that contract knows, by the same names."""
    known = ibex_pb2.InjectionMetadata.DESCRIPTOR.fields_by_name
    return ibex_pb2.InjectionMetadata(**{name: getattr(told, name) for name in known})


def text(value: str) -> str:
    """What a proto's string can hold: lone surrogates become U+FFFD."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _moment(value: datetime | None) -> Timestamp | None:
    if value is None:
        return None
    wire = Timestamp()
    wire.FromDatetime(value)
    return wire


def _plain(value: Any) -> Any:
    """As a `Struct` holds it: times are ISO 8601, a whole number beyond every double is text."""
    match value:
        case datetime():
            return value.isoformat()
        case str():
            return text(value)
        case bool() | None | float():
            return value
        case int():
            try:
                return float(value)
            except OverflowError:
                return str(value)
        case dict():
            return {text(str(name)): _plain(one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case _:
            return str(value)
