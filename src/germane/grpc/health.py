"""Health: gRPC's health service, which answers without a key, because load balancers have none.

The request of a caller without a key isn't read: gRPC can't be told to accept less than `max_message_bytes` of it. Such a
caller is answered for the server as a whole, which equals the answer for each single service. Watches without a key share a few
places, and a new watch evicts an old one; the evicted client begins a new watch by itself.
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
from germane.grpc.anonymous_slots import Evicted
from germane.grpc.call_admission import Admission
from germane.grpc.initial_metadata import send_initial_metadata
from germane.grpc.org_slots import Limits, OrgSlots, exhausted
from germane.grpc.refusals import Refused, invalid

__all__ = ["Health"]

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


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
