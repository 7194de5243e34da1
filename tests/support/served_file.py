"""Served file: a server over a store's file, in a thread with an event loop of its own, for commands that call it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from germane import Germane
from germane.grpc.server.authorisation import Keys
from germane.grpc.server.grpc_server import GrpcServer
from support.http_api import serving_api
from support.listening import patient

__all__ = ["served_file"]


@asynccontextmanager
async def over_grpc(germane: Germane, keys: Keys | None) -> AsyncIterator[str]:
    server = GrpcServer(germane, patient(), keys=keys)
    await server.start()
    yield str(server.address)
    await server.stop(0)


@asynccontextmanager
async def over_http(germane: Germane, keys: Keys | None) -> AsyncIterator[str]:
    async with serving_api(germane, keys=keys, max_bytes=16 << 20) as api:
        yield f"http://{api.address}"


@contextmanager
def served_file(db: Path, *, keys: bool = False, http: bool = False) -> Iterator[str]:
    """Serves the file over gRPC, or `http`; yields the server's address. With `keys` every caller needs one of the store's
    keys."""
    begun: SimpleQueue[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = SimpleQueue()

    async def serve() -> None:
        async with Germane.open(db, freeze=False) as germane:
            held, ended = germane.keys if keys else None, asyncio.Event()
            async with over_http(germane, held) if http else over_grpc(germane, held) as found:
                begun.put((found, asyncio.get_running_loop(), ended))
                await ended.wait()

    thread = Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    address, loop, ended = begun.get(timeout=60)
    try:
        yield address
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
