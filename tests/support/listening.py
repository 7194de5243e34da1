"""Listening: a gRPC server over a real store on a real port, and a client channel to it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from google.protobuf.struct_pb2 import Struct

from germane import Germane
from germane.api.operations import operations
from germane.grpc.handover.siblings import WorkerPlace
from germane.grpc.messages import context_pb2, ibex_pb2, memory_pb2, operation_pb2
from germane.grpc.server.admission import Limits
from germane.grpc.server.authorisation import Keys
from germane.grpc.server.call import RpcObserver
from germane.grpc.server.grpc_server import GrpcServer
from germane.settings.serving import ServiceSettings
from germane.settings.values import Address

__all__ = ["SCOPE", "Wire", "asked", "ibex_asked", "listening", "opened", "patient", "raw", "refused", "said", "struct"]
__all__ += ["answered", "calling"]

SCOPE = memory_pb2.Scope(org_id="acme", agent_id="support")


class Wire:
    """Stubs of all services over one channel."""

    def __init__(self, channel: grpc.aio.Channel, server: GrpcServer) -> None:
        self.channel, self.server = channel, server
        self.assembly = context_pb2.ContextAssemblyServiceStub(channel)
        self.ibex = ibex_pb2.ContextAssemblyServiceStub(channel)
        self.memories = memory_pb2.MemoryServiceStub(channel)
        self.events = memory_pb2.MessageServiceStub(channel)
        self.operations = operation_pb2.OperationServiceStub(channel)


def patient(**given: Any) -> ServiceSettings:
    """Settings of a service on a free port whose answers are due in 30 s by default, so that on a busy machine they are what
    they are on an idle one."""
    return ServiceSettings(**{"grpc": Address(host="127.0.0.1", port=0), "http": None, "deadline_ms": 30_000.0, **given})


@asynccontextmanager
async def listening(
    germane: Germane,
    *,
    keys: Keys | None = None,
    credentials: grpc.ChannelCredentials | None = None,
    metadata: Mapping[str, str] | None = None,
    observer: RpcObserver | None = None,
    limits: Limits | None = None,
    worker: WorkerPlace | None = None,
    **settings: Any,
) -> AsyncIterator[Wire]:
    """Starts a server on a free port, and stops it at the end. `settings` are fields of `ServiceSettings`; `metadata` is sent
    with every call."""
    server = GrpcServer(germane, patient(**settings), keys=keys, limits=limits, worker=worker)
    await server.start(observer)
    target, options = f"localhost:{server.address.port}", [("grpc.max_receive_message_length", -1)]
    if credentials is None:
        channel = grpc.aio.insecure_channel(target, options=options)
    else:
        channel = grpc.aio.secure_channel(target, credentials, options=options)
    try:
        async with channel:
            yield Wire(channel, server)
    finally:
        await server.stop(0)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Germane]:
    """A store in a file that holds a directive and a memory."""
    async with Germane.open(folder / "germane.db", freeze=False) as germane:
        agent = germane.agent("support", org="acme")
        await agent.directive("Answer kindly.")
        await agent.remember("The warehouse opens at seven", kind="note")
        await agent.warm()
        yield germane


def said(text: str, role: str = "user", **fields: Any) -> context_pb2.Message:
    return context_pb2.Message(role=role, content=text, **fields)


def asked(*messages: context_pb2.Message, **fields: Any) -> context_pb2.AssembleContextRequest:
    given: dict[str, Any] = {"org_id": "acme", "agent_id": "support", "model": "gpt-4o"} | fields
    return context_pb2.AssembleContextRequest(messages=messages or [said("When does the warehouse open?")], **given)


def ibex_asked(text: str = "When does the warehouse open?") -> ibex_pb2.AssembleContextRequest:
    messages = [ibex_pb2.Message(role="user", content=text)]
    return ibex_pb2.AssembleContextRequest(org_id="acme", agent_id="support", model="gpt-4o", messages=messages)


def struct(**values: Any) -> Struct:
    found = Struct()
    found.update(values)
    return found


def raw(wire: Wire, rpc: str, *, stream: bool = False) -> Any:
    """The RPC with this full name; it takes and returns serialised bytes."""
    return (wire.channel.unary_stream if stream else wire.channel.unary_unary)(rpc)


def calling(
    wire: Wire, operation: str, *, arguments: bytes = b"", whose: memory_pb2.Scope = SCOPE, metadata: Any = None, **given: Any
) -> Any:
    """A call of an operation with these arguments, or with bytes that stand for them."""
    fields: Any = {"scope": whose, "operation": operation, "arguments": arguments or json.dumps(given).encode()}
    if operations()[operation].right == "read":
        return wire.operations.Read(operation_pb2.ReadRequest(**fields), metadata=metadata)
    return wire.operations.Write(operation_pb2.WriteRequest(**fields), metadata=metadata)


async def answered(call: Any) -> Any:
    """The result of an operation that `calling` calls, as JSON."""
    return json.loads(b"".join([part.result async for part in call]))


async def refused(call: Any) -> tuple[str, str]:
    """Awaits a call that fails, and returns the name of its status and its details."""
    try:
        if hasattr(call, "__aiter__"):
            async for _ in call:
                pass
        else:
            await call
    except grpc.aio.AioRpcError as error:
        return error.code().name, error.details() or ""
    return "OK", ""
