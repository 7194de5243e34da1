"""Load: latency under an open loop of requests, by rate, in bursts, and between recordings.

    python -m bench load [--size 100000] [--rate 20] [--seconds 60] [--processes 1 2] [--folder PATH]
                         [--only open saturation burst live]

open        Poisson arrivals from a seed; latency and deadline count from the moment at which a request was due, so that a late
            start counts as waiting; the driver's own lateness is shown beside it
saturation  the highest rate at which 99 % of requests are answered in full and p99 stays within 48 ms
burst       20 requests at the same moment, repeatedly
live        one agent in sequence, in one process: two turns are recorded, then the next question is asked

One agent of `--size` messages, default embedder, queries of `corpus.QUERY_MIX`, each asked once, so that no result comes from
the cache. The driver is a separate process and sends to as many servers over one file as each number in `--processes` says.
Each server can use one processor; where there are as many servers as processors, the driver takes CPU time from one of them.
Requirements: ENGINE-2, ENGINE-4.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.arrivals import arriving, searched
from bench.corpus import conversations, endless
from bench.filled import AGENT, folder, store
from bench.machine import describe
from bench.quantiles import quantile
from bench.serving import Answer, Servers
from germane import Germane, Message

__all__ = ["Seen", "climb", "main"]

_DUE = 48.0
_FULL = 99.0
_ABREAST, _ROUNDS = 20, 50
_BEGIN, _FACTOR, _FAILURES = 5.0, 1.3, 2
"""Saturation: first rate in requests per second, factor between steps, and failing steps in a row that end the search."""
_STEP_SECONDS, _STEP_REQUESTS = 10.0, 200
"""Minimum duration and requests of a step: with fewer requests p99 would be the maximum."""
SERVED = ("open", "saturation", "burst")
CASES = (*SERVED, "live")


@dataclass(slots=True)
class Seen:
    """What a caller saw: milliseconds, from when each request was due; how late it was sent; `good` were answered in full and
    in time, `searched` in time, and in full or with the best few."""

    took: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    levels: Counter[int] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    good: int = 0
    searched: int = 0
    seconds: float = 0.0

    def add(self, took: float, lag: float, level: int, reasons: Sequence[str] = ()) -> None:
        self.took.append(took)
        self.lags.append(lag)
        self.levels[level] += 1
        self.reasons.update(reasons)
        self.good += level == 0 and took <= _DUE
        self.searched += searched(level, reasons) and took <= _DUE

    def figures(self) -> dict[str, Any]:
        total = len(self.took)
        figures: dict[str, Any] = {"requests": total, **{f"p{p}": quantile(self.took, p) for p in (50, 95, 99)}}
        figures["longest"] = max(self.took)
        if any(self.lags):
            figures["driver_late_p99"] = quantile(self.lags, 99)
        if self.seconds:
            figures["goodput_per_s"], figures["searched_per_s"] = self.good / self.seconds, self.searched / self.seconds
        figures["levels_percent"] = {f"L{level}": 100 * seen / total for level, seen in sorted(self.levels.items())}
        figures["reasons"] = dict(self.reasons.most_common(6))
        return figures

    @property
    def keeps_up(self) -> bool:
        return quantile(self.took, 99) <= _DUE and 100 * self.levels[0] >= _FULL * len(self.took)


class Driver:
    """Asks questions that were never asked before, so that no answer is cached."""

    def __init__(self, ask: Callable[[str, float], Awaitable[Answer]]) -> None:
        self._ask, self._questions = ask, endless(5000, seed=100)

    async def ask(self, seen: Seen, due: float) -> None:
        began = time.perf_counter()
        answer = await self._ask(next(self._questions), due)
        seen.add(1000 * (time.perf_counter() - due), 1000 * (began - due), answer.level, answer.reasons)

    async def offered(self, rate: float, seconds: float, seed: int = 3) -> Seen:
        """An open loop: `rate` requests a second, come what may."""
        seen = Seen(seconds=seconds)
        await arriving(lambda due: self.ask(seen, due), rate, seconds, seed)
        return seen

    async def step(self, rate: float) -> Seen:
        """One step of the search for saturation."""
        await asyncio.sleep(0.5)
        return await self.offered(rate, max(_STEP_SECONDS, _STEP_REQUESTS / rate), seed=int(rate))

    async def burst(self, abreast: int, rounds: int) -> Seen:
        seen = Seen()
        for _ in range(rounds):
            due = time.perf_counter()
            await asyncio.gather(*(self.ask(seen, due) for _ in range(abreast)))
            await asyncio.sleep(0.2)
        return seen


async def climb(step: Callable[[float], Awaitable[Seen]]) -> dict[str, Any]:
    """Steeper by 1.3 until two steps in a row fail: one alone may be another process's doing. Answers the last rate that kept
    up, 0 where none did, and every step."""
    rate, kept, failures, steps = _BEGIN, 0.0, 0, list[dict[str, Any]]()
    while failures < _FAILURES:
        seen = await step(rate)
        failures = 0 if seen.keeps_up else failures + 1
        kept = rate if seen.keeps_up else kept
        told = seen.figures()
        names = ("p50", "p99", "driver_late_p99", "goodput_per_s", "levels_percent")
        steps.append({"rate": rate, "kept": seen.keeps_up, **{name: told[name] for name in names if name in told}})
        rate *= _FACTOR
    return {"keeps_up_to_per_s": kept, "steps": steps}


async def _served(name: str, path: Path, processes: int, options: argparse.Namespace) -> dict[str, Any]:
    async with Servers.open(path, processes, options.strategy) as servers:
        driver = Driver(servers.ask)
        match name:
            case "open":
                return (await driver.offered(options.rate, options.seconds)).figures()
            case "saturation":
                return await climb(driver.step)
            case _:
                return (await driver.burst(options.abreast, _ROUNDS)).figures()


async def _live(path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Records two turns and asks the next question, each timed separately."""
    recorded, asked = list[float](), Seen()
    said = [message for _, messages in conversations(2 * options.turns, seed=11) for message in messages]
    questions = endless(5000, seed=100)
    async with Germane.open(path) as germane:
        agent = germane.agent(AGENT)
        await agent.warm()

        async def ask() -> int:
            context = await agent.assemble(
                [{"role": "user", "content": next(questions)}], model="gpt-4o", strategy=options.strategy
            )
            return context.metadata.degradation_level

        for _ in range(300):
            await ask()
        for turn in range(options.turns):
            asked_for, answer = said[2 * turn : 2 * turn + 2]
            two = [Message.of("user", asked_for.text), Message.of("assistant", answer.text)]
            began = time.perf_counter()
            await agent.record(two, session=f"live-{turn // 20}")
            between = time.perf_counter()
            recorded.append(1000 * (between - began))
            level = await ask()
            asked.add(1000 * (time.perf_counter() - between), 0.0, level)
    return {"record": {f"p{p}": quantile(recorded, p) for p in (50, 95, 99)}, "assemble": asked.figures()}


def run(options: argparse.Namespace) -> None:
    print(describe())
    with folder(options.folder) as place:
        path = store(place, options.size)
        for name in options.only:
            if name in SERVED:
                for processes in options.processes:
                    _tell(f"{name} processes={processes}", asyncio.run(_served(name, path, processes, options)))
            else:
                with TemporaryDirectory(dir=place) as aside:  # it writes: into a copy
                    _tell(name, asyncio.run(_live(Path(shutil.copy(path, aside)), options)))


def _tell(name: str, figures: dict[str, Any]) -> None:
    rounded = json.loads(json.dumps(figures), parse_float=lambda value: round(float(value), 2))
    print(name, json.dumps(rounded), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench load", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=100_000, help="messages in the agent")
    parser.add_argument("--rate", type=float, default=20.0, help="requests a second (open)")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (open)")
    several = sorted({1, os.cpu_count() or 1})
    parser.add_argument("--processes", type=int, nargs="+", default=several, help="that serve (open, saturation, burst)")
    parser.add_argument("--abreast", type=int, default=_ABREAST, help="requests at once (burst)")
    parser.add_argument("--turns", type=int, default=300, help="questions (live)")
    parser.add_argument("--strategy", default="default")
    parser.add_argument("--only", nargs="+", choices=CASES, default=CASES)
    parser.add_argument("--folder", type=Path, help="where filled stores are kept for the next time; default: nowhere")
    run(parser.parse_args(arguments))


if __name__ == "__main__":
    main()
