"""Hand over: the RPC `AssembleContext`, answered by this worker, or by a sibling that runs fewer assemblies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message_factory import GetMessageClass

from germane.clock import Clock
from germane.errors import InvalidInput
from germane.grpc.answer import metadata_from_wire
from germane.grpc.handover.sibling_link import SiblingLost
from germane.grpc.handover.siblings import Siblings
from germane.grpc.messages import context_pb2
from germane.grpc.server.assembly_servicer import GRACE, AssemblyServicer, Request, Response
from germane.grpc.server.authorisation import AgentResolver
from germane.grpc.server.call import RpcCall, UnobservedRpc
from germane.grpc.server.refusals import Refused, refusal
from germane.kinds.keys.value import Right
from germane.types.context import Metadata
from germane.types.plan import uuid7


class HandOver:
    """The assembly servicer `own` of a worker that has siblings; `service` describes its contract.

    The caller's key is verified here, and the call is observed here. A sibling that ends during a call, or is late, costs no
    answer: this worker assembles, with the time that is left.
    """

    def __init__(
        self,
        own: AssemblyServicer,
        service: ServiceDescriptor,
        resolver: AgentResolver,
        siblings: Siblings,
        clock: Clock,
    ) -> None:
        rpc = service.methods_by_name["AssembleContext"]
        self._request = cast("type[Request]", GetMessageClass(rpc.input_type))
        self._response = cast("type[Response]", GetMessageClass(rpc.output_type))
        self._own, self._resolver, self._siblings, self._clock = own, resolver, siblings, clock
        self._kind = siblings.add(self.take)

    @property
    def rights(self) -> Mapping[str, Right]:
        return self._own.rights

    @property
    def paths(self) -> Mapping[str, Mapping[str, str]]:
        """Those of the own servicer."""
        return self._own.paths

    async def assemble_context(self, request: Request, call: RpcCall) -> Response:
        """Raises `Refused` and `InvalidInput` for a request that its caller has to correct."""
        if (sibling := self._siblings.less_busy()) is not None:
            request.org_id = self._resolver.authorise(call, org=request.org_id, agent=request.agent_id)
            request.request_id = request.request_id or uuid7(int(self._clock.now().timestamp() * 1000))
            asked = getattr(request, "deadline_ms", 0) / 1000
            left = self._own.due(call, asked) + GRACE - self._clock.steady()
            try:
                data = await sibling.ask(
                    self._kind, request.SerializeToString(), arrived=call.arrived, ends=call.ends, seconds=left
                )
            except SiblingLost:
                self._siblings.handed_over["lost"] += 1
            except Refused:
                self._siblings.handed_over["answered"] += 1
                raise
            else:
                self._siblings.handed_over["answered"] += 1
                response = self._response.FromString(data)
                call.record.request_id, call.record.metadata = request.request_id, _report(response)
                return response
        with self._siblings.working():
            return await self._own.assemble_context(request, call)

    async def take(self, data: bytes, arrived: float, ends: float | None) -> bytes:
        """Answers a call that a sibling handed over. The sibling has verified the key, and observes the call."""
        call = RpcCall("read", UnobservedRpc(), arrived=arrived, ends=ends)
        request = self._request.FromString(data)
        with self._siblings.working():
            try:
                response = await self._own.assemble_context(request, call)
            except InvalidInput as error:
                raise Refused(*refusal(error, request, paths=self.paths["AssembleContext"])) from None
        written: bytes = response.SerializeToString()
        return written


def _report(response: Response) -> Metadata:
    """Returns a response's metadata as the engine's, for metrics and log."""
    wire = response.metadata
    if isinstance(wire, context_pb2.InjectionMetadata):
        return metadata_from_wire(wire)
    values = {field.name: getattr(wire, field.name) for field in wire.DESCRIPTOR.fields}
    return Metadata(**values | {"memory_ids": tuple(wire.memory_ids)})
