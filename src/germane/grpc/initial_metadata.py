"""Initial metadata: sent before the first response of a stream, and never interrupted.

gRPC for asyncio sends them with the first response, and notes that they are sent only when that write is over. A call that is
cancelled during its first write (its time ends, a newer call takes its place, the server stops) would send them a second time
with its status. gRPC's core refuses that, so the caller would never be told that the call ended.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

import grpc.aio

__all__ = ["send_initial_metadata"]

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


async def send_initial_metadata(context: Context) -> None:
    """Returns when they are sent; a call that is cancelled meanwhile raises `CancelledError` only then. Sending never waits for
    the caller to read. To be called once, just before the first response, because a client's own retries end with it."""
    sent = asyncio.ensure_future(context.send_initial_metadata(()))
    try:
        await asyncio.shield(sent)
    except asyncio.CancelledError:
        await asyncio.wait([sent])
        raise
