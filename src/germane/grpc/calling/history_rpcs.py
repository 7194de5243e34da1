"""History RPCs: the client's calls about long conversations, as `client.history`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from germane.compaction.strategy import CompactionStrategy
from germane.errors import InvalidInput
from germane.grpc.calling.assemble_call import ClientScope, checked_text
from germane.grpc.calling.block_values import number_given
from germane.grpc.calling.history_values import (
    RemoteCompaction,
    RemoteEarlier,
    RemoteOutline,
    RemoteSummary,
    compaction_of_wire,
    earlier_of_wire,
    messages_of_wire,
    outline_of_wire,
    strategy_to_wire,
    summary_of_wire,
)
from germane.grpc.calling.outbound import add_messages, json_of
from germane.grpc.calling.rpcs import ClientRpc, scope_to_wire, sendable
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import history_pb2 as pb
from germane.grpc.stubs.history_pb2_grpc import HistoryServiceStub
from germane.types.limits import COUNT, PAGE, shown

__all__ = ["compact", "outline", "rebuild", "show", "summaries"]

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
        raise InvalidInput(f"low_water must be a number from 0 to 1, not {shown(low_water)}")
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline <= _MAX_SECONDS:
        raise InvalidInput(f"deadline must be a number of seconds, above 0 and at most 60, not {shown(deadline)}")
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
        raise InvalidInput(f"messages must be a list such as [{{'role': 'user', 'content': '…'}}], not {shown(messages)}")
    carrier = context_pb2.AssembleContextRequest()
    add_messages(messages, carrier, all=True)
    return carrier.messages
