"""To wire: converts the API's values to wire messages."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from germane.grpc.stubs import context_pb2, ibex_pb2, memory_pb2
from germane.memories.memory import Memory
from germane.types.candidate import Scored
from germane.types.context import Metadata

__all__ = ["ibex_metadata", "memory", "metadata", "search_result", "text"]


def memory(stored: Memory) -> memory_pb2.Memory:
    """Returns a memory with the fields of its kind."""
    wire = memory_pb2.Memory(
        id=stored.id,
        kind=stored.kind,
        text=text(stored.text),
        user_id=stored.user or "",
        tags=map(text, stored.tags),
        sensitivity=stored.sensitivity,
        confidence=stored.confidence,
        pinned=stored.pinned,
        created_at=_moment(stored.created_at),
        updated_at=_moment(stored.updated_at),
        valid_from=_moment(stored.valid_from),
        valid_to=_moment(stored.valid_to),
        expires_at=_moment(stored.expires_at),
        superseded_by=stored.superseded_by or "",
        helpful=stored.helpful,
        harmful=stored.harmful,
        retrieval_count=stored.retrieval_count,
    )
    content = {field.name: getattr(stored.content, field.name) for field in fields(stored.content)}
    wire.fields.update({name: _plain(value) for name, value in content.items() if value is not None})
    return wire


def search_result(scored: Scored) -> memory_pb2.SearchResponse:
    """Returns one result of a search."""
    candidate = scored.candidate
    return memory_pb2.SearchResponse(
        id=candidate.id,
        score=scored.score,
        relevance=scored.breakdown.relevance,
        text=text(candidate.text),
        category=candidate.category,
        source=candidate.source,
        created_at=_moment(candidate.created_at),
        speaker=text(candidate.speaker),
        session_id=candidate.session or "",
    )


def metadata(report: Metadata, request_id: str) -> context_pb2.InjectionMetadata:
    """Returns the metadata of an assembly for germane's contract; seconds become milliseconds."""
    return context_pb2.InjectionMetadata(
        directive_injected=report.directive_injected,
        memories_injected=report.memories_injected,
        memories_available=report.memories_available,
        total_tokens_injected=report.total_tokens_injected,
        context_window_used=report.context_window_used,
        was_truncated=report.was_truncated,
        fallback_reason=report.fallback_reason,
        memory_ids=report.memory_ids,
        degradation_level=report.degradation_level,
        sources=[
            context_pb2.SourceReport(
                name=source.name,
                status=source.status,
                reason=source.reason,
                latency_ms=source.latency * 1000,
                found=source.found,
            )
            for source in report.sources
        ],
        timings=[context_pb2.StageTiming(stage=stage, ms=seconds * 1000) for stage, seconds in report.timings],
        cached=report.cached,
        request_id=request_id,
        warnings=map(text, report.warnings),
        need=report.need,
        need_threshold=report.need_threshold,
        earlier_tokens=report.earlier_tokens,
    )


def ibex_metadata(report: Metadata) -> ibex_pb2.InjectionMetadata:
    """Returns the fields of the metadata that the ibex contract has, under the same names."""
    known = ibex_pb2.InjectionMetadata.DESCRIPTOR.fields_by_name
    return ibex_pb2.InjectionMetadata(**{name: getattr(report, name) for name in known})


def text(value: str) -> str:
    """Returns the text with U+FFFD in the place of lone surrogates, which a proto string can't hold."""
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
    """Returns a value as `Struct` can hold it: a time becomes ISO 8601 text, a whole number that no double can hold becomes
    text."""
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
            return {text(str(name)): _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return str(value)
