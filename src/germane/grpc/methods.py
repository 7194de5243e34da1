"""Methods: the registry of RPCs: reads each from its service's descriptor and joins it to the servicer's method."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from germane.access.key import Right
from germane.grpc.call import RpcCall
from germane.grpc.loop_bridge import LoopBridge

__all__ = ["Method", "Registry", "Servicer"]

Unary = Callable[[Any, RpcCall], Coroutine[Any, Any, Message]]
Streaming = Callable[[Any, RpcCall], AsyncGenerator[Message, None]]


class Servicer(Protocol):
    """Has a method for each RPC of a service, named as the RPC in snake case, such as `get_memory(request, call)`: a coroutine,
    or an async generator where the RPC streams. One servicer may serve several services whose messages agree."""

    @property
    def rights(self) -> Mapping[str, Right]:
        """The right that each RPC requires of a key, by the RPC's name. Every RPC must be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method(grpc.RpcMethodHandler):  # type: ignore[type-arg]
    """One RPC: either `unary` or `stream` is set. gRPC passes bytes in and out; `request` is the type that parses them."""

    name: str
    """The full name, such as /germane.context.v1.MemoryService/Remember."""
    request: type[Message]
    right: Right
    unary: Unary | None = None
    stream: Streaming | None = None


class Registry(grpc.GenericRpcHandler):
    """Finds a method by its full name. Works only behind `ServerInterceptor`, which can run a `Method`."""

    def __init__(self) -> None:
        self._methods: dict[str, Method] = {}
        self._services: list[str] = []

    def add(self, service: ServiceDescriptor, servicer: Servicer, bridge: LoopBridge | None = None) -> None:
        """Registers every RPC of `service`. With `bridge` the servicer's methods run on the engine's loop, otherwise on the
        port's. Raises `LookupError` for an RPC that the servicer has no method or no right for."""
        for rpc in service.methods:
            method = getattr(servicer, _snake_case(rpc.name), None)
            if method is None or rpc.client_streaming:
                raise LookupError(f"{type(servicer).__name__} has nothing for {rpc.full_name}")
            name = f"/{service.full_name}/{rpc.name}"
            self._methods[name] = Method(
                name=name,
                request=GetMessageClass(rpc.input_type),
                right=servicer.rights[rpc.name],
                unary=None if rpc.server_streaming else _on_engine(method, bridge),
                stream=_streamed(method, bridge) if rpc.server_streaming else None,
            )
        self._services.append(service.full_name)

    @property
    def services(self) -> tuple[str, ...]:
        return tuple(self._services)

    @property
    def methods(self) -> tuple[Method, ...]:
        return tuple(self._methods.values())

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Method | None:
        return self._methods.get(handler_call_details.method)


def _on_engine(method: Unary, bridge: LoopBridge | None) -> Unary:
    return method if bridge is None else lambda request, call: bridge.on_engine(lambda: method(request, call))


def _streamed(method: Streaming, bridge: LoopBridge | None) -> Streaming:
    return method if bridge is None else lambda request, call: bridge.stream(lambda: method(request, call))


def _snake_case(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")
