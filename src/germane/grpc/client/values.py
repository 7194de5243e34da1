"""Values: reads memories, messages and what several kinds share from wire messages as the library's values."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, cast

from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from germane.grpc.stubs import activity_pb2
from germane.grpc.stubs import memory_pb2 as pb
from germane.kinds.events.value import Event, Recorded, Session
from germane.kinds.memories.value import KINDS, Content, Memory, Note, Receipt
from germane.types.candidate import PassageRange, Provenance, Sensitivity, SourceKind
from germane.types.inventory import AgentSummary, Stats, UserSummary
from germane.types.reports import Outcome, Why

_TIMES = frozenset({"observed_at", "occurred_at"})
_MAX_EXACT_INTEGER = 2**53


def memory_of_wire(wire: pb.Memory) -> Memory:
    """A memory as `germane.Agent.memories` returns it, without its content hash."""
    return Memory(
        id=wire.id,
        kind=wire.kind,
        content=_content(wire),
        user=wire.user_id or None,
        created_at=time_of_wire(wire.created_at),
        updated_at=time_of_wire(wire.updated_at),
        valid_from=time_of_wire(wire.valid_from),
        valid_to=time_of_wire(wire.valid_to) if wire.HasField("valid_to") else None,
        expires_at=time_of_wire(wire.expires_at) if wire.HasField("expires_at") else None,
        superseded_by=wire.superseded_by or None,
        tags=tuple(wire.tags),
        sensitivity=cast("Sensitivity", wire.sensitivity),
        confidence=wire.confidence,
        pinned=wire.pinned,
        helpful=wire.helpful,
        harmful=wire.harmful,
        retrieval_count=wire.retrieval_count,
        provenance=provenance_of_wire(wire.provenance),
        derived_from=tuple(wire.derived_from),
        stale_since=time_of_wire(wire.stale_since) if wire.HasField("stale_since") else None,
        near_duplicates=tuple(wire.near_duplicates),
        secrets=dict(wire.secrets),
    )


def message_of_wire(wire: pb.StoredMessage) -> Event:
    """A recorded message as `germane.Agent.messages` returns it, without the caller's own dict."""
    return event_of_wire(wire, type=f"{wire.role}_message", message_id=wire.message_id)


def event_of_wire(
    wire: pb.StoredMessage | activity_pb2.StoredEvent, *, type: str, message_id: str, outcome: str = "", task: str = ""
) -> Event:
    """A stored event, without its content hash and the caller's own content. A text that was cut says how long the whole is."""
    shown = len(wire.text.encode())
    return Event(
        id=wire.id,
        type=type,
        user=wire.user_id or None,
        session=wire.session_id,
        position=wire.position,
        text=wire.text,
        created_at=time_of_wire(wire.created_at),
        recorded_at=time_of_wire(wire.recorded_at),
        role=wire.role,
        name=wire.name,
        message_id=message_id or None,
        sensitivity=cast("Sensitivity", wire.sensitivity),
        outcome=outcome,
        task=task or None,
        provenance=provenance_of_wire(wire.provenance),
        passage=PassageRange(0, min(shown, wire.whole_size), wire.whole_size) if wire.whole_size else None,
    )


def thing_of_wire(wire: pb.FindResponse) -> Memory | Event:
    return memory_of_wire(wire.memory) if wire.HasField("memory") else message_of_wire(wire.message)


def session_of_wire(wire: pb.Session) -> Session:
    return Session(
        id=wire.id,
        user=wire.user_id or None,
        number=wire.number,
        started_at=time_of_wire(wire.started_at),
        last_at=time_of_wire(wire.last_at),
        length=wire.length,
    )


def user_of_wire(wire: pb.UserSummary) -> UserSummary:
    return UserSummary(
        user=wire.user_id,
        memories=wire.memories,
        messages=wire.messages,
        sessions=wire.sessions,
        last_at=time_of_wire(wire.last_at) if wire.HasField("last_at") else None,
    )


def agent_of_wire(wire: pb.AgentSummary) -> AgentSummary:
    return AgentSummary(agent=wire.agent_id, users=wire.users, memories=wire.memories, messages=wire.messages)


def recorded_of_wire(wire: pb.RecordResponse) -> Recorded:
    return Recorded(
        added=tuple(wire.added),
        skipped=wire.skipped,
        secrets=dict(wire.secrets),
        extracted=tuple(wire.extracted),
        assumed_resent=wire.assumed_resent,
        assumed_new=tuple(wire.assumed_new),
    )


def why_of_wire(wire: pb.WhyResponse) -> Why:
    return Why(
        id=wire.id,
        outcome=cast("Outcome", wire.outcome),
        text=wire.text,
        reason=wire.reason,
        rank=wire.rank if wire.HasField("rank") else None,
        probability=wire.probability if wire.HasField("probability") else None,
        tokens=wire.tokens if wire.HasField("tokens") else None,
        at=time_of_wire(wire.at) if wire.HasField("at") else None,
    )


def stats_of_wire(wire: pb.GetStatsResponse) -> Stats:
    return Stats(
        memories=dict(sorted(wire.memories.items())),
        ended=wire.ended,
        pinned=wire.pinned,
        messages=wire.messages,
        sessions=wire.sessions,
        users=wire.users if wire.HasField("users") else None,
        text_bytes=wire.text_bytes,
        pending_vectors=wire.pending_vectors,
        blocks=wire.blocks,
        archival_entries=wire.archival_entries,
        oldest=time_of_wire(wire.oldest) if wire.HasField("oldest") else None,
        newest=time_of_wire(wire.newest) if wire.HasField("newest") else None,
        extracted=dict(sorted(wire.extracted.items())),
    )


def _content(wire: pb.Memory) -> Content:
    """The fields of the kind; the text of a kind that this client doesn't know is a note's."""
    kind = KINDS.get(wire.kind)
    if kind is None:
        return Note(body=wire.text)
    given = struct_of_wire(wire.fields)
    known: dict[str, Any] = {field.name: given[field.name] for field in fields(kind) if field.name in given}
    return kind(**known | {name: datetime.fromisoformat(known[name]) for name in _TIMES & known.keys()})


def provenance_of_wire(wire: pb.Provenance) -> Provenance:
    return Provenance(
        source_kind=cast("SourceKind", wire.source_kind or "user"),
        channel=wire.channel or None,
        session=wire.session_id or None,
        message_id=wire.message_id or None,
        tool_call_id=wire.tool_call_id or None,
        refs=tuple(wire.refs),
        metadata=struct_of_wire(wire.metadata),
    )


def receipt_of_wire(wire: pb.ForgetReceipt) -> Receipt:
    return Receipt(
        memory_ids=tuple(wire.memory_ids),
        event_ids=tuple(wire.event_ids),
        block_ids=tuple(wire.block_ids),
        graph_ids=tuple(wire.graph_ids),
        task_ids=tuple(wire.task_ids),
        history_ids=tuple(wire.history_ids),
        dry_run=wire.dry_run,
        scrubbed=wire.scrubbed,
        waiting_for=wire.waiting_for,
        checked=tuple(wire.checked),
    )


def struct_of_wire(wire: Struct) -> dict[str, Any]:
    """The values of a `Struct`, which holds doubles only: whole ones become whole numbers again."""
    whole: dict[str, Any] = _whole(MessageToDict(wire))
    return whole


def _whole(value: Any) -> Any:
    match value:
        case float() if value.is_integer() and abs(value) <= _MAX_EXACT_INTEGER:
            return int(value)
        case dict():
            return {name: _whole(inner) for name, inner in value.items()}
        case list():
            return [_whole(inner) for inner in value]
        case _:
            return value


def time_of_wire(wire: Timestamp) -> datetime:
    """The time in UTC."""
    return wire.ToDatetime(UTC)


def set_time(wire: Any, field: str) -> datetime | None:
    """The time in a field of a message; None where it isn't set."""
    return time_of_wire(getattr(wire, field)) if wire.HasField(field) else None
