"""Directive servicer: the RPCs of `DirectiveService`, which read and set an agent's standing instructions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from germane.access.key import Right
from germane.grpc.agent_resolver import AgentResolver
from germane.grpc.call import RpcCall
from germane.grpc.stubs import memory_pb2 as pb
from germane.grpc.to_wire import text

__all__ = ["DirectiveServicer"]


class DirectiveServicer:
    """Runs on the engine's loop. Raises `Refused` and `InvalidInput` for a request that its caller has to correct."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"GetDirective": "read", "SetDirective": "write"})

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def get_directive(self, request: pb.GetDirectiveRequest, call: RpcCall) -> pb.GetDirectiveResponse:
        return pb.GetDirectiveResponse(text=text(await self._resolver.scoped(request.scope, call).directive()))

    async def set_directive(self, request: pb.SetDirectiveRequest, call: RpcCall) -> pb.SetDirectiveResponse:
        agent = self._resolver.scoped(request.scope, call)
        return pb.SetDirectiveResponse(text=text(await agent.directive(request.text)))
