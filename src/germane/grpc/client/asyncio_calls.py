"""Asyncio calls: how the asyncio client makes its calls; its methods are in `germane/grpc/client/__init__.py`.

Whatever goes wrong in `assemble`, the answer holds the caller's own messages and a reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import update_wrapper
from inspect import signature
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

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

_ABANDONED: set[asyncio.Task[Any]] = set()
"""Cancelled calls that haven't ended yet: asyncio itself holds tasks by weak references only."""


class ClientCalls(GrpcClient[grpc.aio.Channel]):
    """The part of the client that connects and waits."""

    @property
    def _client(self) -> Self:
        return self

    @classmethod
    def _dial(cls, address: ServerAddress) -> grpc.aio.Channel:
        return address.dial_asyncio()

    async def __aenter__(self) -> Self:
        """Starts connecting and returns without waiting for it."""
        with suppress(Exception):
            self._connection.channel(asyncio.get_running_loop()).get_state(try_to_connect=True)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection. Calls that run, and later ones, return the caller's own messages. Idempotent."""
        if (channel := self._connection.close()) is not None:
            await channel.close()

    async def warm(self, patience: float = 1.0) -> bool:
        """Connects ahead of the first call, waiting for at most `patience` seconds. Returns whether the connection is ready;
        never raises."""
        try:
            return bool(await self._within(_ready(self._connection.channel(asyncio.get_running_loop())), patience))
        except Exception:
            return False

    async def _assemble(self, call: AssembleCall) -> Answer:
        try:
            call.copy_messages()
            loop = asyncio.get_running_loop()
            started = loop.time()
            with self._policy.attempt(loop.time), statuses_as_fallbacks():
                request = call.build()
                stub = self._connection.stub(loop)
                remaining = self._policy.remaining(started, loop.time())
                rpc = stub.AssembleContext(request, timeout=remaining, **self._connection.address.call_options)
                response = await self._within(rpc, remaining)
            return call.answer(response)
        except Exception as error:
            return self._policy.fallback(call.messages, error, call.request_id, call.system)

    async def run(self, rpc: ClientRpc[T]) -> T:
        """Runs an RPC, within `patience` seconds, and returns what its `read` makes of the answer. Raises germane's errors,
        `StoreUnavailable` where the service doesn't answer."""
        patience = self._policy.patience
        try:
            channel = self._connection.channel(asyncio.get_running_loop())
            call = rpc.start(channel, timeout=patience, **self._connection.address.call_options)
            return rpc.read(await self._within(_collected(call) if rpc.streams else call, patience))
        except grpc.RpcError as error:
            raise rpc.error(error) from None
        except Fallback as error:
            raise StoreUnavailable(f"the service can't be asked: {error}") from None

    async def _within(self, call: Awaitable[T], seconds: float) -> T:
        """Returns the result of `call`. After `seconds` it cancels the call, doesn't wait for it to end, and raises `Fallback`.

        gRPC gets the same time limit, but a hang inside gRPC must not hold the caller.
        """
        task = asyncio.ensure_future(_outcome(call))
        task.add_done_callback(_retrieve_exception)
        try:
            await asyncio.wait([task], timeout=seconds)
        finally:
            if not task.done():
                task.cancel()
                _ABANDONED.add(task)
                task.add_done_callback(_ABANDONED.discard)
        if not task.done():
            raise Fallback("grpc_error:DEADLINE_EXCEEDED")
        if task.cancelled():  # by gRPC, when the channel was closed: the caller's own task wasn't cancelled
            raise Fallback("grpc_error:CANCELLED")
        return task.result()


def never_raises(
    make_call: Callable[Concatenate[ClientScope, P], AssembleCall],
) -> Callable[Concatenate[ClientCalls, P], Coroutine[Any, Any, Answer]]:
    """Makes a method that builds the request, sends it, and answers with the caller's messages where that fails."""

    async def method(self: ClientCalls, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return await self._assemble(make_call(self.scope, *args, **kwargs))

    update_wrapper(method, make_call, updated=())
    method.__name__ = "assemble"
    method.__signature__ = signature(make_call).replace(return_annotation=Answer)  # type: ignore[attr-defined]
    return method


async def _outcome(call: Awaitable[T]) -> T:
    if (response := await call) is None:  # gRPC returns None for a response that it couldn't decode
        raise Fallback("grpc_error:INTERNAL")
    return response


async def _ready(channel: grpc.aio.Channel) -> bool:
    await channel.channel_ready()
    return True


async def _collected(responses: AsyncIterable[T]) -> list[T]:
    return [response async for response in responses]


def _retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Keeps asyncio from logging the exception of an abandoned call as never retrieved."""
    if not task.cancelled():
        task.exception()
