"""Build values: a request that the service has built, and what it says of the calls of a turn, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from germane.grpc.calling.plain_values import struct_of_wire
from germane.grpc.stubs import build_pb2 as pb
from germane.rules.tool_rule import ConsentOf, parse_rule
from germane.rules.verdict import Allow, AskConsent, Owed, Refuse, Verdict

__all__ = ["CheckedCalls", "RemoteRequest", "checked_of_wire", "remote_of_wire"]


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
