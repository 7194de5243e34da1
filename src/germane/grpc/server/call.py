"""RPC call: one RPC while it runs, and the registry of all RPCs.

A call has its arrival, deadline and grant, and the record that the observer reads.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from germane.grpc.server.port import LoopBridge
from germane.kinds.keys.value import Grant, Right
from germane.types.context import Metadata

RESERVE = 0.008
"""Seconds before the caller's own deadline at which the answer must be ready, because it still has to travel (ENGINE-2)."""


class RpcRecord(Protocol):
    """What an observer records of one RPC. It never holds content or keys.

    `code` is the name of the gRPC status, `operation` that of the operation that `Read` or `Write` calls. Of `error` the
    observer may use the type and the place only.
    """

    org: str
    agent: str
    request_id: str
    operation: str
    code: str
    metadata: Metadata | None
    error: BaseException | None


class RpcObserver(Protocol):
    """Observes every RPC, for metrics, logs and spans. `germane.service.observer.Observer` is one."""

    def call(
        self, method: str, headers: Mapping[str, str] | None = ..., *, waited: float = ...
    ) -> AbstractContextManager[RpcRecord]:
        """Surrounds one RPC; whoever runs it fills in the record.

        `method` is the short name, such as `Remember`. `headers` are the tracing headers of the call. `waited` is how many
        seconds the call has already taken, until its key was verified.
        """


class UnobservedRpc:
    """The record of a server without an observer."""

    __slots__ = ("agent", "code", "error", "metadata", "operation", "org", "request_id")

    def __init__(self) -> None:
        self.org = self.agent = self.request_id = self.operation = ""
        self.code = "OK"
        self.metadata: Metadata | None = None
        self.error: BaseException | None = None


_TRACING_HEADERS = ("traceparent", "tracestate")


@contextmanager
def observed(
    observer: RpcObserver | None, method: str, headers: Iterable[tuple[str, str | bytes]] | None, waited: float
) -> Iterator[RpcRecord]:
    """Surrounds a call for the observer, if there is one; of the headers it gets those that name the caller's span. The record
    loses its error afterwards: the error's traceback holds the frames of the call, with its request, and they hold the record,
    so that all of it would wait for the garbage collector."""
    record: RpcRecord = UnobservedRpc()
    try:
        if observer is None:
            yield record
            return
        tracing = {name: value for name, value in headers or () if name in _TRACING_HEADERS and isinstance(value, str)}
        with observer.call(method, tracing, waited=waited) as record:
            yield record
    finally:
        record.error = None


class RpcCall:
    """One RPC; mutable, never shared between calls.

    `arrived` and `ends` (the caller's own deadline, None without one) are seconds of the clock's `steady`. `right` is what the
    method requires of a key. `grant` is what the caller's key allows, None where the server requires no keys.
    """

    __slots__ = ("arrived", "ends", "grant", "names", "record", "right")

    def __init__(self, right: Right, record: RpcRecord, *, arrived: float, ends: float | None) -> None:
        self.right, self.record, self.arrived, self.ends = right, record, arrived, ends
        self.grant: Grant | None = None
        self.names: frozenset[object] = frozenset()
        """Names in the request, which the text of an error may quote."""

    def due(self, seconds: float) -> float:
        """Returns when the answer must be ready: `seconds` after the arrival, or `RESERVE` before the caller's own deadline,
        whichever is earlier."""
        own = self.arrived + seconds
        return own if self.ends is None else min(own, self.ends - RESERVE)


def may_read(call: RpcCall) -> bool:
    """Whether the caller's key allows reading what the call is about, once its org and agent are authorised."""
    return call.grant is None or call.grant.allows("read", org=call.record.org, agent=call.record.agent)


def may_write(call: RpcCall) -> bool:
    """As `may_read`, of writing."""
    return call.grant is None or call.grant.allows("write", org=call.record.org, agent=call.record.agent)


# The registry reads each RPC from its service's descriptor and joins it to the servicer's method.


Unary = Callable[[Any, RpcCall], Coroutine[Any, Any, Message]]
Streaming = Callable[[Any, RpcCall], AsyncGenerator[Message, None]]


class Servicer(Protocol):
    """Has a method for each RPC of a service, named as the RPC in snake case, such as `get_memory(request, call)`: a coroutine,
    or an async generator where the RPC streams. One servicer may serve several services whose messages agree."""

    @property
    def rights(self) -> Mapping[str, Right]:
        """The right that each RPC requires of a key, by the RPC's name. Every RPC must be there."""

    @property
    def paths(self) -> Mapping[str, Mapping[str, str]]:
        """The request's fields by the names of the library's arguments, by the RPC's name. Errors name the fields. A field
        under the empty name holds all arguments that aren't listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method(grpc.RpcMethodHandler):  # type: ignore[type-arg]
    """One RPC: either `unary` or `stream` is set. gRPC passes bytes in and out; `request` is the type that parses them."""

    name: str
    """The full name, such as /germane.context.v1.MemoryService/Remember."""
    request: type[Message]
    right: Right
    unary: Unary | None = None
    stream: Streaming | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    """The request's fields by the names of the library's arguments, as far as they differ."""


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
                paths=servicer.paths.get(rpc.name, {}),
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
