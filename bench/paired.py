"""Paired: processor time of one assembly in this checkout and in another, window by window in turn.

    python -m bench paired OTHER [--of burst 1000 100000] [--data ../shared/data/locomo-dev] [--rounds 30] [--each 40]

The speed of a virtual machine changes by a third within minutes, so that two runs one after the other compare hours and not
programs. Here a process of each checkout waits for its turn, runs a few dozen assemblies and reports the processor time of all
its threads, and of the event loop's alone. What counts is the ratio within each pair: its median, and between which values half
of the pairs lie. OTHER is a checkout beside this one (`git worktree add OTHER COMMIT`). It uses the Python of its own `.venv`,
as its dependencies can differ, and this one's where it has none.

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
_WINDOWS = Path(__file__).with_name("paired_windows.py")


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
        own = tree / ".venv" / "bin" / "python"
        command = [str(own) if own.exists() else sys.executable, "-P", str(_WINDOWS), kind, folder, str(each)]
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
            seen = [list[tuple[float, float]](), list[tuple[float, float]]()]
            for number in range(options.rounds):
                for place in (0, 1) if number % 2 == 0 else (1, 0):  # each begins every second pair
                    seen[place].append(both[place].window())
        for at, what in enumerate(("processor", "event loop")):
            pairs = [(old[at], new[at]) for old, new in zip(*seen, strict=True)]
            print(f"{f'{Path(kind).name}, {what}':<34}{compared(pairs)}", flush=True)


if __name__ == "__main__":
    main()
