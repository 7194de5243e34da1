"""Load: requests that come when they come, whether the ones before are answered or not.

    python -m bench load [--size 100000] [--rate 40] [--seconds 60] [--folder PATH] [--only open saturation burst live]

open        arrivals on a schedule (Poisson's, from a seed), each latency counted from the moment it was due, so that a late
            start counts as waiting; how late the driver itself was is told beside it
saturation  the highest rate at which 99 % are answered in full and the 99th percentile keeps within 48 ms
burst       20 requests at the same moment, again and again
live        an agent at work, one thing after another: two turns recorded, then the next question asked

One agent of `--size` messages, default embedder, queries of `corpus.QUERY_MIX`, every one asked once, so that no result is
from the cache. Driver and germane share a process, as an application and germane do. Requirements: ENGINE-2.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

from bench.corpus import conversations, queries
from bench.filled import AGENT, folder, store
from bench.machine import describe
from bench.quantiles import quantile
from germane import Agent, Germane, Message

__all__ = ["main"]

_DUE = 48.0
_FULL = 99.0
_ABREAST, _ROUNDS = 20, 50
_STEP_SECONDS = 15.0


@dataclass(slots=True)
class Seen:
    """What a caller saw, in milliseconds."""

    took: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    levels: Counter[int] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def figures(self) -> dict[str, Any]:
        total = len(self.took)
        figures: dict[str, Any] = {"requests": total, **{f"p{p}": quantile(self.took, p) for p in (50, 95, 99)}}
        figures["longest"] = max(self.took)
        if self.lags:
            figures["driver_late_p99"] = quantile(self.lags, 99)
        figures["levels_percent"] = {f"L{level}": 100 * seen / total for level, seen in sorted(self.levels.items())}
        figures["reasons"] = dict(self.reasons.most_common(6))
        return figures

    @property
    def keeps_up(self) -> bool:
        return quantile(self.took, 99) <= _DUE and 100 * self.levels[0] >= _FULL * len(self.took)


class Driver:
    """Asks one agent questions that nobody asked before."""

    def __init__(self, agent: Agent, strategy: str) -> None:
        self.agent, self._strategy = agent, strategy
        self._questions = _questions()

    async def ask(self, seen: Seen, due: float | None = None) -> None:
        """One question; what it took counts from `due`, else from now."""
        began = time.perf_counter()
        due = began if due is None else due
        messages = [{"role": "user", "content": next(self._questions)}]
        context = await self.agent.assemble(messages, model="gpt-4o", strategy=self._strategy)
        seen.took.append(1000 * (time.perf_counter() - due))
        seen.lags.append(1000 * (began - due))
        metadata = context.metadata
        seen.levels[metadata.degradation_level] += 1
        seen.reasons.update({metadata.fallback_reason} - {""})
        for report in metadata.sources:
            if report.status != "ok" and report.reason not in ("no_session", "no_query"):
                seen.reasons[f"{report.name} {report.status} {report.reason}".strip()] += 1

    async def offered(self, rate: float, seconds: float, seed: int = 3) -> Seen:
        """An open loop: `rate` requests a second, come what may."""
        random, seen, under_way = Random(seed), Seen(), set[asyncio.Task[None]]()
        began = due = time.perf_counter() + 0.1
        while (due := due + random.expovariate(rate)) < began + seconds:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            task = asyncio.create_task(self.ask(seen, due))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)
        return seen

    async def saturation(self, begin: float = 20.0) -> dict[str, Any]:
        """Doubled until it fails, then halved in until it is known within 5 %."""
        steps: list[tuple[float, Seen]] = []
        good, bad, rate = 0.0, 0.0, begin
        while not bad or bad - good > 0.05 * bad:
            seen = await self.offered(rate, _STEP_SECONDS, seed=len(steps))
            steps.append((rate, seen))
            if seen.keeps_up:
                good = rate
            else:
                bad = rate
            rate = (good + bad) / 2 if bad else 2 * rate
            if bad and not good and rate < 1:
                break
            await asyncio.sleep(0.5)
        told = [{"rate": rate, "p99": seen.figures()["p99"], "L0": seen.figures()["levels_percent"]} for rate, seen in steps]
        return {"keeps_up_to_per_s": good, "not_at_per_s": bad, "steps": told}

    async def burst(self, abreast: int, rounds: int) -> Seen:
        seen = Seen()
        for _ in range(rounds):
            due = time.perf_counter()
            await asyncio.gather(*(self.ask(seen, due) for _ in range(abreast)))
            await asyncio.sleep(0.2)
        return seen

    async def live(self, turns: int) -> dict[str, Any]:
        """Two turns recorded and the next question asked, each timed by itself."""
        recorded, asked = Seen(), Seen()
        said = [message for _, messages in conversations(2 * turns, seed=11) for message in messages]
        for turn in range(turns):
            asked_for, answer = said[2 * turn : 2 * turn + 2]
            two = [Message.of("user", asked_for.text), Message.of("assistant", answer.text)]
            began = time.perf_counter()
            await self.agent.record(two, session=f"live-{turn // 20}")
            recorded.took.append(1000 * (time.perf_counter() - began))
            await self.ask(asked)
        asked.lags.clear()
        return {"record": {f"p{p}": quantile(recorded.took, p) for p in (50, 95, 99)}, "assemble": asked.figures()}


def _questions() -> Iterator[str]:
    """Without end; made beforehand, as making them takes longer than answering them."""
    made = [text for _, text in queries(5000, seed=100)]
    return (f"{text} And {number}?" if number else text for number in count() for text in made)


@asynccontextmanager
async def serving(path: Path, strategy: str) -> AsyncIterator[Driver]:
    async with Germane.open(path) as germane:
        agent = germane.agent(AGENT)
        await agent.warm()
        driver = Driver(agent, strategy)
        for _ in range(50):
            await driver.ask(Seen())
        yield driver


async def _open(driver: Driver, options: argparse.Namespace) -> dict[str, Any]:
    return (await driver.offered(options.rate, options.seconds)).figures()


async def _saturation(driver: Driver, options: argparse.Namespace) -> dict[str, Any]:
    return await driver.saturation()


async def _burst(driver: Driver, options: argparse.Namespace) -> dict[str, Any]:
    return (await driver.burst(options.abreast, _ROUNDS)).figures()


async def _live(driver: Driver, options: argparse.Namespace) -> dict[str, Any]:
    return await driver.live(options.turns)


Case = Callable[[Driver, argparse.Namespace], Coroutine[Any, Any, dict[str, Any]]]
CASES: Mapping[str, Case] = MappingProxyType({"open": _open, "saturation": _saturation, "burst": _burst, "live": _live})


async def measured(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    async with serving(path, options.strategy) as driver:
        return await CASES[options.case](driver, options)


def run(options: argparse.Namespace) -> None:
    """Each case in a process of its own; the one that writes gets a copy."""
    print(describe())
    with folder(options.folder) as place:
        filled = store(place, options.size)
        for name in options.only:
            path = filled
            if name == "live":
                path = filled.with_name("live.db")
                shutil.copy(filled, path)
            command = [sys.executable, "-m", "bench.load", "--case", name, "--path", str(path), "--strategy", options.strategy]
            for setting in ("rate", "seconds", "abreast", "turns"):
                command += [f"--{setting}", str(getattr(options, setting))]
            answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            print(name, json.dumps(json.loads(answer, parse_float=lambda value: round(float(value), 2))), flush=True)
            if name == "live":
                for copy in place.glob("live.db*"):
                    copy.unlink()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench load", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000, help="messages in the agent")
    parser.add_argument("--rate", type=float, default=40.0, help="requests a second (open)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (open)")
    parser.add_argument("--abreast", type=int, default=_ABREAST, help="requests at once (burst)")
    parser.add_argument("--turns", type=int, default=300, help="questions (live)")
    parser.add_argument("--strategy", default="default")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--folder", type=Path, help="where filled stores are kept for the next time; default: nowhere")
    parser.add_argument("--case", choices=list(CASES), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.case:
        print(json.dumps(asyncio.run(measured(options.path, options))))
    else:
        run(options)


if __name__ == "__main__":
    main()
