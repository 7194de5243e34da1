"""Interceptor: admits every call, runs it, maps its errors to statuses, and informs the observer.

The call is admitted before anything of its request is read. Errors become statuses without content; gRPC by itself would
send the text of an exception to the caller.

gRPC reads the request of a unary call before it calls the handler, however long that takes and however large the request
is. A handler for a stream of requests decides itself when to read. So every RPC gets such a handler here, also where its
contract says unary: on the wire there is no difference. HTTP/2 flow control holds back what hasn't been read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message
from grpc_health.v1 import health_pb2

from germane.errors import StoreError
from germane.grpc.server.admission import Admission, Evicted, Limits, OrgSlots, Ports, exhausted
from germane.grpc.server.call import Method, RpcCall, RpcObserver, RpcRecord, observed
from germane.grpc.server.port import LOOKAHEAD_BYTES
from germane.grpc.server.refusals import Refused, Status, invalid, refusal, trailers

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
CallMetadata = Iterable[tuple[str, str | bytes]] | None

_CALLER_ERRORS = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.PERMISSION_DENIED)
"""Statuses of calls that their caller has to correct; refusing these is rate-limited."""


class ServerInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the handler of every RPC. For the port's loop."""

    def __init__(self, ports: Ports, observer: RpcObserver | None = None) -> None:
        self._admission, self._slots, self._limits = ports.admission, ports.slots, ports.limits
        self._clock, self._pace, self._observer = ports.clock, ports.pace, observer
        self._health = Health(ports.admission, ports.slots, ports.limits)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopping = False

    async def idle(self) -> None:
        """Returns when no call runs. Calls of health and reflection don't count, because their clients keep them open."""
        await self._idle.wait()

    def end(self) -> None:
        """Ends the calls that still run with UNAVAILABLE, health watches included."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        arrived = self._clock.steady()
        if (task := asyncio.current_task()) is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        handler = await continuation(handler_call_details)
        metadata: CallMetadata = handler_call_details.invocation_metadata
        if isinstance(handler, Method):
            return self._rpc_handler(handler, metadata, arrived)
        if handler is None:
            self._slots.count_refusal("unknown_method")
            return None
        if handler.stream_stream is not None:
            return self._reflection_handler(handler, metadata)
        return self._health_handler(handler, metadata)

    def _rpc_handler(self, method: Method, metadata: CallMetadata, arrived: float) -> Handler:
        async def answer(_: object, context: Context) -> bytes | None:
            return await self._answer(method, metadata, arrived, context)

        if method.stream is not None:
            return grpc.stream_stream_rpc_method_handler(answer)
        return grpc.stream_unary_rpc_method_handler(answer)

    async def _answer(self, method: Method, metadata: CallMetadata, arrived: float, context: Context) -> bytes | None:
        self._running += 1
        self._idle.clear()
        try:
            try:
                answer, status = await self._admitted(method, metadata, arrived, context)
            except asyncio.CancelledError as error:
                if _cancelled() and not self._stopping:
                    raise  # the caller cancelled
                answer, status = None, refusal(_server_stops() if self._stopping else error)
            except Exception as error:  # not admitted: counted by its reason, but not observed
                answer, status = None, refusal(error)
            if status is not None:
                await _refuse(context, status)
            return answer
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _admitted(
        self, method: Method, metadata: CallMetadata, arrived: float, context: Context
    ) -> tuple[bytes | None, Status | None]:
        """Returns the response, or the status that the call ends with. Raises the errors of `Admission.admit`, and `Refused`
        for a call whose deadline has passed."""
        started, remaining = self._clock.steady(), context.time_remaining()
        if remaining is not None and remaining <= 0:  # its caller has given up, while those of other calls still wait
            self._slots.count_refusal("late")
            raise Refused(grpc.StatusCode.DEADLINE_EXCEEDED, "the call waited until its time was over")
        grant = await self._admission.admit(metadata, method.right, context.peer)
        request: Message | None = None
        call: RpcCall | None = None
        data = b""
        with observed(self._observer, method.name.rpartition("/")[2], metadata, self._clock.steady() - started) as record:
            try:
                data = await self._admission.read_request(context)
                arrived = arrived if len(data) <= LOOKAHEAD_BYTES else self._clock.steady()
                ends = None if remaining is None else started + remaining
                call = RpcCall(method.right, record, arrived=arrived, ends=ends)
                call.grant = grant
                request = _parse(method.request, data)
                return await _run(method, request, call, context), None
            except asyncio.CancelledError as error:
                if _cancelled() and not self._stopping:
                    raise  # the caller cancelled; otherwise something inside cancelled itself, and the caller still waits
                return None, _record_failure(record, _server_stops() if self._stopping else error, request, call, method.paths)
            except Exception as error:
                status = _record_failure(record, error, request, call, method.paths)
                context.set_trailing_metadata(trailers(error))
                if grant is not None and status[0] in _CALLER_ERRORS:
                    await asyncio.sleep(self._pace.delay(grant.org, self._clock.steady(), len(data)))
                return None, status

    def _health_handler(self, handler: Handler, metadata: CallMetadata) -> Handler:

        async def answer(_: object, context: Context) -> Any:
            try:
                return await self._health.answer(handler, metadata, context)
            except asyncio.CancelledError:
                if not self._stopping:
                    raise
                status = refusal(_server_stops())
            except Exception as error:
                status = refusal(error)
            return await _refuse(context, status)

        if handler.unary_stream is not None:
            return grpc.stream_stream_rpc_method_handler(answer, None, handler.response_serializer)
        return grpc.stream_unary_rpc_method_handler(answer, None, handler.response_serializer)

    def _reflection_handler(self, handler: Handler, metadata: CallMetadata) -> Handler:
        """Reflection describes the contract, and requires a valid key too."""
        inner: Any = handler.stream_stream

        async def answer(requests: AsyncIterator[Any], context: Context) -> None:
            try:
                await self._admission.admit(metadata, "read", context.peer)
                async with asyncio.timeout(self._limits.reflection_seconds):
                    await _write_all(inner(requests, context), context)
                return
            except asyncio.CancelledError:
                if not self._stopping:
                    raise
                status = refusal(_server_stops())
            except TimeoutError:
                status = (grpc.StatusCode.UNAVAILABLE, "reflection ends after a while: ask again")
            except Exception as error:
                status = refusal(error)
            await _refuse(context, status)

        return grpc.stream_stream_rpc_method_handler(answer, handler.request_deserializer)


async def _run(method: Method, request: Message, call: RpcCall, context: Context) -> bytes | None:
    """Runs the method and returns its encoded response; writes the responses of a stream. It encodes here, not in gRPC, so that
    a failure to encode is handled as any other."""
    if method.unary is not None:
        return (await method.unary(request, call)).SerializeToString()
    assert method.stream is not None
    async with aclosing(method.stream(request, call)) as responses:
        await _write_all(responses, context)
    return None


async def _write_all(responses: AsyncIterator[Message], context: Context) -> None:
    begun = False
    async for response in responses:
        if not begun:
            await send_initial_metadata(context)
            begun = True
        await context.write(response.SerializeToString())


def _parse(kind: type[Message], data: bytes) -> Message:
    try:
        return kind.FromString(data)
    except DecodeError:
        raise invalid(f"the request isn't a {kind.DESCRIPTOR.full_name} message") from None


def _record_failure(
    record: RpcRecord, error: BaseException, request: Message | None, call: RpcCall | None, paths: Mapping[str, str]
) -> Status:
    status = refusal(error, request, () if call is None else call.names, paths)
    record.code, record.error = status[0].name, error
    return status


async def _refuse(context: Context, status: Status) -> None:
    await context.abort(*status)


def _cancelled() -> bool:
    """Returns whether the current task itself was cancelled, not something that it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _server_stops() -> Refused:
    return Refused(grpc.StatusCode.UNAVAILABLE, "the server stops: try again, another may have taken its place")


# gRPC's health service answers without a key, because load balancers have none. The request of a caller without a key
# isn't read: gRPC can't be told to accept less than `max_message_bytes` of it. Such a caller is answered for the server
# as a whole, which equals the answer for each single service. Watches without a key share a few places, and a new watch
# evicts an old one; the evicted client begins a new watch by itself.


class Health:
    """Runs health calls with their limits. For the port's loop."""

    def __init__(self, admission: Admission, slots: OrgSlots, limits: Limits) -> None:
        self._admission, self._slots, self._limits = admission, slots, limits

    async def answer(self, handler: Handler, metadata: Iterable[tuple[str, str | bytes]] | None, context: Context) -> Any:
        """Calls `handler`, the health service's own, and returns its response; None for a watch, which writes its responses.

        Raises `Refused` where a watch is evicted or ends after `watch_seconds`, and for a request that can't be read.
        """
        request = await self._request(metadata, context)
        if handler.unary_unary is not None:
            check: Any = handler.unary_unary
            return await check(request or health_pb2.HealthCheckRequest(), context)
        watch: Any = handler.unary_stream
        await send_initial_metadata(context)
        try:
            if request is not None:
                async with asyncio.timeout(self._limits.watch_seconds):
                    return await watch(request, context)
            async with self._slots.watching.place(self._limits.watch_seconds, context.peer()):
                return await watch(health_pb2.HealthCheckRequest(), context)
        except Evicted:
            self._slots.count_refusal("health")
            raise exhausted("too many watch health: begin again later") from None
        except TimeoutError:
            raise Refused(grpc.StatusCode.UNAVAILABLE, "a watch ends after a while: begin it again") from None

    async def _request(self, metadata: Iterable[tuple[str, str | bytes]] | None, context: Context) -> Any:
        """Returns the request of a caller with a valid key, None for any other caller."""
        if not self._admission.has_key(metadata):
            return None
        try:
            await self._admission.admit(metadata, "read", context.peer)
        except (Refused, StoreError):
            return None
        try:
            return health_pb2.HealthCheckRequest.FromString(await self._admission.read_request(context))
        except DecodeError:
            raise invalid("the request isn't a grpc.health.v1.HealthCheckRequest message") from None


# gRPC for asyncio sends initial metadata with the first response, and notes that they are sent only when that write is
# over. A call that is cancelled during its first write (its time ends, a newer call takes its place, the server stops)
# would send them a second time with its status. gRPC's core refuses that, so the caller would never be told that the
# call ended.


async def send_initial_metadata(context: Context) -> None:
    """Returns when they are sent; a call that is cancelled meanwhile raises `CancelledError` only then. Sending never waits for
    the caller to read. To be called once, just before the first response, because a client's own retries end with it."""
    sent = asyncio.ensure_future(context.send_initial_metadata(()))
    try:
        await asyncio.shield(sent)
    except asyncio.CancelledError:
        await asyncio.wait([sent])
        raise
