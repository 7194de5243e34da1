"""Operation servicer: the two RPCs that call any operation of the table by its name."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import fields, is_dataclass
from inspect import Parameter
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias, TypeVar

import grpc

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.api.operations import Operation, operations
from germane.grpc.messages import operation_pb2 as pb
from germane.grpc.server.authorisation import AgentResolver, denied
from germane.grpc.server.call import RpcCall, may_read, may_write
from germane.grpc.server.port import LoopBridge
from germane.grpc.server.refusals import Refused, invalid
from germane.kinds.keys.value import Right
from germane.types.codec import encode
from germane.types.json_text import read_object, write_json
from germane.types.operation import without_content

T = TypeVar("T")
_Request: TypeAlias = pb.ReadRequest | pb.WriteRequest

_PART_BYTES = 1 << 20
"""Bytes of a result that one response holds."""
INLINE_BYTES = 50_000
"""Bytes of arguments up to which they are read on the event loop."""
_INLINE_THINGS = 20
"""Things in a result up to which it is written on the event loop: each takes up to 80 µs."""
_NAMES = frozenset(
    {"id", "ids", "label", "session", "model", "provider", "strategy", "kind", "type", "permission", "folder", "block"}
)
"""Arguments whose values are names, which the text of an error may quote."""


class OperationServicer:
    """Runs on the port's loop; each operation runs on the engine's, with one way there and back whatever its result's size.
    Raises `Refused` and `InvalidInput` for a request that its caller has to correct, and
    germane's other errors."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType({"Read": "read", "Write": "write"})

    paths: ClassVar[Mapping[str, Mapping[str, str]]] = MappingProxyType({})

    def __init__(self, resolver: AgentResolver, bridge: LoopBridge) -> None:
        self._resolver, self._bridge, self._operations = resolver, bridge, operations()

    async def read(self, request: pb.ReadRequest, call: RpcCall) -> AsyncGenerator[pb.ReadResponse, None]:
        result = await self._bridge.on_engine(lambda: self._called(request, call))
        for start in range(0, len(result), _PART_BYTES):
            yield pb.ReadResponse(result=result[start : start + _PART_BYTES])

    async def write(self, request: pb.WriteRequest, call: RpcCall) -> AsyncGenerator[pb.WriteResponse, None]:
        result = await self._bridge.on_engine(lambda: self._called(request, call))
        for start in range(0, len(result), _PART_BYTES):
            yield pb.WriteResponse(result=result[start : start + _PART_BYTES])

    async def _called(self, request: _Request, call: RpcCall) -> bytes:
        """Returns the result as JSON."""
        operation = self._named(request.operation, call)
        agent = self._resolver.scoped(request.scope, call)
        arguments = request.arguments
        return await answered(
            operation,
            lambda: read_object(arguments, "arguments"),
            len(arguments),
            agent=agent,
            call=call,
            germane=self._resolver.germane,
        )

    def _named(self, name: str, call: RpcCall) -> Operation:
        operation = self._operations.get(name)
        if operation is None:
            raise Refused(grpc.StatusCode.UNIMPLEMENTED, "operation is none of this server's")
        call.record.operation = operation.name
        if operation.declared.rpc:
            raise invalid(f"operation: {name} has an RPC of its own: call {operation.declared.rpc}")
        if operation.right != call.right:
            raise invalid(f"operation: {name} {operation.right}s: call {operation.right.capitalize()}")
        return operation


async def answered(
    operation: Operation,
    read: Callable[[], Mapping[str, Any]],
    size: int,
    *,
    agent: Agent,
    call: RpcCall,
    germane: Germane,
) -> bytes:
    """Runs an operation on the engine's loop, for a caller whose scope is authorised, and returns the result as JSON.

    `read` returns the arguments as JSON values, from `size` bytes. Raises `Refused` for what the key doesn't allow, and
    germane's errors."""
    readable = may_read(call)
    if operation.declared.also_reads and not readable:
        raise denied()
    arguments = await aside(size > INLINE_BYTES, lambda: operation.arguments(read()))
    call.names = names_in(operation, arguments)
    _check_reach(operation, arguments, call)
    result = await operation.run(agent, arguments, germane=germane, keep=may_write(call))
    shown = result if readable else without_content(result)
    return await aside(_count(shown) > _INLINE_THINGS, lambda: write_json(encode(shown, operation.result)))


def _check_reach(operation: Operation, arguments: Mapping[str, Any], call: RpcCall) -> None:
    """Refuses an operation that reaches into the whole org, or into another agent, which the key doesn't allow."""
    if (grant := call.grant) is None:
        return
    if operation.declared.of_org and not grant.allows_all(call.right, org=call.record.org):
        raise denied()
    other = arguments.get(operation.declared.of_agent or "")
    if isinstance(other, str) and not grant.allows(call.right, org=call.record.org, agent=other):
        raise denied()


async def aside(long: bool, work: Callable[[], T]) -> T:
    """Does long work in a thread, so that the loop stays free for the calls that a model waits for."""
    return await asyncio.to_thread(work) if long else work()


def _count(result: Any) -> int:
    """How many things a result holds: of a page, those of its longest list."""
    parts = [getattr(result, one.name) for one in fields(result)] if is_dataclass(result) else [result]
    return max((len(one) for one in parts if isinstance(one, tuple | list)), default=0)


def names_in(operation: Operation, arguments: Mapping[str, Any]) -> frozenset[object]:
    """Returns the values of arguments that are names, and the names of what `**kwargs` take: the text of an error may show
    them."""
    found: set[object] = set()
    for parameter in operation.parameters.values():
        if parameter.kind is Parameter.VAR_KEYWORD:
            found.update(arguments.get(parameter.name, ()))
    for name in _NAMES & arguments.keys():
        value = arguments[name]
        found.update(one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))
    return frozenset(found)
