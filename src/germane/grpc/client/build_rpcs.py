"""Build RPCs: the client's calls that build a whole request, and that check the tool calls of a turn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, cast

from google.protobuf.struct_pb2 import Struct

from germane.compaction.strategy import CompactionStrategy
from germane.errors import InvalidInput
from germane.grpc.client.assembly import ClientScope, checked_text, filters_to_wire, time_to_wire
from germane.grpc.client.block_values import number_given, wire_struct
from germane.grpc.client.conversation import add_messages
from germane.grpc.client.history_rpcs import strategy_to_wire
from germane.grpc.client.rpcs import ClientRpc, scope_to_wire
from germane.grpc.client.values import struct_of_wire
from germane.grpc.stubs import build_pb2 as pb
from germane.grpc.stubs.build_pb2_grpc import BuildServiceStub
from germane.rules.tool_rule import Allow, AskConsent, ConsentOf, Owed, Refuse, ToolRule, Verdict, parse_rule, rule_as_dict
from germane.types.limits import COUNT, quoted
from germane.types.message import ToolCall

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
        raise InvalidInput(f"a call must be a ToolCall(id=…, name=…, arguments=…), not {quoted(call)}")
    return pb.ToolCall(id=call.id, name=call.name, arguments_json=call.arguments)


# What these calls return, and the reading of the service's messages.


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRequest:
    """A request for the provider's SDK, as the service has built it. `metadata` are the fields of the message `BuildMetadata`
    as JSON, `estimated_tokens` those of the whole request, `faults` the parts that are missing, with the reason."""

    provider: str
    kwargs: Mapping[str, Any] = field(repr=False)
    metadata: Mapping[str, Any] = field(repr=False)
    estimated_tokens: int = 0
    faults: tuple[str, ...] = ()

    def as_kwargs(self, **more: Any) -> dict[str, Any]:
        """The arguments of the SDK's call, as `BuiltRequest.as_kwargs` gives them."""
        if isinstance(config := more.get("config"), Mapping) and "config" in self.kwargs:
            more["config"] = {**self.kwargs["config"], **config}
        return {**self.kwargs, **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedCalls:
    """What the rules say of the calls of one batch, in order, and of the turn: `state` goes into the next call, and belongs
    where the agent can't write. `next_step` is None where no rule says what follows; `owed` is due before the turn ends."""

    verdicts: tuple[Verdict, ...]
    state: str = field(repr=False)
    next_step: Literal["end", "continue"] | None
    owed: tuple[Owed, ...]
    may_exit: bool


def remote_of_wire(wire: pb.BuildRequestResponse) -> RemoteRequest:
    from google.protobuf.json_format import MessageToDict

    tokens = wire.metadata.tokens
    return RemoteRequest(
        provider=wire.provider,
        kwargs=json.loads(wire.request_json),
        metadata=MessageToDict(wire.metadata, preserving_proto_field_name=True),
        estimated_tokens=sum(getattr(tokens, one.name) for one in tokens.DESCRIPTOR.fields),
        faults=tuple(wire.metadata.faults),
    )


def checked_of_wire(wire: pb.CheckToolCallsResponse) -> CheckedCalls:
    return CheckedCalls(
        verdicts=tuple(map(_verdict, wire.verdicts)),
        state=wire.state,
        next_step=cast("Any", wire.next_step or None),
        owed=tuple(map(_owed, wire.owed)),
        may_exit=wire.may_exit,
    )


def _verdict(wire: pb.ToolVerdict) -> Verdict:
    rule = parse_rule(struct_of_wire(wire.rule)) if wire.HasField("rule") else None
    if wire.verdict == "allow":
        return Allow(unpaid=tuple(map(_owed, wire.unpaid)))
    if wire.verdict == "ask_consent" and rule is not None:
        return AskConsent(of=cast("ConsentOf", wire.asked_of), reason=wire.reason, rule=rule)
    return Refuse(reason=wire.reason, rule=rule)


def _owed(wire: pb.OwedTool) -> Owed:
    return Owed(tool=wire.tool, reason=wire.reason, rule=parse_rule(struct_of_wire(wire.rule)), obstacle=wire.obstacle)
