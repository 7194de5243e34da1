"""History to wire: converts compacted conversations, what left them, outlines and summaries to wire messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from germane.api.agent_history import EarlierMessages
from germane.compaction.compaction import Compaction
from germane.compaction.kept_history import KeptSummary
from germane.compaction.outline import OutlineLine
from germane.compaction.report import report_of
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import history_pb2 as pb
from germane.grpc.to_wire import history_report, stamp, text
from germane.types.message import Message

__all__ = ["compacted", "earlier", "outline_line", "summary", "wire_messages"]


def compacted(made: Compaction) -> pb.CompactHistoryResponse:
    return pb.CompactHistoryResponse(
        messages=wire_messages(made.messages),
        system_json="" if made.system is None else json.dumps(made.system),
        provider=made.provider,
        report=history_report(report_of(made)),
        summary="" if made.summary is None else text(made.summary.text),
        constraints=[text(one.text) for one in made.constraints],
    )


def wire_messages(messages: Iterable[Mapping[str, Any] | Message]) -> list[context_pb2.Message]:
    """Returns the messages, each as role and text where these hold it, else as JSON."""
    return list(map(_message, messages))


def earlier(found: EarlierMessages) -> pb.ShowEarlierResponse:
    return pb.ShowEarlierResponse(
        handle=found.handle,
        kind=found.kind,
        title=text(found.title),
        text=text(found.text),
        messages_json=json.dumps(list(found.messages)),
        previous=found.previous,
        part=found.part,
        session_id=text(found.session),
        provider=found.provider,
        created_at=stamp(found.created_at),
    )


def outline_line(line: OutlineLine) -> pb.OutlineLine:
    return pb.OutlineLine(
        text=text(line.text),
        first_id=line.first_id,
        last_id=line.last_id,
        first_at=stamp(line.first_at),
        last_at=stamp(line.last_at),
        messages=line.messages,
        sensitivity=line.sensitivity,
        session_id=text(line.session),
    )


def summary(kept: KeptSummary) -> pb.HistorySummary:
    made = kept.summary
    return pb.HistorySummary(
        id=kept.id,
        text=text(made.text),
        covers=made.covers,
        tokens=made.tokens,
        method=made.method,
        note=text(made.note),
        fingerprint=kept.fingerprint,
        session_id=text(kept.session),
        created_at=stamp(kept.created_at),
    )


def _message(raw: Mapping[str, Any] | Message) -> context_pb2.Message:
    if isinstance(raw, Message):
        return context_pb2.Message(role=raw.role, content=text(raw.content))
    role, content = raw.get("role"), raw.get("content")
    if len(raw) == 2 and isinstance(role, str) and isinstance(content, str) and text(content) == content:
        return context_pb2.Message(role=text(role), content=content)
    return context_pb2.Message(role=text(role) if isinstance(role, str) else "", json=json.dumps(raw))
