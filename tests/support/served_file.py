"""Served file: a gRPC server over a store's file, in a thread with an event loop of its own, for commands that call it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from germane import Germane
from germane.grpc.server.grpc_server import GrpcServer
from support.listening import patient

__all__ = ["served_file"]


@contextmanager
def served_file(db: Path, *, keys: bool = False) -> Iterator[str]:
    """Serves the file; yields the server's address. With `keys` every caller needs one of the store's keys."""
    begun: SimpleQueue[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = SimpleQueue()

    async def serve() -> None:
        async with Germane.open(db, freeze=False) as germane:
            server, ended = GrpcServer(germane, patient(), keys=germane.keys if keys else None), asyncio.Event()
            await server.start()
            begun.put((str(server.address), asyncio.get_running_loop(), ended))
            await ended.wait()
            await server.stop(0)

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    address, loop, ended = begun.get(timeout=60)
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
