"""Service: latency and degradation of the service over gRPC: normal work, overload, and a failing store.

    python -m bench service [--size 100000] [--folder PATH] [--only wire rate overload faults] [--workers 1]
                            [--connections 1] [--seconds 60]
                            [--sustainable RATE] [--json FILE]

wire      one call at a time, alternately over gRPC and in the process: what the service adds
rate      an open loop whose rate grows by a quarter each step: the highest rate at which 90 % (and 99 %) of requests are
          answered in full within 48 ms, and the most full answers per second at any rate
overload  that 90 % rate, twice and ten times as much: full answers per second that are left, and the time of a refusal
faults    at twice that rate every method of the store hangs, every reading thread blocks, every method raises or returns
          garbage, each for `--seconds`: what callers get, how late, and how soon full answers return

Driver and service are separate processes. Latency counts from the moment at which a request was due; the driver's own lateness
is shown. Queries are `corpus.QUERY_MIX`, none asked twice. Requirements: ENGINE-2, ENGINE-4, RPC-3.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import grpc.aio

from bench.arrivals import Answered, Seen, offered
from bench.corpus import endless
from bench.filled import AGENT, folder, store
from bench.machine import describe
from bench.quantiles import quantile
from germane import Germane
from germane.grpc.messages import context_pb2

__all__ = ["main"]

_KEPT, _FULL, _GIVEN_UP = 90.0, 99.0, 70.0
"""Percent of full answers in time that a rate needs: to count as sustainable, to count as kept up, and to try the next rate."""
_STEP, _FIRST, _EACH = 1.25, 15.0, 12.0
_FAULTS = ("hang", "stuck", "raise OSError", "garbage")
_DIRECTIVE = "Answer in one sentence."


class Wire:
    """Asks one service questions that nobody asked before; what comes back is looked at as a caller would. Several
    connections take turns."""

    def __init__(self, address: str, tell: Callable[[str], Awaitable[str]], connections: int = 1) -> None:
        own = (("grpc.use_local_subchannel_pool", 1),)
        self._channels = [grpc.aio.insecure_channel(address, options=own) for _ in range(connections)]
        self._stubs = cycle([context_pb2.ContextAssemblyServiceStub(channel) for channel in self._channels])
        self._questions = endless(20_000, seed=9)
        self.tell = tell

    async def ask(self) -> Answered:
        request = context_pb2.AssembleContextRequest(
            org_id="default",
            agent_id=AGENT,
            model="gpt-4o",
            messages=[context_pb2.Message(role="user", content=next(self._questions))],
        )
        answer = await next(self._stubs).AssembleContext(request)
        told = answer.metadata
        there = any(_DIRECTIVE in message.content for message in answer.messages)
        return Answered(told.degradation_level, told.fallback_reason, there)

    async def close(self) -> None:
        await asyncio.gather(*(channel.close() for channel in self._channels))


@asynccontextmanager
async def served(path: Path, workers: int, connections: int = 1) -> AsyncIterator[Wire]:
    """Starts the service: one process with switchable faults, or `germane serve` with several workers and no faults."""
    several = ["-m", "germane.cli", "--db", str(path), "--json", "serve", "--grpc", "127.0.0.1:7431", "--http", "off"]
    command = ["-m", "bench.faulty", str(path)] if workers == 1 else [*several, "--workers", str(workers), "--log-level=error"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    stdin, stdout = process.stdin, process.stdout

    async def tell(line: str) -> str:
        stdin.write(f"{line}\n".encode())
        return (await stdout.readline()).decode().strip()

    said = (await stdout.readline()).decode().strip()
    wire = Wire(said if workers == 1 else json.loads(said)["grpc"], tell, connections)
    try:
        await _warmed(wire)
        yield wire
    finally:
        await wire.close()
        if workers == 1:
            stdin.close()
        else:
            process.terminate()
        await process.wait()


async def _warmed(wire: Wire) -> None:
    for _ in range(400):
        await wire.ask()


async def _wire(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Asks equally many questions over gRPC and in the process, alternating every 20."""
    async with served(path, options.workers, options.connections) as wire, Germane.open(path) as germane:
        agent, questions = germane.agent(AGENT), endless(20_000, seed=9)
        await agent.warm()

        async def inside() -> None:
            await agent.assemble([{"role": "user", "content": next(questions)}], model="gpt-4o")

        for _ in range(400):
            await inside()
        took: dict[str, list[float]] = {"over_the_wire": [], "in_the_process": []}
        for _ in range(20):
            for name, ask in (("over_the_wire", wire.ask), ("in_the_process", inside)):
                for _ in range(20):
                    began = time.perf_counter()
                    await ask()
                    took[name].append(1000 * (time.perf_counter() - began))
    return {name: {f"p{p}": quantile(found, p) for p in (50, 95, 99)} for name, found in took.items()}


async def _rate(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Raises the rate until two steps in a row fail."""
    steps: list[dict[str, Any]] = []
    rate, missed = _FIRST, 0
    async with served(path, options.workers, options.connections) as wire:
        while missed < 2:
            steps.append({"rate": rate, **(await offered(wire.ask, rate, _EACH, seed=len(steps))).figures()})
            missed = missed + 1 if steps[-1]["goodput_percent"] < _GIVEN_UP else 0
            rate *= _STEP
    return {
        "sustainable_per_s": max((step["rate"] for step in steps if step["goodput_percent"] >= _KEPT), default=_FIRST),
        "keeps_up_to_per_s": max((step["rate"] for step in steps if step["goodput_percent"] >= _FULL), default=0.0),
        "most_per_s": max(step["goodput_per_s"] for step in steps),
        "steps": steps,
    }


async def _overload(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with served(path, options.workers, options.connections) as wire:
        for times in (0.5, 1, 2, 10):
            seen = await offered(wire.ask, times * options.sustainable, 20.0)
            shed = [took for took, one in zip(seen.took, seen.answers, strict=True) if one.reason == "shed"]
            found[f"{times}x"] = seen.figures() | {"shed": len(shed)}
            if shed:
                found[f"{times}x"] |= {f"shed_p{p}": quantile(shed, p) for p in (50, 99)}
    return found


async def _faults(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for fault in options.faults:
        async with served(path, 1) as wire:
            before = json.loads(await wire.tell("stats"))
            seen, rate = Seen(), 2 * options.sustainable
            running = asyncio.create_task(offered(wire.ask, rate, options.seconds + 10, seen=seen))
            began = time.perf_counter()
            await asyncio.sleep(5)
            await wire.tell(fault)
            broken = time.perf_counter() - began
            await asyncio.sleep(options.seconds)
            await wire.tell("ok")
            mended = time.perf_counter() - began
            await running
            full = [due for due, one in zip(seen.due, seen.answers, strict=True) if due > mended and one.level == 0]
            await asyncio.sleep(1)
            after = json.loads(await wire.tell("stats"))
            found[fault] = {
                "before": seen.figures(0, broken),
                "while": seen.figures(broken, mended),
                "after": seen.figures(mended + 2),
                "first_full_after_s": min(full, default=float("nan")) - mended,
                "process_before": before,
                "process_after": after,
            }
    return found


CASES: dict[str, Callable[[Path, argparse.Namespace], Coroutine[Any, Any, dict[str, Any]]]] = {
    "wire": _wire,
    "rate": _rate,
    "overload": _overload,
    "faults": _faults,
}


async def _directed(path: Path) -> None:
    async with Germane.open(path) as germane:
        await germane.agent(AGENT).directive(_DIRECTIVE)


def run(options: argparse.Namespace) -> None:
    print(describe())
    found: dict[str, Any] = {}
    with folder(options.folder) as place, TemporaryDirectory(dir=place) as aside:
        path = Path(shutil.copy(store(place, options.size), aside))
        asyncio.run(_directed(path))
        for name in options.only:
            found[name] = asyncio.run(CASES[name](path, options))
            shown = json.dumps(found[name], default=str)
            print(name, json.dumps(json.loads(shown, parse_float=lambda value: round(float(value), 2)), indent=1), flush=True)
            if name == "rate" and options.sustainable is None:
                options.sustainable = found[name]["sustainable_per_s"]
    if options.json:
        options.json.write_text(json.dumps(found))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench service", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000, help="messages in the agent")
    parser.add_argument("--workers", type=int, default=1, help="processes that serve (wire, rate, overload)")
    parser.add_argument("--connections", type=int, default=1, help="connections that the driver asks over, in turn")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long a fault lasts")
    parser.add_argument("--sustainable", type=float, help="requests a second; as `rate` finds it")
    parser.add_argument("--faults", nargs="+", default=list(_FAULTS))
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--folder", type=Path, help="where filled stores are kept for the next time; default: nowhere")
    parser.add_argument("--json", type=Path, help="where all figures go")
    options = parser.parse_args(arguments)
    if options.sustainable is None and "rate" not in options.only and {"overload", "faults"} & set(options.only):
        parser.error("give --sustainable, or --only rate as well")
    run(options)


if __name__ == "__main__":
    main()
