"""History values: what `client.history` returns: the library's values as far as they cross the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from germane.compaction.strategy import Importance, Summarise, TimeDecay, Truncate
from germane.errors import InvalidInput
from germane.grpc.calling.outbound import fields_of
from germane.grpc.calling.plain_values import time_of_wire
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import history_pb2 as pb
from germane.types.history_report import HistoryReport
from germane.types.limits import shown

__all__ = [
    "RemoteCompaction",
    "RemoteEarlier",
    "RemoteOutline",
    "RemoteOutlineLine",
    "RemoteSummary",
    "compaction_of_wire",
    "earlier_of_wire",
    "messages_of_wire",
    "outline_of_wire",
    "report_of_wire",
    "strategy_to_wire",
    "summary_of_wire",
]


_NAMES = ((Summarise, "summarise"), (Truncate, "truncate"), (Importance, "importance"), (TimeDecay, "time-decay"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCompaction:
    """A conversation that the service made fit: `messages` for `provider`, `system` as it was given, and in `report` what was
    done, in figures. `summary` is the text that stands for what left, "" without one, `constraints` what the user demanded in
    it."""

    messages: list[Any]
    provider: str
    system: Any = None
    report: HistoryReport
    summary: str = ""
    constraints: tuple[str, ...] = ()

    def __repr__(self) -> str:
        done = self.report
        return f"<RemoteCompaction {done.tokens_before} → {done.tokens} of {done.max_tokens} tokens>"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteEarlier:
    """What a handle stands for, as `germane.Agent.history.show` says it."""

    handle: str
    kind: str
    title: str
    text: str = field(repr=False)
    session: str
    provider: str
    messages: tuple[Mapping[str, Any], ...] = field(repr=False)
    previous: str
    part: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOutlineLine:
    """What one exchange was about, as `germane.Agent.history.outline` says it."""

    session: str
    text: str
    first_id: str
    last_id: str
    first_at: datetime
    last_at: datetime
    messages: int
    sensitivity: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOutline:
    """One page of a session's outline, oldest line first. `cursor` continues it; None on the last page."""

    lines: tuple[RemoteOutlineLine, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteSummary:
    """A summary of a session: `text` stands for the messages before the index `covers`, which `fingerprint` names. `note` says
    why a language model's text wasn't used."""

    id: str
    session: str
    text: str
    covers: int
    tokens: int
    method: str
    note: str
    fingerprint: str
    created_at: datetime


def report_of_wire(wire: context_pb2.HistoryReport) -> HistoryReport:
    """Reads what was done to a conversation, in figures."""
    return HistoryReport(
        tokens_before=wire.tokens_before,
        tokens=wire.tokens,
        max_tokens=wire.max_tokens,
        fits=wire.fits,
        masked=wire.masked,
        summarised=wire.summarised,
        dropped=wire.dropped,
        quarantined=wire.quarantined,
        moves=wire.moves,
        saved_tokens=wire.saved_tokens,
        cache_lost_tokens=wire.cache_lost_tokens,
        pays_after=wire.pays_after if wire.HasField("pays_after") else None,
        cited=tuple(wire.cited),
        reasons=tuple(wire.reasons),
    )


def messages_of_wire(wire: pb.CompactHistoryResponse | pb.RebuildHistoryResponse) -> list[Any]:
    return list(map(fields_of, wire.messages))


def compaction_of_wire(wire: pb.CompactHistoryResponse) -> RemoteCompaction:
    return RemoteCompaction(
        messages=messages_of_wire(wire),
        provider=wire.provider,
        system=json.loads(wire.system_json) if wire.system_json else None,
        report=report_of_wire(wire.report),
        summary=wire.summary,
        constraints=tuple(wire.constraints),
    )


def earlier_of_wire(wire: pb.ShowEarlierResponse) -> RemoteEarlier:
    return RemoteEarlier(
        handle=wire.handle,
        kind=wire.kind,
        title=wire.title,
        text=wire.text,
        session=wire.session_id,
        provider=wire.provider,
        messages=tuple(json.loads(wire.messages_json)),
        previous=wire.previous,
        part=wire.part,
        created_at=time_of_wire(wire.created_at),
    )


def outline_of_wire(wire: pb.ListOutlineResponse) -> RemoteOutline:
    return RemoteOutline(lines=tuple(map(_line, wire.lines)), cursor=wire.next_page_token or None)


def summary_of_wire(wire: pb.HistorySummary) -> RemoteSummary:
    return RemoteSummary(
        id=wire.id,
        session=wire.session_id,
        text=wire.text,
        covers=wire.covers,
        tokens=wire.tokens,
        method=wire.method,
        note=wire.note,
        fingerprint=wire.fingerprint,
        created_at=time_of_wire(wire.created_at),
    )


def _line(wire: pb.OutlineLine) -> RemoteOutlineLine:
    return RemoteOutlineLine(
        session=wire.session_id,
        text=wire.text,
        first_id=wire.first_id,
        last_id=wire.last_id,
        first_at=time_of_wire(wire.first_at),
        last_at=time_of_wire(wire.last_at),
        messages=wire.messages,
        sensitivity=wire.sensitivity,
    )


def strategy_to_wire(field: str, strategy: object) -> context_pb2.HistoryStrategy:
    """Returns a strategy with its numbers. Raises `InvalidInput`, naming the field, for what is none."""
    for made, name in _NAMES:
        if isinstance(strategy, made):
            numbers = {one: getattr(strategy, one) for one in made.__dataclass_fields__}
            return context_pb2.HistoryStrategy(name=name, **numbers)
    raise InvalidInput(f"{field} must be Truncate, Summarise, Importance or TimeDecay, not {shown(strategy)}")
