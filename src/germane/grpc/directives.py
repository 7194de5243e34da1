"""Directives: the RPCs of `DirectiveService`: an agent's standing instructions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from germane.access.key import Right
from germane.grpc.agent_resolver import AgentResolver
from germane.grpc.call import Call
from germane.grpc.stubs import memory_pb2 as pb
from germane.grpc.to_wire import text

__all__ = ["Directives"]


class Directives:
    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"GetDirective": "read", "SetDirective": "write"})

    def __init__(self, reach: AgentResolver) -> None:
        self._reach = reach

    async def get_directive(self, request: pb.GetDirectiveRequest, call: Call) -> pb.GetDirectiveResponse:
        return pb.GetDirectiveResponse(text=text(await self._reach.scoped(request.scope, call).directive()))

    async def set_directive(self, request: pb.SetDirectiveRequest, call: Call) -> pb.SetDirectiveResponse:
        agent = self._reach.scoped(request.scope, call)
        return pb.SetDirectiveResponse(text=text(await agent.directive(request.text)))
