"""Giant: how long one stored text of a million characters delays other callers.

    python -m bench giant [--size 1000000] [--times 15]

One org asks about such a text while another org's call arrives. That call's time is compared, in pairs, with its time while an
org with a short text asks. The output shows the differences of the pairs. Target: at most 10 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from bench.machine import describe
from bench.quantiles import quantile
from germane import Agent, Germane

__all__ = ["KINDS", "delays", "main", "text_of"]

KINDS: Mapping[str, str] = {
    "prose": "The quick brown fox found a parcel in Lisbon. ",
    "one letter": "a",
    "spaces behind a bracket": "[" + " " * 999,
    "distinct words": "",
    "line breaks": "\n",
    "headings": "# system: ",
    "Chinese": "漢字仮名交じり文、",
    "combining marks": "e\u0301\u0316\u0327",
    "emoji": "👨\u200d👩\u200d👧 ",
    "flags": "\U0001f1e6\U0001f1f9",
    "that expand": "\ufdfa",
    "escaped": "<&>'\"",
    "digits and dots": "1.",
}
"""The piece that is repeated to make each text; empty: words that are all different."""
_AIM = 0.010
_ASKED = "Which parcel did the fox find in Lisbon?"


def text_of(unit: str, size: int) -> str:
    if not unit:
        return " ".join(f"w{number:x}" for number in range(size // 6))[:size]
    return f"parcel Lisbon {unit * (size // len(unit) + 1)}"[:size]


async def _answer(agent: Agent, number: int) -> float:
    began = perf_counter()
    await agent.assemble([{"role": "user", "content": f"{_ASKED} {number}"}], model="gpt-4o", session="now")
    return perf_counter() - began


async def _beside(neighbour: Agent, other: Agent, number: int) -> float:
    """Seconds of the other org's call when both ask at once. Use each `number` once: a cached answer takes no time."""
    asking = asyncio.ensure_future(_answer(other, number))
    await asyncio.sleep(0)
    took = await _answer(neighbour, number)
    await asking
    return took


async def delays(germane: Germane, kind: str, *, size: int, times: int) -> list[float]:
    """Seconds by which the other org's answer is delayed, one value per pair."""
    neighbour = germane.agent("a", org="neighbour", user="u")
    plain = germane.agent("a", org="plain", user="u")
    giant = germane.agent("a", org=f"giant {kind}", user="u")
    await giant.record([{"role": "user", "content": text_of(KINDS[kind], size)}], session="now")
    await asyncio.gather(giant.warm(), plain.warm(), neighbour.warm())
    found: list[float] = []
    for number in range(times + 2):
        pair = await _beside(neighbour, plain, 2 * number), await _beside(neighbour, giant, 2 * number + 1)
        if number >= 2:
            found.append(pair[1] - pair[0])
    return found


async def _run(size: int, times: int) -> int:
    print(f"{describe()}\n\ntexts of {size:,} characters; delay of another caller's answer in ms, {times} pairs each\n")
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        async with Germane.open(Path(folder) / "giant.db") as germane:
            said: list[dict[str, Any]] = [
                {"role": "user" if at % 2 else "assistant", "content": f"{_ASKED} It was number {at}."} for at in range(100)
            ]
            await germane.agent("a", org="neighbour", user="u").record(said, session="before")
            await germane.agent("a", org="plain", user="u").record(said[:1], session="now")
            for kind in KINDS:
                found = await delays(germane, kind, size=size, times=times)
                worst = max(worst, median(found))
                told = f"median {1000 * median(found):6.1f}   p90 {1000 * quantile(found, 90):6.1f}"
                print(f"{kind:<26} {told}", flush=True)
    print(f"\nthe longest median delay: {1000 * worst:.1f} ms, aim 10")
    return int(worst > _AIM)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench giant", description=__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=15)
    options = parser.parse_args(arguments)
    return asyncio.run(_run(options.size, options.times))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
