"""Client: the asyncio client of the service, whose `assemble` answers in time and never raises.

    async with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        answer = await client.assemble(messages, model="gpt-4o", user="caroline")

Whatever goes wrong in `assemble`, the answer holds the caller's own messages and a reason: `grpc_error:<CODE>` for a gRPC
status, `client_error:<what>` for a failure inside the client, `client_breaker_open` while calls are stopped because the
server hangs. Only the cancellation of the caller's own task and the interpreter's exit exceptions pass through. The client
never retries. The other methods raise germane's errors.

One client serves one event loop and any number of tasks; `germane.grpc.blocking` has the same client for threads. Neither
loads the engine, a store, or numpy.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine
from contextlib import suppress
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
from germane.grpc.client.channel import ServerAddress, grpc
from germane.grpc.client.connection import ScopedClient
from germane.grpc.client.fallback import Fallback
from germane.grpc.client.handles import ClientVerbs
from germane.grpc.client.rpcs import ClientRpc

P = ParamSpec("P")
T = TypeVar("T")


class _ClientPart:
    """Calls within one scope over the client's connection."""

    def __init__(self, scope: ClientScope, run: Callable[[ClientRpc[Any]], Awaitable[Any]]) -> None:
        self._scope, self._run = scope, run


def _part_method(
    make_rpc: Callable[Concatenate[ClientScope, P], ClientRpc[T]],
) -> Callable[Concatenate[_ClientPart, P], Coroutine[Any, Any, T]]:
    """Makes a method that runs the RPC. It raises germane's errors, `StoreUnavailable` where the service doesn't answer."""

    async def method(self: _ClientPart, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answer: T = await self._run(make_rpc(self._scope, *args, **kwargs))
        return answer

    update_wrapper(method, make_rpc)
    return method


class ClientEvents(_ClientPart):
    """The methods of `germane.Agent.events`, with the same arguments and values; long texts in a list are cut."""

    record = _part_method(event_rpcs.record)
    record_many = _part_method(event_rpcs.record_many)
    list = _part_method(event_rpcs.list_events)
    highlights = _part_method(event_rpcs.highlights)


class ClientDocuments(_ClientPart):
    """The methods of `germane.Agent.documents`, with the same arguments and values, but for paths and folders."""

    ingest = _part_method(document_rpcs.ingest)
    get = _part_method(document_rpcs.get)
    list = _part_method(document_rpcs.list_documents)
    forget = _part_method(document_rpcs.forget)


class ClientHistory(_ClientPart):
    """The methods of `germane.Agent.history`. Called itself, it returns what a memory superseded and what superseded it."""

    __call__ = _part_method(memory_rpcs.history)
    compact = _part_method(history_rpcs.compact)
    show = _part_method(history_rpcs.show)
    rebuild = _part_method(history_rpcs.rebuild)
    outline = _part_method(history_rpcs.outline)
    summaries = _part_method(history_rpcs.summaries)


class ClientPatterns(_ClientPart):
    """The methods of `germane.Agent.graph.patterns`."""

    learn = _part_method(graph_rpcs.learn)
    match = _part_method(graph_rpcs.match)
    apply_result = _part_method(graph_rpcs.apply_result)


class ClientGraph(_ClientPart):
    """The methods of `germane.Agent.graph`, but for `salient`, `mentions` and `chain`, with the same arguments and values."""

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


def _block_method(
    make_rpc: Callable[Concatenate[ClientScope, P], ClientRpc[T]],
) -> Callable[Concatenate[ClientBlocks, P], Coroutine[Any, Any, T]]:
    """Makes a method that runs the RPC. It raises germane's errors, `StoreUnavailable` where the service doesn't answer."""

    async def method(self: ClientBlocks, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answer: T = await self._run(make_rpc(self._scope, *args, **kwargs))
        return answer

    update_wrapper(method, make_rpc)
    return method


class ClientBlocks:
    """The methods of `germane.Agent.blocks`, with the same arguments and values, but for `subscribe`."""

    def __init__(self, scope: ClientScope, run: Callable[[ClientRpc[Any]], Awaitable[Any]]) -> None:
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


_ABANDONED: set[asyncio.Task[Any]] = set()
"""Cancelled calls that haven't ended yet: asyncio itself holds tasks by weak references only."""


def _never_raises(
    make_call: Callable[Concatenate[ClientScope, P], AssembleCall],
) -> Callable[Concatenate[Client, P], Coroutine[Any, Any, Answer]]:
    """Makes a method that builds the request, sends it, and answers with the caller's messages where that fails."""

    async def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return await self._assemble(make_call(self.scope, *args, **kwargs))

    update_wrapper(method, make_call)
    method.__signature__ = signature(make_call).replace(return_annotation=Answer)  # type: ignore[attr-defined]
    return method


def _raises(
    make_rpc: Callable[Concatenate[ClientScope, P], ClientRpc[T]],
) -> Callable[Concatenate[Client, P], Coroutine[Any, Any, T]]:
    """Makes a method that runs the RPC. It raises germane's errors, `StoreUnavailable` where the service doesn't answer."""

    async def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(make_rpc(self.scope, *args, **kwargs))

    update_wrapper(method, make_rpc)
    return method


class Client(ScopedClient[grpc.aio.Channel], ClientVerbs):
    """A client of the service at `target`, an address such as `127.0.0.1:7411`.

    `org`, `agent` and `user` are the scope of calls that don't name another. `zone` is the time zone of naive datetimes.
    `limit` bounds a call of `assemble` in seconds, with connecting and writing the request; `patience` bounds any other call.
    `key` is an API key. TLS is on with `tls`, `roots`, `certificate` (with `certificate_key`) or `server_name`; without TLS a
    key is sent to this machine only, unless `plaintext` allows other hosts too, for networks that are trusted or encrypt by
    themselves. After `breaker` calls in a row that hung, no call is made for `cooldown` seconds; 0 switches that off.

    Raises `InvalidInput` for an argument that can't be used. A server that can't be reached isn't an error here.
    """

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

    async def _assemble(self, call: AssembleCall) -> Answer:
        try:
            call.copy_messages()
            loop = asyncio.get_running_loop()
            started = loop.time()
            with self._policy.attempt(loop.time):
                request = call.build()
                stub = self._connection.stub(loop)
                remaining = self._policy.remaining(started, loop.time())
                rpc = stub.AssembleContext(request, timeout=remaining, **self._connection.address.call_options)
                response = await self._within(rpc, remaining)
            return call.answer(response)
        except Exception as error:
            return self._policy.fallback(call.messages, error, call.request_id, call.system)

    async def _run(self, rpc: ClientRpc[T]) -> T:
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
                task.cancel()  # which cancels the call
                _ABANDONED.add(task)
                task.add_done_callback(_ABANDONED.discard)
        if not task.done():
            raise Fallback("grpc_error:DEADLINE_EXCEEDED")
        if task.cancelled():  # by gRPC, when the channel was closed: the caller's own task wasn't cancelled
            raise Fallback("grpc_error:CANCELLED")
        return task.result()


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
