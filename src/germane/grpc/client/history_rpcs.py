"""History RPCs: the client's calls about long conversations, as `client.history`.

They return the library's values as far as these cross the wire, as classes of their own named `Remote…`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from germane.compaction.strategy import CompactionStrategy, Importance, Summarise, TimeDecay, Truncate
from germane.errors import InvalidInput
from germane.grpc.client.assembly import ClientScope, checked_text
from germane.grpc.client.block_values import number_given
from germane.grpc.client.conversation import add_messages, fields_of, json_of
from germane.grpc.client.rpcs import ClientRpc, scope_to_wire, sendable
from germane.grpc.client.values import time_of_wire
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import history_pb2 as pb
from germane.grpc.stubs.history_pb2_grpc import HistoryServiceStub
from germane.types.limits import COUNT, PAGE, quoted
from germane.types.reports import HistoryReport

_MAX_SECONDS = 60.0


def compact(
    scope: ClientScope,
    messages: Sequence[Any],
    *,
    session: str,
    model: str,
    max_tokens: int | None = None,
    strategy: CompactionStrategy | None = None,
    system: Any = None,
    tools: Sequence[Mapping[str, Any]] = (),
    provider: str | None = None,
    low_water: float = 0.5,
    max_messages: int | None = None,
    deadline: float = 5.0,
) -> ClientRpc[RemoteCompaction]:
    """Returns the messages as they fit `max_tokens`, as `germane.Agent.history.compact` does, and keeps what left under handles
    that `show` brings back. `deadline` are the seconds that the store may take. Raises `InvalidInput`."""
    if isinstance(low_water, bool) or not isinstance(low_water, int | float):
        raise InvalidInput(f"low_water must be a number from 0 to 1, not {quoted(low_water)}")
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline <= _MAX_SECONDS:
        raise InvalidInput(f"deadline must be a number of seconds, above 0 and at most 60, not {quoted(deadline)}")
    with sendable():
        request = pb.CompactHistoryRequest(
            scope=scope_to_wire(scope),
            session_id=checked_text("session", session),
            model=checked_text("model", model),
            messages=_messages(messages),
            provider=checked_text("provider", provider, optional=True),
            max_tokens=0 if max_tokens is None else number_given("max_tokens", max_tokens, 1, COUNT.maximum),
            tools_json=json.dumps(list(tools)) if tools else "",
            system_json="" if system is None else json_of(system),
            strategy=None if strategy is None else strategy_to_wire("strategy", strategy),
            low_water=low_water,
            max_messages=0 if max_messages is None else number_given("max_messages", max_messages, 1, COUNT.maximum),
            deadline_ms=max(1, round(deadline * 1000)),
        )
    return ClientRpc(HistoryServiceStub, "CompactHistory", request, compaction_of_wire)


def show(scope: ClientScope, handle: str, *, session: str | None = None) -> ClientRpc[RemoteEarlier]:
    """Returns what a handle in a compacted conversation stands for. Raises `NotFound`, also for what is another scope's."""
    request = pb.ShowEarlierRequest(
        scope=scope_to_wire(scope),
        handle=checked_text("handle", handle),
        session_id=checked_text("session", session, optional=True),
    )
    return ClientRpc(HistoryServiceStub, "ShowEarlier", request, earlier_of_wire)


def rebuild(scope: ClientScope, messages: Sequence[Any], *, session: str, provider: str | None = None) -> ClientRpc[list[Any]]:
    """Returns a compacted conversation with what was taken out of it, as far as it is kept. Raises `InvalidInput`."""
    with sendable():
        request = pb.RebuildHistoryRequest(
            scope=scope_to_wire(scope),
            session_id=checked_text("session", session),
            messages=_messages(messages),
            provider=checked_text("provider", provider, optional=True),
        )
    return ClientRpc(HistoryServiceStub, "RebuildHistory", request, messages_of_wire)


def outline(scope: ClientScope, session: str, *, limit: int = 100, cursor: str | None = None) -> ClientRpc[RemoteOutline]:
    """Returns a page of `limit` (1 to 1,000) lines of a session's outline, oldest first: one for each exchange."""
    request = pb.ListOutlineRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session),
        page_size=number_given("limit", limit, 1, PAGE.maximum),
        page_token=checked_text("cursor", cursor, optional=True),
    )
    return ClientRpc(HistoryServiceStub, "ListOutline", request, outline_of_wire)


def summaries(scope: ClientScope, session: str, *, limit: int = 100) -> ClientRpc[tuple[RemoteSummary, ...]]:
    """Returns the last `limit` (1 to 1,000) summaries of a session, oldest first."""
    request = pb.ListSummariesRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session),
        limit=number_given("limit", limit, 1, PAGE.maximum),
    )

    def read(response: pb.ListSummariesResponse) -> tuple[RemoteSummary, ...]:
        return tuple(map(summary_of_wire, response.summaries))

    return ClientRpc(HistoryServiceStub, "ListSummaries", request, read)


def _messages(messages: Sequence[Any]) -> Sequence[context_pb2.Message]:
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Sequence):
        raise InvalidInput(f"messages must be a list such as [{{'role': 'user', 'content': '…'}}], not {quoted(messages)}")
    carrier = context_pb2.AssembleContextRequest()
    add_messages(messages, carrier, all=True)
    return carrier.messages


# What these calls return, and the reading of the service's messages.


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
    raise InvalidInput(f"{field} must be Truncate, Summarise, Importance or TimeDecay, not {quoted(strategy)}")
