"""Body: the request of a call that was admitted, as it comes in."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from typing import Any, TypeAlias

import grpc
import grpc.aio

from germane.grpc.refusals import Refused, invalid
from germane.grpc.slots import Limits, Slots

__all__ = ["received"]

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


async def received(context: Context, slots: Slots, limits: Limits) -> bytes:
    """The request's bytes. Raises `Refused` where they don't come in time, or not at all."""
    left = context.time_remaining()
    sooner = left is not None and left < limits.body_seconds  # then gRPC ends the call, and no timer is needed
    try:
        async with nullcontext() if sooner else asyncio.timeout(limits.body_seconds):
            data = await context.read()
    except TimeoutError:
        slots.note("body")
        text = f"the request didn't come within {limits.body_seconds:g} s"
        raise Refused(grpc.StatusCode.DEADLINE_EXCEEDED, text) from None
    if not isinstance(data, bytes):  # gRPC's mark for the end
        raise invalid("the call ended without a request")
    return data
