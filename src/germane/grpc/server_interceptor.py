"""Gate: the outermost interceptor. Every call passes it once. Its key is verified and it gets a slot before anything of its
request is read, its errors become statuses without content, and what came of it is told to the observer. What gRPC would do by
itself with an exception is to send its text.

gRPC reads the request of a unary call before it calls the handler, however long that takes and however large the request is. A
handler whose request is a stream reads it when it likes. So here every RPC has such a handler, whatever its contract says: on
the wire there is no difference. HTTP/2's own flow control holds back what isn't read yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from germane.clock import Clock
from germane.grpc.admission import Admission
from germane.grpc.body import received
from germane.grpc.call import Call, Observer, Seen, Unseen
from germane.grpc.health import Health
from germane.grpc.methods import Method
from germane.grpc.pace import Pace
from germane.grpc.port import AT_ONCE
from germane.grpc.refusals import Refused, Status, invalid, refusal
from germane.grpc.slots import Limits, Slots

__all__ = ["ServerInterceptor"]

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Sent = Iterable[tuple[str, str | bytes]] | None

_CALLERS = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.PERMISSION_DENIED)
"""What a call ends with that its caller has to put right."""
_TRACING = ("traceparent", "tracestate")


class ServerInterceptor(grpc.aio.ServerInterceptor):
    """For the port's loop."""

    def __init__(
        self, admission: Admission, slots: Slots, *, clock: Clock, limits: Limits, observer: Observer | None = None
    ) -> None:
        self._admission, self._slots, self._limits = admission, slots, limits
        self._clock, self._observer = clock, observer
        self._health = Health(admission, slots, limits)
        self._pace = Pace()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._over = False

    async def idle(self) -> None:
        """Returns when no call is running, health's and reflection's aside: those end when their callers like."""
        await self._idle.wait()

    def end(self) -> None:
        """What still runs ends with UNAVAILABLE, watchers of health too."""
        self._over = True
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
        sent: Sent = handler_call_details.invocation_metadata
        if isinstance(handler, Method):
            return self._through(handler, sent, arrived)
        if handler is None:
            self._slots.note("unknown_method")
            return None
        return self._reflecting(handler, sent) if handler.stream_stream is not None else self._checking(handler, sent)

    def _through(self, method: Method, sent: Sent, arrived: float) -> Handler:
        async def answer(_: object, context: Context) -> bytes | None:
            return await self._answer(method, sent, arrived, context)

        if method.stream is not None:
            return grpc.stream_stream_rpc_method_handler(answer)
        return grpc.stream_unary_rpc_method_handler(answer)

    async def _answer(self, method: Method, sent: Sent, arrived: float, context: Context) -> bytes | None:
        self._running += 1
        self._idle.clear()
        try:
            try:
                answer, status = await self._admitted(method, sent, arrived, context)
            except asyncio.CancelledError as error:
                if _cancelled() and not self._over:
                    raise  # the caller went away
                answer, status = None, refusal(_stopping() if self._over else error)
            except Exception as error:  # not admitted: counted by its reason, and nothing else is told of it
                answer, status = None, refusal(error)
            if status is not None:
                await _refuse(context, status)
            return answer
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def _admitted(
        self, method: Method, sent: Sent, arrived: float, context: Context
    ) -> tuple[bytes | None, Status | None]:
        """The answer, or what the call ends with. Raises what admission does, and where the call's time is over."""
        began, left = self._clock.steady(), context.time_remaining()
        if left is not None and left <= 0:  # its caller has gone, and others wait who haven't
            self._slots.note("late")
            raise Refused(grpc.StatusCode.DEADLINE_EXCEEDED, "the call waited until its time was over")
        grant = await self._admission.admit(sent, method.right, context.peer)
        request: Message | None = None
        data = b""
        with self._seen(method, sent, self._clock.steady() - began) as seen:
            try:
                data = await received(context, self._slots, self._limits)
                arrived = arrived if len(data) <= AT_ONCE else self._clock.steady()
                call = Call(method.right, seen, arrived=arrived, ends=None if left is None else began + left)
                call.grant = grant
                request = _read(method.request, data)
                return await _run(method, request, call, context), None
            except asyncio.CancelledError as error:
                if _cancelled() and not self._over:
                    raise  # the caller went away; else something within gave itself up, and the caller still waits
                return None, _told(seen, _stopping() if self._over else error, request)
            except Exception as error:
                status = _told(seen, error, request)
                if grant is not None and status[0] in _CALLERS:
                    await asyncio.sleep(self._pace.delay(grant.org, self._clock.steady(), len(data)))
                return None, status

    def _seen(self, method: Method, sent: Sent, waited: float) -> AbstractContextManager[Seen]:
        if self._observer is None:
            return nullcontext(Unseen())
        headers = {name: value for name, value in sent or () if name in _TRACING and isinstance(value, str)}
        return self._observer.call(method.name.rpartition("/")[2], headers, waited=waited)

    def _checking(self, handler: Handler, sent: Sent) -> Handler:
        """Health's."""

        async def answer(_: object, context: Context) -> Any:
            try:
                return await self._health.answer(handler, sent, context)
            except asyncio.CancelledError:
                if not self._over:
                    raise
                status = refusal(_stopping())
            except Exception as error:
                status = refusal(error)
            return await _refuse(context, status)

        if handler.unary_stream is not None:
            return grpc.stream_stream_rpc_method_handler(answer, None, handler.response_serializer)
        return grpc.stream_unary_rpc_method_handler(answer, None, handler.response_serializer)

    def _reflecting(self, handler: Handler, sent: Sent) -> Handler:
        """What reflection tells is the contract, but only to who may call."""
        inner: Any = handler.stream_stream

        async def answer(requests: AsyncIterator[Any], context: Context) -> None:
            try:
                await self._admission.admit(sent, "read", context.peer)
                async with asyncio.timeout(self._limits.reflection_seconds):
                    async for one in inner(requests, context):
                        await context.write(one)
                return
            except asyncio.CancelledError:
                if not self._over:
                    raise
                status = refusal(_stopping())
            except TimeoutError:
                status = (grpc.StatusCode.UNAVAILABLE, "reflection ends after a while: ask again")
            except Exception as error:
                status = refusal(error)
            await _refuse(context, status)

        return grpc.stream_stream_rpc_method_handler(answer, handler.request_deserializer, handler.response_serializer)


async def _run(method: Method, request: Message, call: Call, context: Context) -> bytes | None:
    """Encoded here and nowhere else, so that a fault in that is a fault like any other."""
    if method.unary is not None:
        return (await method.unary(request, call)).SerializeToString()
    assert method.stream is not None
    async with aclosing(method.stream(request, call)) as answers:
        async for one in answers:
            await context.write(one.SerializeToString())
    return None


def _read(kind: type[Message], data: bytes) -> Message:
    try:
        return kind.FromString(data)
    except DecodeError:
        raise invalid(f"the request isn't a {kind.DESCRIPTOR.full_name} message") from None


def _told(seen: Seen, error: BaseException, request: Message | None) -> Status:
    status = refusal(error, request)
    seen.code, seen.error = status[0].name, error
    return status


async def _refuse(context: Context, status: Status) -> None:
    await context.abort(*status)


def _cancelled() -> bool:
    """Whether this task itself was."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _stopping() -> Refused:
    return Refused(grpc.StatusCode.UNAVAILABLE, "the server stops: try again, another may have taken its place")
