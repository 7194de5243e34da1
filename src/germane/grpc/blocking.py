"""Blocking client: the client of the service for threads, without asyncio; otherwise the same as `client.py`.

    with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        answer = client.assemble(messages, model="gpt-4o", user="caroline")

Thread-safe. A call waits in the caller's own thread, because a hand-over to another thread can cost a switch interval of the
interpreter (5 ms) while other threads compute. So gRPC's own timer, which runs without the interpreter's lock, keeps the limit;
it gets slightly less than the limit because it goes off late. After a fork, a client that has made calls works in the parent
only: make a new client in each process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import update_wrapper
from inspect import signature
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from germane.errors import StoreUnavailable
from germane.grpc.blocking_blocks import ClientBlocks
from germane.grpc.blocking_parts import (
    ClientDelegations,
    ClientDocuments,
    ClientEvents,
    ClientGraph,
    ClientHistory,
    ClientTasks,
)
from germane.grpc.calling import assemble_call, build_rpcs, compose_rpcs, delegation_rpcs, looking_rpcs, rpcs
from germane.grpc.calling.answer import Answer
from germane.grpc.calling.assemble_call import AssembleCall, ClientScope
from germane.grpc.calling.channel import ServerAddress, grpc
from germane.grpc.calling.fallback_policy import Fallback
from germane.grpc.calling.rpcs import ClientRpc
from germane.grpc.calling.scoped_client import ScopedClient

__all__ = ["Client"]

P = ParamSpec("P")
T = TypeVar("T")

_TIMER_LATENESS = 0.003
"""Seconds by which gRPC's deadline timer goes off late: 2.8 ms in the median, measured over loopback."""


def _never_raises(make_call: Callable[Concatenate[ClientScope, P], AssembleCall]) -> Callable[Concatenate[Client, P], Answer]:
    """Makes a method that builds the request, sends it, and answers with the caller's messages where that fails."""

    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return self._assemble(make_call(self.scope, *args, **kwargs))

    update_wrapper(method, make_call)
    method.__signature__ = signature(make_call).replace(return_annotation=Answer)  # type: ignore[attr-defined]
    return method


def _raises(make_rpc: Callable[Concatenate[ClientScope, P], ClientRpc[T]]) -> Callable[Concatenate[Client, P], T]:
    """Makes a method that runs the RPC. It raises germane's errors, `StoreUnavailable` where the service doesn't answer."""

    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(make_rpc(self.scope, *args, **kwargs))

    update_wrapper(method, make_rpc)
    return method


class Client(ScopedClient[grpc.Channel]):
    """The blocking twin of `germane.grpc.client.Client`, with the same arguments. Use it with `with`."""

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

    assemble = _never_raises(assemble_call.assemble)
    record = _raises(rpcs.record)
    remember = _raises(rpcs.remember)
    search = _raises(rpcs.search)
    forget = _raises(rpcs.forget)
    feedback = _raises(rpcs.feedback)
    directive = _raises(rpcs.directive)
    memories = _raises(looking_rpcs.memories)
    get = _raises(looking_rpcs.get)
    find = _raises(looking_rpcs.find)
    update = _raises(looking_rpcs.update)
    messages = _raises(looking_rpcs.messages)
    sessions = _raises(looking_rpcs.sessions)
    users = _raises(looking_rpcs.users)
    agents = _raises(looking_rpcs.agents)
    why = _raises(looking_rpcs.why)
    stats = _raises(looking_rpcs.stats)
    check = _raises(looking_rpcs.check)
    build = _raises(build_rpcs.build)
    check_tool_calls = _raises(build_rpcs.check_tool_calls)
    about = _raises(compose_rpcs.about)
    build_context = _raises(compose_rpcs.build_context)
    expand = _raises(compose_rpcs.expand)
    compress = _raises(compose_rpcs.compress)
    estimate_tokens = _raises(compose_rpcs.estimate_tokens)
    delegate = _raises(delegation_rpcs.delegate)

    @property
    def blocks(self) -> ClientBlocks:
        """The memory blocks of the client's scope."""
        return ClientBlocks(self.scope, self._run)

    @property
    def events(self) -> ClientEvents:
        """The typed events of the client's scope."""
        return ClientEvents(self.scope, self._run)

    @property
    def documents(self) -> ClientDocuments:
        """The documents of the client's scope."""
        return ClientDocuments(self.scope, self._run)

    @property
    def tasks(self) -> ClientTasks:
        """The task stacks of the client's scope."""
        return ClientTasks(self.scope, self._run)

    @property
    def delegations(self) -> ClientDelegations:
        """The tasks that were given to other agents."""
        return ClientDelegations(self.scope, self._run)

    @property
    def history(self) -> ClientHistory:
        """The long conversations of the client's scope; `history(id)` is the history of a memory."""
        return ClientHistory(self.scope, self._run)

    @property
    def graph(self) -> ClientGraph:
        """The entities, relations and patterns of the client's scope."""
        return ClientGraph(self.scope, self._run)

    def _assemble(self, call: AssembleCall) -> Answer:
        try:
            call.copy_messages()
            started = time.monotonic()
            with self._policy.attempt(time.monotonic):
                request = call.build()
                stub = self._connection.stub()
                remaining = self._policy.remaining(started, time.monotonic(), _TIMER_LATENESS)
                response = stub.AssembleContext(request, timeout=remaining, **self._connection.address.call_options)
            return call.answer(response)
        except Exception as error:
            return self._policy.fallback(call.messages, error, call.request_id, call.system)

    def _run(self, rpc: ClientRpc[T]) -> T:
        try:
            channel, options = self._connection.channel(), self._connection.address.call_options
            call = rpc.start(channel, timeout=self._policy.patience, **options)
            return rpc.read(list(call) if rpc.streams else call)
        except grpc.RpcError as error:
            raise rpc.error(error) from None
        except Fallback as error:
            raise StoreUnavailable(f"the service can't be asked: {error}") from None
