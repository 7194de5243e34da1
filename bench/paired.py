"""Paired: processor time of one assembly in this checkout and in another, window by window in turn.

    python -m bench paired OTHER [--of burst 1000 100000] [--data ../shared/data/locomo-dev] [--rounds 30] [--each 40]

The speed of a virtual machine changes by a third within minutes, so that two runs one after the other compare hours and not
programs. Here a process of each checkout waits for its turn, runs a few dozen assemblies and reports the processor time of all
its threads, and of the event loop's alone. What counts is the ratio within each pair: its median, and between which values half
of the pairs lie. OTHER is a checkout beside this one (`git worktree add OTHER COMMIT`); both use this Python.

burst    50 users of one agent, 100 short messages each; strategy `default`
N        N generated messages of one agent; strategy `verbose`, the queries of `bench latency`
data     the questions of labelled conversations, each recorded in a store in memory; strategy `default`

Requirements: ENGINE-8, ENGINE-10.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import IO

from bench.machine import describe
from bench.quantiles import quantile

__all__ = ["main"]

_TREE = Path(__file__).resolve().parents[1]
_WINDOWS = """
import asyncio, sys, time
from itertools import count, islice
from pathlib import Path
from bench.corpus import conversations, endless, queries
from germane import Germane
from germane.evaluate.formats import load

kind, folder, each = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])

async def burst(germane):
    talk = (message for _, said in conversations(12_000, seed=1) for message in said)
    for user in range(50):
        short = [{"role": one.role, "content": " ".join(one.content.split()[:12])} for one in islice(talk, 100)]
        await germane.agent("a", user=f"u{user}").record(short, session="s1")
    return ((germane.agent("a", user=f"u{at % 50}"), text, "default") for at, text in enumerate(endless(20_000, seed=7)))

async def generated(germane):
    agent = germane.agent("a")
    for number, (_, said) in enumerate(conversations(int(kind), seed=1)):
        await agent.record(list(said), session=f"s{number}")
    return ((agent, text, "verbose") for _, text in queries(20_000, seed=11))

async def answers(germane):
    asked = []
    for conversation in load(Path(kind)).conversations:
        agent = germane.agent(conversation.name)
        for session, said in conversation.sessions.items():
            await agent.record(said, session=session)
        asked += [(agent, question.text) for question in conversation.questions]
    return ((agent, text + " " * turn, "default") for turn in count() for agent, text in asked)

async def main():
    async with Germane.open(folder / "paired.db") as germane:
        fill = burst if kind == "burst" else generated if kind.isdigit() else answers
        work = await fill(germane)
        async def window(size):
            for agent, text, strategy in islice(work, size):
                await agent.assemble([{"role": "user", "content": text}], model="gpt-4o", strategy=strategy, deadline=10.0)
        await window(200)
        print("ready", flush=True)
        for _ in sys.stdin:
            began, loop = time.process_time(), time.thread_time()
            await window(each)
            print(1000 * (time.process_time() - began) / each, 1000 * (time.thread_time() - loop) / each, flush=True)

asyncio.run(main())
"""


class _Checkout:
    """A process that runs the windows of one checkout."""

    def __init__(self, process: subprocess.Popen[str], told: IO[str], says: IO[str]) -> None:
        self._process, self._told, self._says = process, told, says

    def ready(self) -> None:
        """Waits until its store is filled. Raises `SystemExit` where it ended before."""
        if self._says.readline().strip() != "ready":
            raise SystemExit(f"the process of {self._process.args!r:.60} ended with {self._process.wait()}")

    def window(self) -> tuple[float, float]:
        """Milliseconds of processor time for one assembly: of all threads, and of the event loop."""
        print("go", file=self._told, flush=True)
        whole, loop = map(float, self._says.readline().split())
        return whole, loop


@contextmanager
def _running(tree: Path, kind: str, each: int) -> Iterator[_Checkout]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(tree), str(tree / "src")))}
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _WINDOWS, kind, folder, str(each)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=tree, env=environment, stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            yield _Checkout(process, process.stdin, process.stdout)
            process.stdin.close()


def compared(pairs: Sequence[tuple[float, float]]) -> str:
    """The medians of both, the median of the ratios, and between which values half of the ratios lie."""
    ratios = [new / old for old, new in pairs]
    before, after = median(old for old, _ in pairs), median(new for _, new in pairs)
    spread = f"{quantile(ratios, 25):.2f} to {quantile(ratios, 75):.2f}"
    return f"{before:8.2f} ms {after:8.2f} ms {median(ratios):7.3f}   {spread}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench paired", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, help="a checkout of the state to compare with")
    parser.add_argument("--of", nargs="*", default=["burst", "1000"], help="burst, or numbers of messages")
    parser.add_argument("--data", type=Path, help="a folder of labelled conversations")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--each", type=int, default=40, help="assemblies in a window")
    options = parser.parse_args(arguments)
    if not (options.other / "src" / "germane").is_dir():
        raise SystemExit(f"{options.other} is no checkout: make one with `git worktree add {options.other} COMMIT`")
    print(describe())
    print(f"\n{'':<34}{'other':>11}{'this':>12}{'ratio':>8}   half of the pairs")
    for kind in (*options.of, *([str(options.data.resolve())] if options.data else [])):
        with ExitStack() as stack:
            both = [stack.enter_context(_running(tree, kind, options.each)) for tree in (options.other.resolve(), _TREE)]
            for one in both:
                one.ready()
            seen = list[tuple[tuple[float, float], tuple[float, float]]]()
            for number in range(options.rounds):
                first, second = both if number % 2 == 0 else reversed(both)
                windows = first.window(), second.window()
                seen.append(windows if number % 2 == 0 else (windows[1], windows[0]))
        name = kind if kind == "burst" or kind.isdigit() else Path(kind).name
        for place, what in enumerate(("processor", "event loop")):
            print(f"{f'{name}, {what}':<34}{compared([(old[place], new[place]) for old, new in seen])}", flush=True)


if __name__ == "__main__":
    main()
