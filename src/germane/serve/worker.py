"""Worker: one process of the service, from the opening of the file to the last answer.

What arrives while it ends is still answered: first it says that it isn't ready, then it takes no more, then what runs has its
time to end, and only then the file is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from germane.api.germane import Germane
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.grpc.server import GrpcServer
from germane.http.app import app
from germane.http.connections import Room
from germane.http.server import HttpServer
from germane.serve.descriptors import enough
from germane.serve.stopping import Stopping
from germane.serve.watching import Watching, watching
from germane.settings.address import Address
from germane.settings.serving import ServiceSettings
from germane.settings.settings import Settings

__all__ = ["Listening", "serve", "work"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where it listens now, with the port that the system chose where none was asked for."""

    grpc: Address
    http: Address | None


def serve(
    serving: ServiceSettings, settings: Settings, ready: Callable[[Listening], object], shared: Path | None = None
) -> None:
    """Work until told to stop, on a loop of asyncio's own, whose clock tells microseconds. uvloop's tells milliseconds, and
    stands still while a callback runs: no clock for a deadline. Raises what opening the file and the ports raises."""
    asyncio.run(work(serving, settings, ready, shared=shared))


async def work(
    serving: ServiceSettings, settings: Settings, ready: Callable[[Listening], object], *, shared: Path | None = None
) -> None:
    """`ready` is told when it listens. `shared` is the folder in which several workers' metrics meet; with it they share their
    ports as well."""
    enough()
    with Stopping().watched() as stopping:
        async with Germane.open(serving.db, settings=settings) as germane:
            await _guarded(serving, germane)
            server = GrpcServer(
                germane, serving, keys=germane.keys if serving.keys_required else None, shared=shared is not None
            )
            async with watching(
                serving,
                probe=germane.ping,
                state=lambda: germane.state,
                pseudonym=germane.pseudonym,
                version=version("germane"),
                shared=shared,
                turned=server.ready,
            ) as watched:
                watched.ports.add(lambda: server.traffic)
                await server.start(watched.observer)
                try:
                    await _listening(serving, server, watched, stopping, ready, shared=shared is not None)
                finally:
                    await server.stop(0)


async def _listening(
    serving: ServiceSettings,
    server: GrpcServer,
    watched: Watching,
    stopping: Stopping,
    ready: Callable[[Listening], object],
    *,
    shared: bool,
) -> None:
    """Until it is told to stop. The routes over HTTP stay until all is over: who asks then is told that it isn't ready."""
    http = None
    if serving.http is not None:
        http = HttpServer(_app(watched), serving.http, shared=shared, room=_room(enough()))
        await http.start()
        watched.ports.add(lambda: http.traffic)
    try:
        where = Listening(grpc=server.address, http=None if http is None else http.address)
        for address in filter(None, (where.grpc, where.http)):
            watched.logs.info("listening", address=str(address))
        ready(where)
        await stopping.asked()
        watched.logs.info("stopping")
        watched.readiness.stop()
        await _ended(server, watched, stopping, serving.shutdown_seconds)
    finally:
        if http is not None:
            await http.stop()


async def _ended(server: GrpcServer, watched: Watching, stopping: Stopping, grace: float) -> None:
    """At the second asking without grace."""
    ending = asyncio.ensure_future(server.stop(grace))
    skip_search = asyncio.ensure_future(stopping.at_once())
    await asyncio.wait([ending, skip_search], return_when=asyncio.FIRST_COMPLETED)
    if not ending.done():
        await server.stop(0)
    skip_search.cancel()
    await ending
    watched.logs.info("stopped")


def _room(files: int) -> Room:
    """At most a quarter of the open files that there may be."""
    most = max(2, min(Room().most, files // 4))
    return Room(most=most, each=most // 2)


def _app(watched: Watching) -> Any:
    metrics = None if watched.metrics is None else watched.metrics.text
    return app(reasons=lambda: watched.readiness.reasons, metrics=metrics, version=version("germane"))


async def _guarded(serving: ServiceSettings, germane: Germane) -> None:
    """Raises `InvalidInput` where keys are asked for and there is none: nobody could call, and whoever meant to let everybody
    in must not find out by having done so (RPC-5)."""
    if not serving.keys_required:
        return
    now = Clock().now()
    if not any(key.holds(now) for key in await germane.keys.list()):
        raise InvalidInput(
            f"callers of {serving.grpc} need an API key, and there is none yet: make one with"
            f" `germane --db {serving.db} keys create --org ORG`"
            + ("" if serving.grpc.loopback else ", or serve 127.0.0.1, which only this machine reaches")
        )
