"""Worker: one process of the service, from opening the database to the last answer.

The worker stops in this order: `/ready` says "stopping", gRPC takes no new calls, running calls get their grace period, the
HTTP port closes, the database closes. Calls that arrive in the meantime are still answered.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

from germane.api.germane import Germane
from germane.clock import Clock
from germane.errors import InvalidInput
from germane.grpc.handover.siblings import WorkerPlace
from germane.grpc.server.admission import Ports
from germane.grpc.server.grpc_server import GrpcServer
from germane.service.http.api import Api, closed_for, takes_body
from germane.service.http.connections import ConnectionLimits
from germane.service.http.health import app as health_app
from germane.service.http.server import HttpServer
from germane.service.http.sockets import Sockets
from germane.service.http.tls import server_context
from germane.service.monitoring import Monitor, monitoring
from germane.service.proxy.proxy import Proxy, proxying
from germane.service.proxy.routes import is_proxied
from germane.settings.serving import ServiceSettings
from germane.settings.settings import Settings
from germane.settings.values import Address

_LAZY_IMPORTS = (
    "germane.kinds.blocks.handle",
    "germane.kinds.documents.handle",
    "germane.kinds.events.handle",
    "germane.kinds.graph.handle",
    "germane.kinds.conversations.handle",
    "germane.kinds.memories.handle",
    "germane.kinds.tasks.handle",
    "germane.api.builder.building",
    "germane.api.builder.builder",
    "germane.api.stored_compaction",
    "germane.compaction.conversation",
    "germane.compaction.render",
    "loro",
)
"""What a program imports when it is used first. In a service all other calls would wait meanwhile, for up to 70 ms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """The addresses that a worker listens on, with the port that the system chose where port 0 was asked for."""

    grpc: Address
    http: Address | None


@dataclass(frozen=True, slots=True)
class _Doors:
    """What callers reach of a worker: gRPC, HTTP's API and the proxy, on the ports that they share."""

    grpc: GrpcServer
    api: Api
    proxy: Proxy | None
    ports: Ports

    async def stop(self, grace: float) -> None:
        """Gives running calls `grace` seconds to end. A second call may have a shorter `grace`."""
        running = [self.api.running, *([] if self.proxy is None else [self.proxy.running])]
        on_port = self.ports.bridge.on_port
        await asyncio.gather(self.grpc.stop(grace), *(on_port(partial(one.ended, grace)) for one in running))


class Companion(Protocol):
    """What one process has beside the service, on its HTTP port."""

    async def begin(self, germane: Germane, ports: Ports, stop: Callable[[], object]) -> None:
        """Is awaited before the keys are checked and the ports listen. `stop` ends the service as a signal does."""

    def takes_body(self, target: bytes) -> bool:
        """As `takes_body` of the API."""

    def wrap(self, rest: ASGIApp) -> ASGIApp:
        """Returns the application of the port, which calls `rest` for what it doesn't answer itself."""

    async def end(self) -> None:
        """Is awaited when the service has ended, before the database closes."""


def serve(
    service: ServiceSettings,
    settings: Settings,
    on_listening: Callable[[Listening], object],
    place: WorkerPlace | None = None,
    beside: Companion | None = None,
) -> None:
    """Runs `work` until the process is told to stop. Raises what opening the database and the ports raises.

    The event loop is asyncio's own: its clock has microseconds. uvloop's has milliseconds and stands still while a callback
    runs, which makes deadlines inexact.
    """
    asyncio.run(work(service, settings, on_listening, place=place, beside=beside))


async def work(
    service: ServiceSettings,
    settings: Settings,
    on_listening: Callable[[Listening], object],
    *,
    place: WorkerPlace | None = None,
    beside: Companion | None = None,
) -> None:
    """Opens the database and serves until a signal comes; calls `on_listening` once both ports listen. With `place` the process
    is one of several workers, which share their ports and, through the place's folder, their metrics and their work."""
    raise_file_limit()
    for name in _LAZY_IMPORTS:
        with suppress(ImportError):
            import_module(name)
    with StopSignals().installed() as stop_signals:
        async with Germane.open(service.db, settings=settings) as germane:
            ports = Ports(keys=germane.keys if service.keys_required else None)
            if beside is not None:
                await beside.begin(germane, ports, stop_signals.receive)
            await _check_keys(service, germane)
            server = GrpcServer(germane, service, ports=ports, worker=place)
            async with monitoring(
                service,
                probe=germane.ping,
                state=lambda: germane.state,
                pseudonym=germane.pseudonym,
                version=version("germane"),
                metrics_folder=None if place is None else place.folder,
                on_change=server.ready,
            ) as monitor:
                monitor.ports.add(lambda: server.traffic)
                api = Api(
                    germane,
                    ports,
                    server.assemblies,
                    max_bytes=service.max_message_bytes,
                    observer=monitor.observer,
                    closed=closed_for(service),
                )
                await ports.open()
                try:
                    await server.start(monitor.observer)
                    async with proxying(service, germane, ports, server.assemblies, monitor.observer) as proxy:
                        if proxy is not None:
                            monitor.ports.add_proxy(lambda: proxy.traffic)
                        doors = _Doors(server, api, proxy, ports)
                        await _listen(service, doors, monitor, stop_signals, on_listening, place is not None, beside)
                finally:
                    if beside is not None:
                        await beside.end()
                    await server.stop(0)
                    await ports.close()


async def _listen(
    service: ServiceSettings,
    doors: _Doors,
    monitor: Monitor,
    stop_signals: StopSignals,
    on_listening: Callable[[Listening], object],
    reuse_port: bool,
    beside: Companion | None,
) -> None:
    """Serves HTTP beside gRPC until a signal comes, then stops gRPC. HTTP ends last, so that `/ready` can say "stopping"."""
    http = None
    if service.http is not None:
        limits = _connection_limits(raise_file_limit())
        app, takes = _app(monitor, doors), [takes_body]
        if doors.proxy is not None:
            takes.append(is_proxied)
        if beside is not None:
            app = beside.wrap(app)
            takes.append(beside.takes_body)
        http = HttpServer(
            app,
            service.http,
            reuse_port=reuse_port,
            limits=limits,
            takes_body=lambda target: any(one(target) for one in takes),
            sockets=None if doors.proxy is None else Sockets(takes=is_proxied, max_bytes=service.max_message_bytes),
            tls=server_context(service),
        )
        await doors.ports.bridge.on_port(http.start)
        monitor.ports.add(lambda: http.traffic)
    try:
        addresses = Listening(grpc=doors.grpc.address, http=None if http is None else http.address)
        for address in filter(None, (addresses.grpc, addresses.http)):
            monitor.logs.info("listening", address=str(address))
        on_listening(addresses)
        await stop_signals.first()
        monitor.logs.info("stopping")
        monitor.readiness.stop()
        await _stop(doors, monitor, stop_signals, service.shutdown_seconds)
    finally:
        if http is not None:
            await doors.ports.bridge.on_port(http.stop)


async def _stop(doors: _Doors, monitor: Monitor, stop_signals: StopSignals, grace: float) -> None:
    """Gives running calls `grace` seconds to end; a second signal ends them at once."""
    ending = asyncio.ensure_future(doors.stop(grace))
    second_signal = asyncio.ensure_future(stop_signals.second())
    await asyncio.wait([ending, second_signal], return_when=asyncio.FIRST_COMPLETED)
    if not ending.done():
        await doors.stop(0)
    second_signal.cancel()
    await ending
    monitor.logs.info("stopped")


def _connection_limits(files: int) -> ConnectionLimits:
    """HTTP takes at most a quarter of the files that the process may open."""
    max_connections = max(2, min(ConnectionLimits().max_connections, files // 4))
    return ConnectionLimits(max_connections=max_connections, max_per_address=max_connections // 2)


def _app(monitor: Monitor, doors: _Doors) -> ASGIApp:
    """The application of the HTTP port: `/v1`, the proxy, and health beside them."""
    health = health_app(
        reasons=lambda: monitor.readiness.reasons,
        alive=lambda: doors.ports.bridge.on_engine(_turn),
        degraded=monitor.degraded,
        metrics=None if monitor.metrics is None else monitor.metrics.text,
        version=version("germane"),
    )

    async def port(scope: Scope, receive: Receive, send: Send) -> None:
        target = scope["raw_path"]
        app = doors.api if takes_body(target) else doors.proxy if doors.proxy is not None and is_proxied(target) else health
        await app(scope, receive, send)

    return port


async def _turn() -> None:
    """A turn of the event loop."""


async def _check_keys(service: ServiceSettings, germane: Germane) -> None:
    """Raises `InvalidInput` where keys are required and no valid key exists (RPC-5): nobody could call the service, and an
    operator who wanted open access must switch keys off on purpose."""
    if not service.keys_required:
        return
    now = Clock().now()
    if not any(key.holds(now) for key in await germane.keys.list()):
        raise InvalidInput(
            f"callers of {service.grpc} need an API key, and there is none yet: make one with"
            f" `germane --db {service.db} keys create --org ORG`"
            + ("" if service.grpc.loopback else ", or serve 127.0.0.1, which only this machine reaches")
        )


# Tells the process to stop: a signal came, or its parent process has died.


class StopSignals:
    """Counts requests to stop: the first asks for an orderly end, the second for an end without waiting."""

    def __init__(self) -> None:
        self._first, self._second = asyncio.Event(), asyncio.Event()

    @contextmanager
    def installed(self) -> Iterator[StopSignals]:
        """Handles SIGTERM and SIGINT inside the block. A worker ignores SIGINT: a terminal sends it to parent and workers,
        and the parent passes it on as SIGTERM. A worker whose parent dies stops as if it had received a signal."""
        loop, parent = asyncio.get_running_loop(), multiprocessing.parent_process()
        loop.add_signal_handler(signal.SIGTERM, self.receive)
        loop.add_signal_handler(signal.SIGINT, self.receive if parent is None else _ignore)
        if parent is not None:
            loop.add_reader(parent.sentinel, self._orphaned, parent.sentinel)
        try:
            yield self
        finally:
            if parent is not None:
                loop.remove_reader(parent.sentinel)
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def receive(self) -> None:
        """Counts one request to stop."""
        if self._first.is_set():
            self._second.set()
        self._first.set()

    async def first(self) -> None:
        """Waits for the first request to stop."""
        await self._first.wait()

    async def second(self) -> None:
        """Waits for the second request to stop."""
        await self._second.wait()

    def _orphaned(self, sentinel: int) -> None:
        asyncio.get_running_loop().remove_reader(sentinel)
        self.receive()


def _ignore() -> None:
    """The parent passes the signal on."""


# The number of files and sockets that the process may have open.


_WANTED_FILES = 32_768


def raise_file_limit() -> int:
    """Raises the soft limit of open files to 32,768, or to the hard limit where that is lower, and returns the limit that now
    holds (32,768 for "unlimited"). Never lowers it. Each connection takes one file, and many systems start a process with a
    soft limit of 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _WANTED_FILES if hard == resource.RLIM_INFINITY else min(_WANTED_FILES, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _WANTED_FILES if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError):  # some systems allow less than the hard limit that they report
        return soft
    return wanted
