"""Forgetting: how long it takes until a large store reports that nothing is left, and how much it delays other callers.

    python -m bench forgetting [--messages 100000] [--times 20] [--folder FOLDER]

Memories are forgotten one at a time, first alone, then while another agent records a message every 5 ms. For that agent the
output shows the slowest recording during each forgetting, the time of a recording otherwise, and the event loop's lag.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.filled import AGENT, folder, store
from bench.machine import describe
from bench.quantiles import quantile
from germane import Agent, Germane, Message

__all__ = ["main"]

_PAUSE = 0.005
"""Seconds between two recordings of the other agent."""


class _Others:
    """Another agent that records continuously, and a measurement of the event loop's lag."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.recordings: list[float] = []
        self.lags: list[float] = []
        self._recorded = asyncio.Event()

    async def record(self) -> None:
        while True:
            began = time.perf_counter()
            await self._agent.record([Message.of("user", f"at {began}")], session="others")
            self.recordings.append(time.perf_counter() - began)
            self._recorded.set()
            await asyncio.sleep(_PAUSE)

    async def watch(self) -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            self.lags.append(time.perf_counter() - began - 0.001)

    async def answered(self) -> None:
        """Returns when a running recording has ended."""
        self._recorded.clear()
        await self._recorded.wait()

    def slowest(self) -> tuple[float, float]:
        """Slowest recording and largest lag since the last call."""
        found = max(self.recordings, default=0.0), max(self.lags, default=0.0)
        self.recordings.clear()
        self.lags.clear()
        return found


async def measure(path: Path, times: int) -> None:
    async with Germane.open(path) as germane:
        agent, others = germane.agent(AGENT), _Others(germane.agent("others"))
        print(f"alone    {_told(await _forgotten(agent, times))}")
        tasks = [asyncio.create_task(others.record()), asyncio.create_task(others.watch())]
        usual, during, lags = list[float](), list[float](), list[float]()
        taken = list[float]()
        for _ in range(times):
            memory = await agent.remember(f"to be forgotten at {time.time()}")
            await asyncio.sleep(0.2)
            others.slowest()
            await asyncio.sleep(0.1)
            usual.append(others.slowest()[0])
            taken += await _forget(agent, memory.id)
            await others.answered()
            recording, lag = others.slowest()
            during.append(recording)
            lags.append(lag)
        for task in tasks:
            task.cancel()
        print(f"at work  {_told(taken)}")
        print(f"others   {_told(usual)} their slowest of 100 ms without a forgetting")
        print(f"         {_told(during)} their slowest during one")
        print(f"the loop {_told(lags)} late")


async def _forgotten(agent: Agent, times: int) -> list[float]:
    taken = list[float]()
    for number in range(times):
        memory = await agent.remember(f"to be forgotten, {number} at {time.time()}")
        taken += await _forget(agent, memory.id)
    return taken


async def _forget(agent: Agent, id: str) -> list[float]:
    began = time.perf_counter()
    receipt = await agent.forget([id])
    if not receipt.scrubbed:
        raise RuntimeError(f"waits for {receipt.waiting_for}")
    return [time.perf_counter() - began]


def _told(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    return f"median {1000 * quantile(ordered, 50):5.0f} ms, slowest {1000 * ordered[-1]:5.0f} ms"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench forgetting", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args(arguments)
    print(describe())
    with folder(options.folder) as place, tempfile.TemporaryDirectory(dir=place) as copies:
        copy = Path(copies) / "copy.db"
        shutil.copy(store(place, options.messages), copy)
        print(f"{options.messages:,} messages, {copy.stat().st_size / 2**20:.0f} MiB")
        asyncio.run(measure(copy, options.times))
