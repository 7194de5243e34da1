"""Remembering: memories per second in a large store, with the search for near-duplicates.

    python -m bench remembering [--memories 100000] [--callers 500]

The store is filled by concurrent callers, each of whom remembers one memory after the other; the last tenth is measured by
itself. One memory in ten repeats an earlier one in other words, so that it is linked. Processor time is that of all threads.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.machine import describe
from germane import Agent, Germane

__all__ = ["main", "texts"]

_WHO = ("She", "Caroline", "Tom", "The team", "Our customer", "My sister", "The landlord", "Mara", "Emil", "The supplier")
_DOES = ("likes", "avoids", "bought", "sold", "repaired", "borrowed", "planned", "cancelled", "photographed", "inherited")
_WHAT = (
    "bicycle",
    "greyhound",
    "kitchen",
    "boat",
    "piano",
    "garden",
    "passport",
    "vineyard",
    "laptop",
    "camera",
    "tent",
    "novel",
)
_WHERE = ("Leith", "Lisbon", "Vienna", "Bergen", "Toledo", "Kyoto", "Quito", "Tartu", "Galway", "Ghent", "Turin", "Aarhus")
_WHY = ("because of the rain", "for the anniversary", "after a long talk", "to save money", "on a friend's advice")


def texts(count: int, seed: int = 1) -> list[str]:
    """Returns statements of some ten words; one in ten is an earlier one with other small words."""
    chance, made = random.Random(seed), list[str]()
    for number in range(count):
        if made and number % 10 == 0:
            made.append(f"As we know, {made[chance.randrange(len(made))]}")
            continue
        choices = (_WHO, _DOES, ["the", "an old", "a second"], _WHAT, ["in", "near"], _WHERE, _WHY)
        words = " ".join(chance.choice(words) for words in choices)
        made.append(f"{words}, {chance.choice(_WHAT)} {chance.choice(_WHAT)} {number:x}th {chance.randbytes(3).hex()}")
    return made


async def measure(count: int, callers: int, folder: Path) -> tuple[float, float, float, float]:
    """Returns memories per second and milliseconds of processor time each: of the whole filling, and of its last tenth."""
    async with Germane.open(folder / "remembering.db", warm=False) as germane:
        agent, left = germane.agent("bench"), iter(texts(count))
        first = await _remembered(agent, left, count - count // 10, callers)
        last = await _remembered(agent, left, count // 10, callers)
    return (*first, *last)


async def _remembered(agent: Agent, left: object, count: int, callers: int) -> tuple[float, float]:
    some = iter([next(left) for _ in range(count)])  # type: ignore[call-overload]

    async def caller() -> None:
        for text in some:
            await agent.remember(text)

    began, worked = time.perf_counter(), time.process_time()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return count / (time.perf_counter() - began), 1000 * (time.process_time() - worked) / count


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench remembering", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--callers", type=int, default=500)
    options = parser.parse_args(arguments)
    print(describe())
    with tempfile.TemporaryDirectory() as folder:
        rate, worked, last_rate, last_worked = asyncio.run(measure(options.memories, options.callers, Path(folder)))
    first = options.memories - options.memories // 10
    print(f"the first {first:,}: {rate:,.0f} memories/s, {worked:.2f} ms of processor time each")
    print(f"the last {options.memories // 10:,}: {last_rate:,.0f} memories/s, {last_worked:.2f} ms of processor time each")


if __name__ == "__main__":
    main()
