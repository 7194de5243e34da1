"""A busy writer: plans that are given while it is busy wait together, whatever the threads' order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from germane.stores.contract import ScopedStore
from germane.types.plan import Decision, Plan

__all__ = ["busy_writer"]


@asynccontextmanager
async def busy_writer(scoped: ScopedStore) -> AsyncIterator[None]:
    """Within it the store's writer is in the middle of a commit; what was given meanwhile comes right after."""
    begun, gate = threading.Event(), threading.Event()

    def waiting() -> Plan[None]:
        begun.set()
        gate.wait(30)
        yield from ()
        return Decision((), None)

    held = asyncio.ensure_future(scoped.commit(waiting()))
    await asyncio.to_thread(begun.wait, 30)
    try:
        yield
        await asyncio.sleep(0)
    finally:
        gate.set()
        await held
