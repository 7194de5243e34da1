"""Build RPCs: the client's calls that build a whole request, and that check the calls of a turn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from google.protobuf.struct_pb2 import Struct

from germane.compaction.strategy import CompactionStrategy
from germane.errors import InvalidInput
from germane.grpc.calling.assemble_call import ClientScope, checked_text, filters_to_wire, time_to_wire
from germane.grpc.calling.block_values import number_given, wire_struct
from germane.grpc.calling.build_values import CheckedCalls, RemoteRequest, checked_of_wire, remote_of_wire
from germane.grpc.calling.history_values import strategy_to_wire
from germane.grpc.calling.outbound import add_messages
from germane.grpc.calling.rpcs import ClientRpc, scope_to_wire
from germane.grpc.stubs import build_pb2 as pb
from germane.grpc.stubs.build_pb2_grpc import BuildServiceStub
from germane.rules.tool_rule import ToolRule, parse_rule, rule_as_dict
from germane.types.limits import COUNT, shown
from germane.types.message import ToolCall

__all__ = ["build", "check_tool_calls"]

_LIMITS = frozenset(("max_tokens", "memory_tokens", "history_tokens", "response_tokens", "max_messages"))


def build(
    scope: ClientScope,
    messages: Sequence[Any],
    *,
    model: str,
    provider: str | None = None,
    session: str | None = None,
    instructions: str = "",
    tools: Sequence[Mapping[str, Any]] = (),
    rules: Iterable[ToolRule | Mapping[str, Any]] = (),
    blocks: Sequence[str] = (),
    limits: Mapping[str, int] | None = None,
    query: str | None = None,
    filters: Any = None,
    at: datetime | None = None,
    strategy: str | None = None,
    like: str | None = None,
    window: int | None = None,
    deadline: float | None = None,
    schemas: bool = False,
    descriptions: bool = True,
    history: CompactionStrategy | None = None,
) -> ClientRpc[RemoteRequest]:
    """Builds a whole request, as `agent.builder()` does: instructions, directive, blocks, tools with their rules, as much of
    the history as fits, and what is found. `limits` holds some of `RequestLimits` by name, `deadline` is in seconds (default
    0.25). `history` says what leaves first where the conversation doesn't fit (default `Summarise()`). Raises
    `InvalidInput`."""
    if isinstance(blocks, str):
        raise InvalidInput("blocks must be a list of labels or ids, not a string")
    if unknown := sorted(set(limits or {}) - _LIMITS):
        raise InvalidInput(f"limits: unknown {', '.join(unknown)}: there are {', '.join(sorted(_LIMITS))}")
    request = pb.BuildRequestRequest(
        scope=scope_to_wire(scope),
        model=checked_text("model", model),
        provider=checked_text("provider", provider, optional=True),
        session_id=checked_text("session", session, optional=True),
        instructions=checked_text("instructions", instructions, optional=True),
        tools_json=json.dumps(list(tools)) if tools else "",
        rules=_rules(rules),
        blocks=[checked_text("blocks", one) for one in blocks],
        limits=pb.RequestLimits(**{name: number_given(name, one, 0, COUNT.maximum) for name, one in (limits or {}).items()}),
        query=checked_text("query", query, optional=True),
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
        at=None if at is None else time_to_wire("at", at, scope.zone),
        strategy=checked_text("strategy", strategy, optional=True),
        like=checked_text("like", like, optional=True),
        window=0 if window is None else number_given("window", window, 1, COUNT.maximum),
        deadline_ms=0 if deadline is None else max(1, round(deadline * 1000)),
        schemas=schemas,
        without_descriptions=not descriptions,
        history=None if history is None else strategy_to_wire("history", history),
    )
    add_messages(messages, cast("Any", request), all=True)
    return ClientRpc(BuildServiceStub, "BuildRequest", request, remote_of_wire)


def check_tool_calls(
    scope: ClientScope,
    rules: Iterable[ToolRule | Mapping[str, Any]],
    calls: Sequence[ToolCall] = (),
    *,
    state: str = "",
    begin_turn: bool = False,
    approved: Sequence[ToolCall] = (),
    made: Sequence[ToolCall] = (),
) -> ClientRpc[CheckedCalls]:
    """Says for each call of a batch whether the rules allow it, as `ToolRules` does. In this order: the turn begins anew where
    `begin_turn` says so, `approved` calls are consented to, `made` ones are recorded as one batch, and `calls` are judged.
    `state` is that of the last answer; empty: an agent's first turn. Raises `InvalidInput`."""
    request = pb.CheckToolCallsRequest(
        scope=scope_to_wire(scope),
        rules=_rules(rules),
        state=state,
        begin_turn=begin_turn,
        approved=map(_call, approved),
        made=map(_call, made),
        calls=map(_call, calls),
    )
    return ClientRpc(BuildServiceStub, "CheckToolCalls", request, checked_of_wire)


def _rules(rules: Iterable[ToolRule | Mapping[str, Any]]) -> list[Struct]:
    read = [parse_rule(one) if isinstance(one, Mapping) else one for one in rules]
    return [wire_struct("a rule", rule_as_dict(one)) for one in read]


def _call(call: object) -> pb.ToolCall:
    if not isinstance(call, ToolCall):
        raise InvalidInput(f"a call must be a ToolCall(id=…, name=…, arguments=…), not {shown(call)}")
    return pb.ToolCall(id=call.id, name=call.name, arguments_json=call.arguments)
