"""Assembly: the operation `assemble` over HTTP, which answers in time whatever goes wrong (ENGINE-2), as over gRPC.

Where germane fails, the answer is 200 with the caller's own messages; `metadata.fallback_reason` says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from germane.grpc.server.assembly_servicer import Assemblies, unassembled
from germane.grpc.server.call import RpcCall
from germane.grpc.server.operation_servicer import aside
from germane.kinds.remote_values import Assembled
from germane.types.codec import encode
from germane.types.json_text import write_json
from germane.types.limits import check_answer_time
from germane.types.scope import Scope

ASSEMBLE = "AssembleContext"
"""The RPC that the operation has over gRPC."""
_BYTES_OF_MESSAGE = 500
"""About what a message has, by which is decided whether an answer is written in a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What is asked for, as `Assemblies` takes it."""

    agent: str
    user: str
    zone: str
    messages: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any]
    deadline: float


async def assembled(assemblies: Assemblies, scope: Scope, arguments: Mapping[str, Any], call: RpcCall) -> bytes:
    """Returns the context as JSON, for a scope that is authorised. Raises `Refused` and `InvalidInput` for what the caller has
    to correct."""
    options = dict(arguments)
    messages, deadline = options.pop("messages"), options.pop("deadline", None)
    if deadline is not None:
        check_answer_time("deadline", deadline)
    user, zone = scope.user or "", scope.zone
    asked = _Asked(agent=scope.agent, user=user, zone=zone, messages=messages, options=options, deadline=deadline or 0.0)
    context = await assemblies.context(scope.org, asked, call)
    if isinstance(context, str):
        report = unassembled(context)
        told = Assembled(messages=messages, system=options.get("system"), items=(), metadata=report)
    else:
        told = Assembled.of(context)
    call.record.metadata = told.metadata
    return await aside(_BYTES_OF_MESSAGE * len(told.messages), lambda: write_json(encode(told, Assembled)))
