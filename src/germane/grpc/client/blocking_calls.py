"""Blocking calls: how the blocking client makes its calls; `germane/grpc/blocking.py` has its methods.

A call waits in the caller's own thread, because a hand-over to another thread can cost a switch interval of the interpreter
(5 ms) while other threads compute. So gRPC's own timer, which runs without the interpreter's lock, keeps the limit; it gets
slightly less than the limit because it goes off late.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import update_wrapper
from inspect import signature
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from germane.api.remote.answer import Answer
from germane.api.remote.fallback import Fallback
from germane.api.remote.operation_call import ClientScope
from germane.errors import StoreUnavailable
from germane.grpc.client.assembly import AssembleCall
from germane.grpc.client.channel import ServerAddress, grpc
from germane.grpc.client.connection import GrpcClient
from germane.grpc.client.rpcs import ClientRpc, statuses_as_fallbacks

P = ParamSpec("P")
T = TypeVar("T")

_TIMER_LATENESS = 0.003
"""Seconds by which gRPC's deadline timer goes off late: 2.8 ms in the median, measured over loopback."""


class ClientCalls(GrpcClient[grpc.Channel]):
    """The part of the client that connects and waits."""

    @property
    def _client(self) -> Self:
        return self

    @classmethod
    def _dial(cls, address: ServerAddress) -> grpc.Channel:
        return address.dial_blocking()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. Calls that run, and later ones, return the caller's own messages. Idempotent."""
        if (channel := self._connection.close()) is not None:
            channel.close()

    def warm(self, patience: float = 1.0) -> bool:
        """Connects ahead of the first call, waiting for at most `patience` seconds. Returns whether the connection is ready;
        never raises."""
        try:
            ready = grpc.channel_ready_future(self._connection.channel())
            try:
                ready.result(timeout=patience)
            finally:
                ready.cancel()
        except Exception:
            return False
        return True

    def _assemble(self, call: AssembleCall) -> Answer:
        try:
            call.copy_messages()
            started = time.monotonic()
            with self._policy.attempt(time.monotonic), statuses_as_fallbacks():
                request = call.build()
                stub = self._connection.stub()
                remaining = self._policy.remaining(started, time.monotonic(), _TIMER_LATENESS)
                response = stub.AssembleContext(request, timeout=remaining, **self._connection.address.call_options)
            return call.answer(response)
        except Exception as error:
            return self._policy.fallback(call.messages, error, call.request_id, call.system)

    def run(self, rpc: ClientRpc[T]) -> T:
        """Runs an RPC, within `patience` seconds, and returns what its `read` makes of the answer. Raises germane's errors,
        `StoreUnavailable` where the service doesn't answer."""
        try:
            channel, options = self._connection.channel(), self._connection.address.call_options
            call = rpc.start(channel, timeout=self._policy.patience, **options)
            return rpc.read(list(call) if rpc.streams else call)
        except grpc.RpcError as error:
            raise rpc.error(error) from None
        except Fallback as error:
            raise StoreUnavailable(f"the service can't be asked: {error}") from None


def never_raises(
    make_call: Callable[Concatenate[ClientScope, P], AssembleCall],
) -> Callable[Concatenate[ClientCalls, P], Answer]:
    """Makes a method that builds the request, sends it, and answers with the caller's messages where that fails."""

    def method(self: ClientCalls, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return self._assemble(make_call(self.scope, *args, **kwargs))

    update_wrapper(method, make_call, updated=())
    method.__name__ = "assemble"
    method.__signature__ = signature(make_call).replace(return_annotation=Answer)  # type: ignore[attr-defined]
    return method
