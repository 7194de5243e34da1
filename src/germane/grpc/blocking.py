"""Blocking client: the client of the service for threads, otherwise the same as `germane.grpc.client`.

    with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        answer = client.assemble(messages, model="gpt-4o", user="caroline")

Thread-safe. A call waits in the caller's own thread, because a hand-over to another thread can cost a switch interval of
the interpreter (5 ms) while other threads compute. So gRPC's own timer, which runs without the interpreter's lock, keeps
the limit; it gets slightly less than the limit because it goes off late. After a fork, a client that has made calls works
in the parent only: make a new client in each process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import update_wrapper
from inspect import signature
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from germane.errors import StoreUnavailable
from germane.grpc.answer import Answer
from germane.grpc.client import (
    assembly,
    block_rpcs,
    build_rpcs,
    compose_rpcs,
    document_rpcs,
    event_rpcs,
    graph_rpcs,
    history_rpcs,
    memory_rpcs,
    rpcs,
)
from germane.grpc.client.assembly import AssembleCall, ClientScope
from germane.grpc.client.blocking_handles import ClientVerbs
from germane.grpc.client.channel import ServerAddress, grpc
from germane.grpc.client.connection import ScopedClient
from germane.grpc.client.fallback import Fallback
from germane.grpc.client.rpcs import ClientRpc

P = ParamSpec("P")
T = TypeVar("T")


class _ClientPart:
    """Calls within one scope over the client's connection."""

    def __init__(self, scope: ClientScope, run: Callable[[ClientRpc[Any]], Any]) -> None:
        self._scope, self._run = scope, run


def _part_method(
    make_rpc: Callable[Concatenate[ClientScope, P], ClientRpc[T]],
) -> Callable[Concatenate[_ClientPart, P], T]:
    """Makes a method that runs the RPC. It raises germane's errors, `StoreUnavailable` where the service doesn't answer."""

    def method(self: _ClientPart, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answer: T = self._run(make_rpc(self._scope, *args, **kwargs))
        return answer

    update_wrapper(method, make_rpc)
    return method


class ClientEvents(_ClientPart):
    """As `germane.grpc.client.ClientEvents`."""

    record = _part_method(event_rpcs.record)
    record_many = _part_method(event_rpcs.record_many)
    list = _part_method(event_rpcs.list_events)
    highlights = _part_method(event_rpcs.highlights)


class ClientDocuments(_ClientPart):
    """As `germane.grpc.client.ClientDocuments`."""

    ingest = _part_method(document_rpcs.ingest)
    get = _part_method(document_rpcs.get)
    list = _part_method(document_rpcs.list_documents)
    forget = _part_method(document_rpcs.forget)


class ClientHistory(_ClientPart):
    """As `germane.grpc.client.ClientHistory`."""

    __call__ = _part_method(memory_rpcs.history)
    compact = _part_method(history_rpcs.compact)
    show = _part_method(history_rpcs.show)
    rebuild = _part_method(history_rpcs.rebuild)
    outline = _part_method(history_rpcs.outline)
    summaries = _part_method(history_rpcs.summaries)


class ClientPatterns(_ClientPart):
    """As `germane.grpc.client.ClientPatterns`."""

    learn = _part_method(graph_rpcs.learn)
    match = _part_method(graph_rpcs.match)
    apply_result = _part_method(graph_rpcs.apply_result)


class ClientGraph(_ClientPart):
    """As `germane.grpc.client.ClientGraph`."""

    add = _part_method(graph_rpcs.add)
    get = _part_method(graph_rpcs.get)
    find = _part_method(graph_rpcs.find)
    list = _part_method(graph_rpcs.list_entities)
    relate = _part_method(graph_rpcs.relate)
    unrelate = _part_method(graph_rpcs.unrelate)
    relations = _part_method(graph_rpcs.relations)
    traverse = _part_method(graph_rpcs.traverse)
    salient = _part_method(graph_rpcs.salient)
    chain = _part_method(graph_rpcs.chain)
    path = _part_method(graph_rpcs.path)
    merge = _part_method(graph_rpcs.merge)
    forget = _part_method(graph_rpcs.forget)

    @property
    def patterns(self) -> ClientPatterns:
        """What worked before."""
        return ClientPatterns(self._scope, self._run)


def _block_method(make_rpc: Callable[Concatenate[ClientScope, P], ClientRpc[T]]) -> Callable[Concatenate[ClientBlocks, P], T]:
    """Makes a method that runs the RPC. It raises germane's errors, `StoreUnavailable` where the service doesn't answer."""

    def method(self: ClientBlocks, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answer: T = self._run(make_rpc(self._scope, *args, **kwargs))
        return answer

    update_wrapper(method, make_rpc)
    return method


class ClientBlocks:
    """As `germane.grpc.client.ClientBlocks`."""

    def __init__(self, scope: ClientScope, run: Callable[[ClientRpc[Any]], Any]) -> None:
        self._scope, self._run = scope, run

    create = _block_method(block_rpcs.create)
    get = _block_method(block_rpcs.get)
    value = _block_method(block_rpcs.value)
    list = _block_method(block_rpcs.list_blocks)
    edit = _block_method(block_rpcs.edit)
    set_text = _block_method(block_rpcs.set_text)
    append = _block_method(block_rpcs.append)
    replace = _block_method(block_rpcs.replace)
    undo = _block_method(block_rpcs.undo)
    redo = _block_method(block_rpcs.redo)
    history = _block_method(block_rpcs.history)
    show_version = _block_method(block_rpcs.show_version)
    pin = _block_method(block_rpcs.pin)
    change = _block_method(block_rpcs.change)
    delete = _block_method(block_rpcs.delete)
    rename_folder = _block_method(block_rpcs.rename_folder)
    delete_folder = _block_method(block_rpcs.delete_folder)
    restore = _block_method(block_rpcs.restore)
    share = _block_method(block_rpcs.share)
    unshare = _block_method(block_rpcs.unshare)
    shares = _block_method(block_rpcs.shares)
    consents = _block_method(block_rpcs.consents)
    approve = _block_method(block_rpcs.approve)
    deny = _block_method(block_rpcs.deny)
    archive = _block_method(block_rpcs.archive)
    entry = _block_method(block_rpcs.entry)
    search = _block_method(block_rpcs.search)
    search_archive = _block_method(block_rpcs.search_archive)
    delete_entry = _block_method(block_rpcs.delete_entry)


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


class Client(ScopedClient[grpc.Channel], ClientVerbs):
    """The blocking twin of `germane.grpc.client.Client`, with the same arguments. Use it with `with`."""

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

    assemble = _never_raises(assembly.assemble)
    record = _raises(rpcs.record)
    remember = _raises(rpcs.remember)
    search = _raises(rpcs.search)
    forget = _raises(rpcs.forget)
    feedback = _raises(rpcs.feedback)
    directive = _raises(rpcs.directive)
    memories = _raises(memory_rpcs.memories)
    get = _raises(memory_rpcs.get)
    find = _raises(memory_rpcs.find)
    update = _raises(memory_rpcs.update)
    messages = _raises(memory_rpcs.messages)
    sessions = _raises(memory_rpcs.sessions)
    users = _raises(memory_rpcs.users)
    agents = _raises(memory_rpcs.agents)
    why = _raises(memory_rpcs.why)
    stats = _raises(memory_rpcs.stats)
    check = _raises(memory_rpcs.check)
    build = _raises(build_rpcs.build)
    check_tool_calls = _raises(build_rpcs.check_tool_calls)
    about = _raises(compose_rpcs.about)
    build_context = _raises(compose_rpcs.build_context)
    expand = _raises(compose_rpcs.expand)
    compress = _raises(compose_rpcs.compress)
    estimate_tokens = _raises(compose_rpcs.estimate_tokens)

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
