"""Faulty: the service over a store and an embedder that fail on command. Each line of standard input is a command:

    ok                       no fault
    hang                     no method of the store returns
    stuck                    every reading thread blocks
    slow SECONDS             every method of the store is delayed
    raise CLASS              every method of the store raises it
    garbage                  every method of the store returns a wrong value
    embedder hang|raise CLASS|garbage
    stats                    prints JSON: tasks, threads, file descriptors, memory, event loop lag

Each command is answered by one line. Only the benchmarks use this module.
"""

from __future__ import annotations

import asyncio
import builtins
import json
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import psutil

import germane.errors
from germane import Germane
from germane.api.wiring import Parts
from germane.grpc.server.grpc_server import GrpcServer
from germane.ports.models import Embedder
from germane.settings.serving import ServiceSettings
from germane.settings.values import Address
from germane.stores.contract import Store
from germane.stores.sqlite.readers import SqliteReaders
from germane_testing.faults import Fault, Garbage, Hang, Raise, Slow, faulty

__all__ = ["Switch"]


class Switch:
    """Stands between the engine and its store and embedder, and applies the current fault."""

    def __init__(self) -> None:
        self.store: Fault | None = None
        self.embedder: Fault | None = None
        self._flowing = threading.Event()
        self._flowing.set()
        self._lags: list[float] = []

    def into(self, parts: Parts) -> Parts:
        """A copy of the parts with the switch inserted."""
        store = cast("Store", _Switched(parts.store, lambda: self.store, within=True))
        embedder = cast("Embedder", _Switched(parts.embedder, lambda: self.embedder))
        return replace(parts, store=store, engine=replace(parts.engine, embedder=embedder))

    def hold_threads(self) -> None:
        """Makes every reading thread check for the fault `stuck`."""
        work, flowing = SqliteReaders._work, self._flowing

        def held(readers: SqliteReaders, *arguments: Any) -> None:
            flowing.wait()
            work(readers, *arguments)

        SqliteReaders._work = held  # type: ignore[assignment,method-assign]

    def told(self, line: str) -> str:
        """Executes a command and returns the reply."""
        match line.split():
            case ["stats"]:
                return json.dumps(self._stats())
            case ["ok"]:
                self.store = self.embedder = None
                self._flowing.set()
            case ["stuck"]:
                self._flowing.clear()
            case ["embedder", *fault]:
                self.embedder = _fault(fault)
            case fault:
                self.store = _fault(fault)
        return "done"

    async def watch(self) -> None:
        """Measures the event loop's lag every 5 ms."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.005)
            self._lags.append(time.perf_counter() - began - 0.005)

    def _stats(self) -> dict[str, float]:
        process, lags = psutil.Process(), sorted(self._lags) or [0.0]
        self._lags = []
        return {
            "tasks": len(asyncio.all_tasks()),
            "threads": threading.active_count(),
            "descriptors": process.num_fds(),
            "rss_mb": process.memory_info().rss / 2**20,
            "lag_p999_ms": 1000 * lags[int(0.999 * (len(lags) - 1))],
            "lag_longest_ms": 1000 * lags[-1],
        }


class _Switched:
    """Passes every call through, changed by the current fault."""

    def __init__(self, target: object, fault: Any, *, within: bool = False) -> None:
        self._target, self._fault, self._within = target, fault, within

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """That of the target, so that `isinstance` finds what the target can do."""
        return type(self._target)

    def __getattr__(self, name: str) -> Any:
        fault = self._fault()
        if not self._within:
            return getattr(self._target if fault is None else faulty(self._target, fault), name)
        value = getattr(self._target, name)
        if name != "within" or fault is None:
            return value
        return lambda scope: _scoped(value(scope), fault)


def _scoped(scoped: Any, fault: Fault) -> Any:
    reads = ("ask.CurrentDirective", "ask.AllowedIds", "revision")
    found = (
        "memories.search",
        "ask.PinnedMemories",
        "events.search",
        "ask.RecentEvents",
        "events.speakers",
        "ask.ListSessions",
    )
    return faulty(scoped, fault, *reads, *found)


def _fault(words: list[str]) -> Fault:
    match words:
        case ["hang"]:
            return Hang()
        case ["slow", seconds]:
            return Slow(float(seconds))
        case ["raise", name]:
            error = getattr(builtins, name, None) or getattr(germane.errors, name)
            return Raise(error("canary of a text that nobody may see"))
        case ["garbage"]:
            return Garbage(42)
    raise ValueError(f"no such fault: {' '.join(words)}")


async def listen(switch: Switch) -> None:
    """Reads commands from standard input until it ends."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        print(switch.told(line.decode().strip()), flush=True)


async def _serve(path: Path) -> None:
    switch = Switch()
    switch.hold_threads()
    async with Germane.open(path) as germane:
        germane._parts = switch.into(germane._open)
        server = GrpcServer(germane, ServiceSettings(db=path, grpc=Address(host="127.0.0.1", port=0), http=None))
        await server.start()
        watching = asyncio.create_task(switch.watch())
        print(server.address, flush=True)
        await listen(switch)
        watching.cancel()
        switch.told("ok")
        await server.stop(1)


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
