"""Client: how long callers of the service wait while it hangs, is killed and restarts.

    [chrt --fifo 10] python -m bench client [--calls 2000] [--seconds 30] [--rate 100] [--only hung killed] [--json FILE]

healthy   calls one after another; the first call opens the connection
hung      the server's process is stopped (SIGSTOP), so that no call is answered; four calls at a time, without the client's
          circuit breaker, so that every call waits
breaker   the same with the circuit breaker, which is a client's default
killed    the server is killed (SIGKILL) and restarted at random moments, from a seed; calls are sent on a schedule; `back` is
          the time from the server's "listening" to the first full answer

Each case runs with the asyncio client and the blocking client; server and callers are separate processes on loopback. A call
that raises, or whose answer lacks one of the caller's messages, counts as hurt. `bare` is the longest time that a plain timer
of 45 ms took in the same process: the machine's own delay. `chrt` gives the callers, which use little CPU, precedence over
other work on the machine; the server has none. Requirements: RPC-3.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from bench.machine import describe
from bench.quantiles import quantile
from germane import Germane
from germane.api.remote.answer import Answer
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.grpc.server.grpc_server import GrpcServer
from germane.settings.serving import ServiceSettings
from germane.settings.values import Address

__all__ = ["main"]

_ABREAST = 4
_LIMIT = 0.045
_PAUSE = 0.001
"""Seconds between two calls of a caller: without a pause one caller would delay the others' timers."""
_ASKED = [
    {"role": "system", "content": "You are the support of a shop."},
    {"role": "user", "content": "Where is my blue vase?", "name": "caroline"},
]


@dataclass(slots=True)
class Seen:
    """What callers saw; waits are in milliseconds."""

    took: list[float] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    full: list[float] = field(default_factory=list)
    """When each full answer came."""
    hurt: int = 0
    bare: list[float] = field(default_factory=list)

    async def ticking(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(_LIMIT)
            self.bare.append((time.perf_counter() - began) * 1000)

    def tick(self, ended: threading.Event) -> None:
        began = time.perf_counter()
        while not ended.wait(_LIMIT):
            self.bare.append((time.perf_counter() - began) * 1000)
            began = time.perf_counter()

    def note(self, began: float, answer: Answer | None) -> None:
        ended = time.perf_counter()
        self.took.append((ended - began) * 1000)
        if answer is None or any(one not in answer.messages for one in _ASKED):
            self.hurt += 1
            return
        self.reasons[answer.metadata.fallback_reason or "full"] += 1
        if not answer.metadata.fallback_reason:
            self.full.append(ended)

    def figures(self) -> dict[str, Any]:
        waits = {f"p{percent}": round(quantile(self.took, percent), 2) for percent in (50, 99, 99.9)}
        said = dict(self.reasons.most_common())
        longest = {"longest": round(max(self.took), 2), "bare": round(max(self.bare, default=0.0), 2)}
        return {"calls": len(self.took), "hurt": self.hurt, **waits, **longest, "reasons": said}


class Caller:
    """The asyncio or the blocking client; `once` makes one call."""

    def __init__(self, client: Client | Blocking, seen: Seen) -> None:
        self.client, self.seen = client, seen

    def blocking(self) -> None:
        began, answer = time.perf_counter(), None
        with suppress(Exception):
            answer = self.client.assemble(_ASKED, model="gpt-4o")
        self.seen.note(began, answer)  # type: ignore[arg-type]

    async def awaited(self) -> None:
        began, answer = time.perf_counter(), None
        with suppress(Exception):
            answer = await self.client.assemble(_ASKED, model="gpt-4o")  # type: ignore[misc]
        self.seen.note(began, answer)


class Served:
    """The service in a separate process, over an empty store."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.target = f"127.0.0.1:{self.port}"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> float:
        """Starts the service. Returns the time at which it said that it listens."""
        ordinary = ["chrt", "--other", "0"] if shutil.which("chrt") else []
        command = [*ordinary, sys.executable, "-m", "bench.client", "--serve", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self._process.stdout.readline()
        return time.perf_counter()

    def send(self, what: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, what)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


@contextmanager
def served() -> Iterator[Served]:
    server = Served()
    server.start()
    try:
        yield server
    finally:
        server.kill()


async def _serve(port: int) -> None:
    async with Germane.open(":memory:") as germane:
        await germane.agent().remember("The blue vase leaves on Monday.", pinned=True)
        server = GrpcServer(germane, ServiceSettings(grpc=Address(host="127.0.0.1", port=port)))
        await server.start()
        print("listens", flush=True)
        await asyncio.Event().wait()


def _awaited(target: str, seen: Seen, work: Callable[[Caller], Awaitable[None]], **given: Any) -> None:
    async def run() -> None:
        ticking = asyncio.create_task(seen.ticking())
        async with Client(target, **given) as client:
            await work(Caller(client, seen))
        ticking.cancel()

    asyncio.run(run())


@contextmanager
def _threads(target: str, seen: Seen, **given: Any) -> Iterator[Caller]:
    ended = threading.Event()
    ticking = threading.Thread(target=seen.tick, args=(ended,))
    ticking.start()
    try:
        with Blocking(target, **given) as client:
            yield Caller(client, seen)
    finally:
        ended.set()
        ticking.join()


def _healthy(calls: int, threads: bool) -> dict[str, Any]:
    seen = Seen()

    async def work(caller: Caller) -> None:
        for _ in range(calls):
            await caller.awaited()

    with served() as server:
        if threads:
            with _threads(server.target, seen) as caller:
                for _ in range(calls):
                    caller.blocking()
        else:
            _awaited(server.target, seen, work)
    return {"first": round(seen.took[0], 2), **seen.figures()}


def _hung(calls: int, threads: bool, breaker: int) -> dict[str, Any]:
    seen = Seen()

    async def awaiting(caller: Caller) -> None:
        async def some() -> None:
            for _ in range(calls // _ABREAST):
                await caller.awaited()
                await asyncio.sleep(_PAUSE)

        assert not isinstance(caller.client, Blocking)
        await caller.client.warm()
        server.send(signal.SIGSTOP)
        await asyncio.gather(*(some() for _ in range(_ABREAST)))

    with served() as server:
        if threads:
            with _threads(server.target, seen, breaker=breaker) as caller, ThreadPoolExecutor(_ABREAST) as pool:
                assert isinstance(caller.client, Blocking)
                caller.client.warm()
                server.send(signal.SIGSTOP)

                def some() -> None:
                    for _ in range(calls // _ABREAST):
                        caller.blocking()
                        time.sleep(_PAUSE)

                for done in [pool.submit(some) for _ in range(_ABREAST)]:
                    done.result()
        else:
            _awaited(server.target, seen, awaiting, breaker=breaker)
    return seen.figures()


def _killed(seconds: float, rate: float, seed: int, threads: bool) -> dict[str, Any]:
    seen, random, ups = Seen(), Random(seed), list[float]()
    ended, server = threading.Event(), Served()

    def torment() -> None:
        while not ended.is_set():
            ups.append(server.start())
            ended.wait(random.uniform(0.2, 3.0))
            server.kill()
            ended.wait(random.uniform(0.0, 0.5))

    tormentor = threading.Thread(target=torment)
    began = time.perf_counter()

    async def work(caller: Caller) -> None:
        tasks = set[asyncio.Task[None]]()
        for number in range(int(seconds * rate)):
            await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
            tasks.add(asyncio.create_task(caller.awaited()))
        await asyncio.wait(tasks)

    tormentor.start()
    try:
        if threads:
            with _threads(server.target, seen) as caller, ThreadPoolExecutor(16) as pool:
                for number in range(int(seconds * rate)):
                    time.sleep(max(0.0, began + number / rate - time.perf_counter()))
                    pool.submit(caller.blocking)
        else:
            _awaited(server.target, seen, work)
    finally:
        ended.set()
        tormentor.join()
    full = sorted(seen.full)
    lives = zip(ups, [*ups[1:], float("inf")], strict=True)
    back = [next((at - up for at in full if up <= at < after), None) for up, after in lives]
    took = [one * 1000 for one in back if one is not None]
    told = {"kills": len(ups), "back": round(max(took, default=0.0)), "killed before": back[:-1].count(None)}
    return {**seen.figures(), **told}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench client", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=100.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=["healthy", "hung", "breaker", "killed"])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.serve:
        asyncio.run(_serve(given.serve))
        return
    print(describe())
    figures: dict[str, Any] = {"machine": describe()}
    for threads in (False, True):
        runs: dict[str, Callable[[bool], dict[str, Any]]] = {
            "healthy": partial(_healthy, given.calls),
            "hung": partial(_hung, given.calls, breaker=0),
            "breaker": partial(_hung, given.calls, breaker=5),
            "killed": partial(_killed, given.seconds, given.rate, given.seed),
        }
        for name, run in [(name, run) for name, run in runs.items() if name in given.only]:
            title = f"{name}, {'threads' if threads else 'asyncio'}"
            figures[title] = run(threads=threads)  # type: ignore[call-arg]
            print(title, figures[title], flush=True)
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
