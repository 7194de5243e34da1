"""Build to wire: converts the metadata of a built request, and what the rules of tools say, to wire messages."""

from __future__ import annotations

from typing import Any

from google.protobuf.struct_pb2 import Struct

from germane.api.builder.built_request import BuildMetadata
from germane.grpc.stubs import build_pb2 as pb
from germane.grpc.to_wire import history_report, text
from germane.rules.tool_rule import ToolRule, rule_as_dict
from germane.rules.verdict import Allow, AskConsent, Owed, Refuse, Verdict

__all__ = ["build_metadata", "owed_tool", "tool_verdict"]

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
            pb.BlockReport(label=text(one.block.label), reason=one.reason, tokens=one.tokens, shortened=one.shortened)
            for one in report.blocks
        ],
        blocks_left_out=[pb.BlockReport(label=text(one.label), reason=one.reason) for one in report.blocks_left_out],
        cache_points=[pb.CachePoint(place=one.place, tokens=one.tokens, marked=one.marked) for one in report.cache_points],
        tool_names={text(given): text(written) for given, written in report.tool_names.items()},
        losses=[text(f"{one.tool}: {one.field}: {one.reason}") for one in report.losses],
        faults=map(text, report.faults),
        warnings=map(text, report.warnings),
        history=None if report.history is None else history_report(report.history),
    )


def owed_tool(owed: Owed) -> pb.OwedTool:
    return pb.OwedTool(tool=text(owed.tool), reason=text(owed.reason), obstacle=text(owed.obstacle), rule=_rule(owed.rule))


def tool_verdict(verdict: Verdict) -> pb.ToolVerdict:
    match verdict:
        case Allow(unpaid=unpaid):
            return pb.ToolVerdict(verdict="allow", unpaid=map(owed_tool, unpaid))
        case Refuse(reason=reason, rule=rule):
            return pb.ToolVerdict(verdict="refuse", reason=text(reason), rule=None if rule is None else _rule(rule))
        case AskConsent(of=of, reason=reason, rule=rule):
            return pb.ToolVerdict(verdict="ask_consent", reason=text(reason), asked_of=of, rule=_rule(rule))


def _rule(rule: ToolRule) -> Struct:
    made, fields = Struct(), dict[str, Any](rule_as_dict(rule))
    made.update(fields)
    return made
