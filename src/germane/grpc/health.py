"""Health: gRPC's own health service, which needs no key and so has few places. The call that has had one longest gives way to
the next: a load balancer is always answered, and a watch that ends is begun again by its client."""

from __future__ import annotations

from typing import Any, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from germane.grpc.places import Ousted, Places
from germane.grpc.refusals import Refused, invalid
from germane.grpc.slots import Limits, Slots

__all__ = ["Health"]

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"


class Health:
    """Checks and watches share their places. For the port's loop."""

    def __init__(self, slots: Slots, limits: Limits) -> None:
        self._slots, self._limits = slots, limits
        self._places = Places(limits.health)
        self._reading = Places(limits.health_reading, patience=limits.health_patience)

    async def answer(self, handler: Handler, context: Context) -> Any:
        """What the health service's own `handler` answers: a check's response; None for a watch, which writes. Raises
        `Refused`."""
        try:
            async with self._places.place(self._limits.watch_seconds):
                self._slots.health = len(self._places)
                request = handler.request_deserializer(await self._request(context))  # type: ignore[misc]
                inner: Any = handler.unary_stream or handler.unary_unary
                return await inner(request, context)
        except Ousted:
            self._slots.note("health")
            raise Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many ask after health: ask again") from None
        except TimeoutError:
            raise Refused(grpc.StatusCode.UNAVAILABLE, "a watch ends after a while: begin it again") from None
        except DecodeError:
            raise invalid("the request isn't a grpc.health.v1.HealthCheckRequest message") from None
        finally:
            self._slots.health = len(self._places)

    async def _request(self, context: Context) -> bytes:
        try:
            async with self._reading.place(self._limits.health_seconds):
                data = await context.read()
        except TimeoutError:
            self._slots.note("health")
            text = f"the request didn't come within {self._limits.health_seconds:g} s"
            raise Refused(grpc.StatusCode.DEADLINE_EXCEEDED, text) from None
        if not isinstance(data, bytes):  # gRPC's mark for the end
            raise invalid("the call ended without a request")
        if len(data) > self._limits.health_bytes:
            self._slots.note("health")
            text = f"a request of {len(data)} bytes, where health takes {self._limits.health_bytes}"
            raise Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
        return data
