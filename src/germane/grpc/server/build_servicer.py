"""Build servicer: the RPCs of `BuildService`: builds whole requests, and enforces the rules of tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from google.protobuf.struct_pb2 import Struct

from germane.api.builder.builder import BuildMetadata
from germane.api.builder.system_prompt import Activity
from germane.api.workers.threads import by_turns
from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall, may_write
from germane.grpc.server.from_wire import filters, history_strategy, json_list, message_dict, moment, plain_object
from germane.grpc.server.refusals import invalid
from germane.grpc.server.to_wire import history_report, metadata, wire_text
from germane.grpc.stubs import build_pb2 as pb
from germane.kinds.keys.value import Right
from germane.rules.enforce import ToolRules
from germane.rules.tool_rule import Allow, AskConsent, Owed, Refuse, ToolRule, Verdict, parse_rule, rule_as_dict
from germane.types.json_text import JsonText
from germane.types.limits import ID, LIST_ITEMS, MESSAGES, NAME, TOOL_CHARACTERS, check_size
from germane.types.limits import check_text as string
from germane.types.message import ToolCall

_INLINE = 50_000
"""Bytes of a request up to which its tools are read, and the request for the model is written, on the event loop."""
_SECONDS = 0.25
"""When a request is due, unless its caller says so."""


class BuildServicer:
    """Runs on the engine's loop. Raises `Refused` and `InvalidInput` for a request that its caller has to correct."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"BuildRequest": "read", "CheckToolCalls": "read"})

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def build_request(self, request: pb.BuildRequestRequest, call: RpcCall) -> pb.BuildRequestResponse:
        """What the builder of `agent.builder()` builds with the same steps."""
        agent = self._resolver.scoped(request.scope, call)
        if not request.model:
            raise invalid("model is missing: say which one is about to be called, such as gpt-4o")
        for name, value in (("deadline_ms", request.deadline_ms), ("window", request.window)):
            if value < 0:
                raise invalid(f"{name} must be 0 or more")
        check_size("messages", len(request.messages), MESSAGES)
        check_size("tools_json", len(request.tools_json), TOOL_CHARACTERS)
        large = request.ByteSize() > _INLINE
        read_tools = partial(json_list, request.tools_json, "tools_json")
        tools = (await asyncio.to_thread(read_tools) if large else read_tools()) if request.tools_json else []
        texts = JsonText()
        messages = await by_turns(request.messages, lambda one, index: message_dict(one, index, texts))
        if not messages and not request.query:
            raise invalid("messages is missing: give at least one, or query")
        limits = {one.name: value for one, value in request.limits.ListFields()}
        entries = [_activity(one, index) for index, one in enumerate(request.activity)]
        builder = (
            agent.builder()
            .with_model(
                string("model", request.model, NAME),
                request.provider or None,
                like=request.like or None,
                window=request.window or None,
            )
            .with_messages(messages)
            .with_base_instructions(request.instructions)
            .with_tools(tools)
            .with_tool_rules(_rules(request.rules))
            .with_batch_blocks(*(string(f"blocks[{index}]", one, ID) for index, one in enumerate(request.blocks)))
            .with_blocks(descriptions=not request.without_descriptions, schemas=request.schemas)
            .with_activity(entries)
            .with_session(request.session_id or None)
            .with_query(
                request.query or None,
                filters=filters(request.filters, "filters.") if request.HasField("filters") else None,
                at=moment(request.at, "at") if request.HasField("at") else None,
            )
            .with_strategy(request.strategy or "default")
            .with_deadline(request.deadline_ms / 1000 or _SECONDS)
            .with_limits(**limits)
        )
        strategy = history_strategy(request.history, "history") if request.HasField("history") else None
        builder = builder.with_history(strategy, keep=may_write(call))
        built = await builder
        written = await asyncio.to_thread(json.dumps, built.as_kwargs()) if large else json.dumps(built.as_kwargs())
        return pb.BuildRequestResponse(
            request_json=written,
            provider=built.provider,
            metadata=build_metadata(built.metadata),
            assembly=None if built.context is None else metadata(built.context.metadata, ""),
        )

    async def check_tool_calls(self, request: pb.CheckToolCallsRequest, call: RpcCall) -> pb.CheckToolCallsResponse:
        """What `ToolRules` answers with the same state."""
        self._resolver.scoped(request.scope, call)
        rules = _rules(request.rules)
        approved, made, calls = (_calls(name, getattr(request, name)) for name in ("approved", "made", "calls"))
        turn = ToolRules.from_json(rules, request.state) if request.state else ToolRules(rules)
        if request.begin_turn:
            turn.begin_turn()
        for one in approved:
            turn.approve(one)
        turn.called(*made)
        return pb.CheckToolCallsResponse(
            verdicts=map(tool_verdict, turn.check_all(calls)),
            state=turn.as_json(),
            next_step=turn.next_step or "",
            owed=map(owed_tool, turn.before_exit()),
            may_exit=turn.may_exit,
        )


def _rules(wire: Sequence[Struct]) -> list[ToolRule]:
    check_size("rules", len(wire), LIST_ITEMS)
    return [parse_rule(plain_object(one, f"rules[{index}]")) for index, one in enumerate(wire)]


def _calls(name: str, wire: Sequence[pb.ToolCall]) -> list[ToolCall]:
    check_size(name, len(wire), LIST_ITEMS)
    return [_call(one, f"{name}[{index}]") for index, one in enumerate(wire)]


def _call(wire: Any, where: str) -> ToolCall:
    if not wire.name:
        raise invalid(f"{where}.name is missing: say which tool it is")
    check_size(f"{where}.arguments_json", len(wire.arguments_json), TOOL_CHARACTERS)
    name = string(f"{where}.name", wire.name, ID)
    return ToolCall(id=wire.id, name=name, arguments=wire.arguments_json or "{}")


def _activity(wire: Any, index: int) -> Activity:
    if not wire.HasField("at"):
        raise invalid(f"activity[{index}].at is missing: say when it was")
    return Activity(at=moment(wire.at, f"activity[{index}].at"), agent=wire.agent, text=wire.text)


# The metadata of a built request, and what the rules of tools say, as wire messages.


_PARTS = (
    *("instructions", "directive", "core_blocks", "working_blocks", "activity", "tool_rules", "found", "tools", "history"),
)
_LIMITS = ("max_tokens", "memory_tokens", "history_tokens", "response_tokens", "max_messages")


def build_metadata(report: BuildMetadata) -> pb.BuildMetadata:
    """Returns how a request was built, without the texts of blocks, which are in the request."""
    return pb.BuildMetadata(
        tokens=pb.TokensByPart(**{name: getattr(report.tokens, name) for name in _PARTS}),
        limits=pb.RequestLimits(**{name: getattr(report.limits, name) for name in _LIMITS}),
        message_count=report.message_count,
        archived=report.archived,
        compression=report.compression,
        blocks=[
            pb.BlockReport(label=wire_text(one.block.label), reason=one.reason, tokens=one.tokens, shortened=one.shortened)
            for one in report.blocks
        ],
        blocks_left_out=[pb.BlockReport(label=wire_text(one.label), reason=one.reason) for one in report.blocks_left_out],
        cache_points=[pb.CachePoint(place=one.place, tokens=one.tokens, marked=one.marked) for one in report.cache_points],
        tool_names={wire_text(given): wire_text(written) for given, written in report.tool_names.items()},
        losses=[wire_text(f"{one.tool}: {one.field}: {one.reason}") for one in report.losses],
        faults=map(wire_text, report.faults),
        warnings=map(wire_text, report.warnings),
        history=None if report.history is None else history_report(report.history),
    )


def owed_tool(owed: Owed) -> pb.OwedTool:
    return pb.OwedTool(
        tool=wire_text(owed.tool), reason=wire_text(owed.reason), obstacle=wire_text(owed.obstacle), rule=_rule(owed.rule)
    )


def tool_verdict(verdict: Verdict) -> pb.ToolVerdict:
    match verdict:
        case Allow(unpaid=unpaid):
            return pb.ToolVerdict(verdict="allow", unpaid=map(owed_tool, unpaid))
        case Refuse(reason=reason, rule=rule):
            return pb.ToolVerdict(verdict="refuse", reason=wire_text(reason), rule=None if rule is None else _rule(rule))
        case AskConsent(of=of, reason=reason, rule=rule):
            return pb.ToolVerdict(verdict="ask_consent", reason=wire_text(reason), asked_of=of, rule=_rule(rule))


def _rule(rule: ToolRule) -> Struct:
    made, fields = Struct(), dict[str, Any](rule_as_dict(rule))
    made.update(fields)
    return made
