"""Gate: the outermost interceptor. Every call passes it once: its key is checked, its errors become statuses without content,
and what came of it is told to the observer. What gRPC would do by itself with an exception is to send its text.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from germane.access.grant import Grant
from germane.access.key import Right
from germane.clock import Clock
from germane.grpc.apart import Apart
from germane.grpc.authentication import Keys, authenticated
from germane.grpc.call import Call, Observer, Seen, Unseen
from germane.grpc.methods import Method
from germane.grpc.refusals import Refused, Status, invalid, refusal

__all__ = ["Gate"]

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Sent = Iterable[tuple[str, str | bytes]] | None

_AT_ONCE = 64 * 1024
"""Bytes of a request that come together with its headers. A larger one has arrived when all of it has."""
_TRACING = ("traceparent", "tracestate")


class Gate(grpc.aio.ServerInterceptor):
    """`keys` None lets everybody in; they are asked at home."""

    def __init__(self, *, keys: Keys | None, apart: Apart, clock: Clock, observer: Observer | None = None) -> None:
        self._keys, self._apart, self._clock, self._observer = keys, apart, clock, observer
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
        if handler is None or handler.unary_unary is not None:
            return handler
        return self._watching(handler) if handler.unary_stream is not None else self._reflecting(handler, sent)

    def _through(self, method: Method, sent: Sent, arrived: float) -> Handler:
        async def answer(data: bytes, context: Context) -> bytes | None:
            return await self._answer(method, sent, arrived, data, context)

        if method.stream is not None:
            return grpc.unary_stream_rpc_method_handler(answer)
        return grpc.unary_unary_rpc_method_handler(answer)

    async def _answer(self, method: Method, sent: Sent, arrived: float, data: bytes, context: Context) -> bytes | None:
        now, left = self._clock.steady(), context.time_remaining()
        ends = None if left is None else now + left
        arrived = arrived if len(data) <= _AT_ONCE else now
        request: Message | None = None
        self._running += 1
        self._idle.clear()
        try:
            with self._seen(method, sent) as seen:
                try:
                    if left is not None and left <= 0:  # its caller has gone, and others wait who haven't
                        raise Refused(grpc.StatusCode.DEADLINE_EXCEEDED, "the call waited until its time was over")
                    call = Call(method.right, seen, arrived=arrived, ends=ends)
                    call.grant = await self._grant(sent, method.right)
                    request = _read(method.request, data)
                    return await _run(method, request, call, context)
                except asyncio.CancelledError as error:
                    if _cancelled() and not self._over:
                        raise  # the caller went away; else something within gave itself up, and the caller still waits
                    status = _told(seen, _stopping() if self._over else error, request)
                except Exception as error:
                    status = _told(seen, error, request)
            await _refuse(context, status)
            return None
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    def _seen(self, method: Method, sent: Sent) -> AbstractContextManager[Seen]:
        if self._observer is None:
            return nullcontext(Unseen())
        headers = {name: value for name, value in sent or () if name in _TRACING and isinstance(value, str)}
        return self._observer.call(method.name.rpartition("/")[2], headers)

    def _watching(self, handler: Handler) -> Handler:
        """Health's, which would go on for ever. It asks for no key: load balancers have none."""
        inner = handler.unary_stream

        async def answers(request: Any, context: Context) -> None:
            try:
                await inner(request, context)  # type: ignore[arg-type,misc]
            except asyncio.CancelledError:
                if not self._over:
                    raise
            await _refuse(context, refusal(_stopping()))

        return grpc.unary_stream_rpc_method_handler(answers, handler.request_deserializer, handler.response_serializer)

    def _reflecting(self, handler: Handler, sent: Sent) -> Handler:
        """What reflection tells is the contract, but only to who may call."""
        inner = handler.stream_stream

        async def answers(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
            try:
                await self._grant(sent, "read")
                async for answer in inner(requests, context):  # type: ignore[arg-type,misc,union-attr]
                    yield answer
                return
            except asyncio.CancelledError:
                if not self._over:
                    raise
                status = refusal(_stopping())
            except Exception as error:
                status = refusal(error)
            await _refuse(context, status)

        return grpc.stream_stream_rpc_method_handler(answers, handler.request_deserializer, handler.response_serializer)

    async def _grant(self, sent: Sent, right: Right) -> Grant | None:
        if (keys := self._keys) is None:
            return None
        return await self._apart.home(lambda: authenticated(keys, sent, right))


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
