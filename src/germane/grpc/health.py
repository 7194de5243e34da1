"""Health: gRPC's own health service. It asks for no key, for load balancers have none.

The request of a caller without a key isn't read: gRPC can't be told to take less than `max_message_bytes` of it. Such a caller
is answered for the server as a whole, which is what every single service would say too. Watches without a key share a few
places, and an old one gives way to a new one; a client begins a watch that has ended anew by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from grpc_health.v1 import health_pb2

from germane.errors import StoreError
from germane.grpc.admission import Admission
from germane.grpc.body import received
from germane.grpc.places import Ousted
from germane.grpc.refusals import Refused, invalid
from germane.grpc.slots import Limits, Slots, exhausted

__all__ = ["Health"]

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Health:
    """For the port's loop."""

    def __init__(self, admission: Admission, slots: Slots, limits: Limits) -> None:
        self._admission, self._slots, self._limits = admission, slots, limits

    async def answer(self, handler: Handler, sent: Iterable[tuple[str, str | bytes]] | None, context: Context) -> Any:
        """What the health service's own `handler` answers: a check's response; None for a watch, which writes. Raises
        `Refused`."""
        request = await self._request(sent, context)
        if handler.unary_unary is not None:
            check: Any = handler.unary_unary
            return await check(request or health_pb2.HealthCheckRequest(), context)
        watch: Any = handler.unary_stream
        try:
            if request is not None:
                async with asyncio.timeout(self._limits.watch_seconds):
                    return await watch(request, context)
            async with self._slots.watching.place(self._limits.watch_seconds, context.peer()):
                return await watch(health_pb2.HealthCheckRequest(), context)
        except Ousted:
            self._slots.note("health")
            raise exhausted("too many watch health: begin again later") from None
        except TimeoutError:
            raise Refused(grpc.StatusCode.UNAVAILABLE, "a watch ends after a while: begin it again") from None

    async def _request(self, sent: Iterable[tuple[str, str | bytes]] | None, context: Context) -> Any:
        """None where it isn't read."""
        if not self._admission.possible(sent):
            return None
        try:
            await self._admission.admit(sent, "read", context.peer)
        except (Refused, StoreError):
            return None
        try:
            return health_pb2.HealthCheckRequest.FromString(await received(context, self._slots, self._limits))
        except DecodeError:
            raise invalid("the request isn't a grpc.health.v1.HealthCheckRequest message") from None
