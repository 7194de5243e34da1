"""To wire: converts the API's values to wire messages."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from germane.grpc.messages import context_pb2, ibex_pb2, memory_pb2
from germane.kinds.memories.value import Memory
from germane.types.candidate import Provenance, Scored
from germane.types.context import Metadata


def memory(stored: Memory) -> memory_pb2.Memory:
    """Returns a memory with the fields of its kind."""
    wire = memory_pb2.Memory(
        id=stored.id,
        kind=stored.kind,
        text=wire_text(stored.text),
        user_id=stored.user or "",
        tags=map(wire_text, stored.tags),
        sensitivity=stored.sensitivity,
        confidence=stored.confidence,
        pinned=stored.pinned,
        created_at=stamp(stored.created_at),
        updated_at=stamp(stored.updated_at),
        valid_from=stamp(stored.valid_from),
        valid_to=stamp(stored.valid_to),
        expires_at=stamp(stored.expires_at),
        superseded_by=stored.superseded_by or "",
        helpful=stored.helpful,
        harmful=stored.harmful,
        retrieval_count=stored.retrieval_count,
        provenance=provenance(stored.provenance),
        derived_from=stored.derived_from,
        stale_since=stamp(stored.stale_since),
        near_duplicates=stored.near_duplicates,
        secrets=stored.secrets,
    )
    content = {field.name: getattr(stored.content, field.name) for field in fields(stored.content)}
    wire.fields.update({name: struct_value(value) for name, value in content.items() if value is not None})
    return wire


def search_result(scored: Scored) -> memory_pb2.SearchResponse:
    """Returns one result of a search."""
    candidate = scored.candidate
    return memory_pb2.SearchResponse(
        **scored.breakdown._asdict(),
        id=candidate.id,
        score=scored.score,
        text=wire_text(candidate.text),
        category=candidate.category,
        source=candidate.source,
        created_at=stamp(candidate.created_at),
        speaker=wire_text(candidate.speaker),
        session_id=candidate.session or "",
        title=wire_text(candidate.title),
        message_id=wire_text(candidate.provenance.message_id or ""),
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
        warnings=map(wire_text, report.warnings),
        need=report.need,
        need_threshold=report.need_threshold,
        earlier_tokens=report.earlier_tokens,
        profile_tokens=report.profile_tokens,
        thinking_prefix_changed=report.thinking_prefix_changed,
    )


def ibex_metadata(report: Metadata) -> ibex_pb2.InjectionMetadata:
    """Returns the fields of the metadata that the ibex contract has, under the same names."""
    known = ibex_pb2.InjectionMetadata.DESCRIPTOR.fields_by_name
    return ibex_pb2.InjectionMetadata(**{name: getattr(report, name) for name in known})


def wire_text(value: str) -> str:
    """Returns the text with U+FFFD in the place of lone surrogates, which a proto string can't hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def provenance(origin: Provenance) -> memory_pb2.Provenance:
    wire = memory_pb2.Provenance(
        source_kind=origin.source_kind,
        channel=wire_text(origin.channel or ""),
        session_id=wire_text(origin.session or ""),
        message_id=wire_text(origin.message_id or ""),
        tool_call_id=wire_text(origin.tool_call_id or ""),
        refs=map(wire_text, origin.refs),
    )
    if origin.metadata:
        wire.metadata.update(struct_value(dict(origin.metadata)))
    return wire


def stamp(value: datetime | None) -> Timestamp | None:
    """Returns a time as a timestamp; None for none."""
    if value is None:
        return None
    wire = Timestamp()
    wire.FromDatetime(value)
    return wire


def struct_value(value: Any) -> Any:
    """Returns a value as `Struct` can hold it: a time becomes ISO 8601 text, a whole number that no double can hold becomes
    text."""
    match value:
        case datetime():
            return value.isoformat()
        case str():
            return wire_text(value)
        case bool() | None | float():
            return value
        case int():
            try:
                return float(value)
            except OverflowError:
                return str(value)
        case dict():
            return {wire_text(str(name)): struct_value(item) for name, item in value.items()}
        case list() | tuple():
            return [struct_value(item) for item in value]
        case _:
            return str(value)
