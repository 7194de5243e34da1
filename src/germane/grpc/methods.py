"""Methods: a service's RPCs, read out of its descriptor and joined to what answers them. One implementation may serve several
services whose messages agree."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from germane.access.key import Right
from germane.grpc.call import Call
from germane.grpc.loop_bridge import LoopBridge

__all__ = ["Method", "Registry", "Servicer"]

Unary = Callable[[Any, Call], Coroutine[Any, Any, Message]]
Streaming = Callable[[Any, Call], AsyncGenerator[Message, None]]


class Servicer(Protocol):
    """Has a method for each RPC, named as the RPC in lower case with underscores: `answer(request, call)`, a coroutine, or an
    async generator where the RPC streams."""

    @property
    def rights(self) -> Mapping[str, Right]:
        """By the RPC's name: what a key must allow. None may be left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method(grpc.RpcMethodHandler):  # type: ignore[type-arg]
    """One RPC. gRPC itself hands over bytes and takes bytes; `request` reads them."""

    name: str
    """In full: /germane.context.v1.MemoryService/Remember."""
    request: type[Message]
    right: Right
    unary: Unary | None = None
    stream: Streaming | None = None


class Registry(grpc.GenericRpcHandler):
    """Finds a method by its full name. Of use only behind the gate, which knows what to do with a `Method`."""

    def __init__(self) -> None:
        self._methods: dict[str, Method] = {}
        self._services: list[str] = []

    def add(self, service: ServiceDescriptor, servicer: Servicer, home: LoopBridge | None = None) -> None:
        """Every RPC of `service`, from now on answered by `servicer`: over at `home`, unless it crosses by itself. Raises
        `LookupError` for one it has no right or no answer for."""
        for rpc in service.methods:
            answer = getattr(servicer, _spelt(rpc.name), None)
            if answer is None or rpc.client_streaming:
                raise LookupError(f"{type(servicer).__name__} has nothing for {rpc.full_name}")
            name = f"/{service.full_name}/{rpc.name}"
            self._methods[name] = Method(
                name=name,
                request=GetMessageClass(rpc.input_type),
                right=servicer.rights[rpc.name],
                unary=None if rpc.server_streaming else _crossing(answer, home),
                stream=_streaming(answer, home) if rpc.server_streaming else None,
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


def _crossing(answer: Unary, home: LoopBridge | None) -> Unary:
    return answer if home is None else lambda request, call: home.home(lambda: answer(request, call))


def _streaming(answer: Streaming, home: LoopBridge | None) -> Streaming:
    return answer if home is None else lambda request, call: home.stream(lambda: answer(request, call))


def _spelt(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")
