"""To wire: converts the API's values to wire messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from germane.grpc.stubs import context_pb2, ibex_pb2, memory_pb2
from germane.kinds.events.value import Event, Session
from germane.kinds.memories.value import Memory, Receipt
from germane.types.candidate import Provenance, Scored
from germane.types.context import Metadata
from germane.types.inventory import AgentSummary, Stats, UserSummary
from germane.types.reports import HistoryReport, Why


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


def message(stored: Event) -> memory_pb2.StoredMessage:
    """Returns a recorded message."""
    return memory_pb2.StoredMessage(
        id=stored.id,
        session_id=wire_text(stored.session),
        user_id=stored.user or "",
        position=stored.position,
        role=stored.role,
        name=wire_text(stored.name),
        text=wire_text(stored.text),
        message_id=wire_text(stored.message_id or ""),
        sensitivity=stored.sensitivity,
        created_at=stamp(stored.created_at),
        recorded_at=stamp(stored.recorded_at),
        whole_size=0 if stored.passage is None else stored.passage.size,
        provenance=provenance(stored.provenance),
    )


def session(stored: Session) -> memory_pb2.Session:
    return memory_pb2.Session(
        id=wire_text(stored.id),
        user_id=stored.user or "",
        number=stored.number,
        started_at=stamp(stored.started_at),
        last_at=stamp(stored.last_at),
        length=stored.length,
    )


def user(counted: UserSummary) -> memory_pb2.UserSummary:
    return memory_pb2.UserSummary(
        user_id=counted.user,
        memories=counted.memories,
        messages=counted.messages,
        sessions=counted.sessions,
        last_at=stamp(counted.last_at),
    )


def agent(counted: AgentSummary) -> memory_pb2.AgentSummary:
    return memory_pb2.AgentSummary(
        agent_id=counted.agent, users=counted.users, memories=counted.memories, messages=counted.messages
    )


def stats(counted: Stats) -> memory_pb2.GetStatsResponse:
    return memory_pb2.GetStatsResponse(
        memories=counted.memories,
        ended=counted.ended,
        pinned=counted.pinned,
        messages=counted.messages,
        sessions=counted.sessions,
        users=counted.users,
        text_bytes=counted.text_bytes,
        pending_vectors=counted.pending_vectors,
        blocks=counted.blocks,
        archival_entries=counted.archival_entries,
        oldest=stamp(counted.oldest),
        newest=stamp(counted.newest),
        extracted=counted.extracted,
    )


def why(found: Why) -> memory_pb2.WhyResponse:
    return memory_pb2.WhyResponse(
        id=wire_text(found.id),
        outcome=found.outcome,
        text=wire_text(found.text),
        reason=wire_text(found.reason),
        rank=found.rank,
        probability=found.probability,
        tokens=found.tokens,
        at=stamp(found.at),
    )


def search_result(scored: Scored) -> memory_pb2.SearchResponse:
    """Returns one result of a search."""
    candidate = scored.candidate
    return memory_pb2.SearchResponse(
        id=candidate.id,
        score=scored.score,
        relevance=scored.breakdown.relevance,
        text=wire_text(candidate.text),
        category=candidate.category,
        source=candidate.source,
        created_at=stamp(candidate.created_at),
        speaker=wire_text(candidate.speaker),
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
        warnings=map(wire_text, report.warnings),
        need=report.need,
        need_threshold=report.need_threshold,
        earlier_tokens=report.earlier_tokens,
        profile_tokens=report.profile_tokens,
        thinking_prefix_changed=report.thinking_prefix_changed,
    )


def history_report(report: HistoryReport) -> context_pb2.HistoryReport:
    """Returns what was done to a conversation, in figures."""
    return context_pb2.HistoryReport(
        tokens_before=report.tokens_before,
        tokens=report.tokens,
        max_tokens=report.max_tokens,
        fits=report.fits,
        masked=report.masked,
        summarised=report.summarised,
        dropped=report.dropped,
        quarantined=report.quarantined,
        moves=report.moves,
        saved_tokens=report.saved_tokens,
        cache_lost_tokens=report.cache_lost_tokens,
        pays_after=report.pays_after,
        cited=map(wire_text, report.cited),
        reasons=map(wire_text, report.reasons),
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


def receipt(forgotten: Receipt) -> memory_pb2.ForgetReceipt:
    return memory_pb2.ForgetReceipt(
        memory_ids=forgotten.memory_ids,
        event_ids=forgotten.event_ids,
        block_ids=forgotten.block_ids,
        graph_ids=forgotten.graph_ids,
        task_ids=forgotten.task_ids,
        history_ids=forgotten.history_ids,
        dry_run=forgotten.dry_run,
        scrubbed=forgotten.scrubbed,
        waiting_for=forgotten.waiting_for,
        checked=forgotten.checked,
    )


def object_struct(value: Mapping[str, Any]) -> Struct:
    """Returns a JSON object as a struct."""
    made = Struct()
    made.update(struct_value(dict(value)))
    return made


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
