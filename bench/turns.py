"""Turns: what a turn of a conversation costs, with many users in memory and deep in a long session.

    python -m bench turns [--users 0 100 1000 2000] [--turns 20 100 200 400]

A turn of an agent is an assembly in its session, and recording what was said. In a long session the program sends the whole
conversation, or its last ten turns. The figures are medians, in milliseconds of processor time of all threads. Last, new users
come, of whom memories are extracted; what each leaves in the process's memory is counted too.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import process_time

from psutil import Process

from bench.corpus import endless
from bench.machine import describe
from germane import Agent, Germane

__all__ = ["main"]

_MEASURED = 30
_WINDOW = 19
"""Messages of ten turns, the last of which isn't answered yet."""
_SENTENCES = 100_000
_NEW = 1000
_TURNS = 2
"""Turns of each other user: the second assembly finds what the first turn said, and so has it in memory."""


class _Conversation:
    """A session of one agent, of which the last `window` messages are sent; None sends all."""

    def __init__(self, agent: Agent, session: str, said: Iterator[str], window: int | None = None) -> None:
        self._agent, self._session, self._said, self._window = agent, session, said, window
        self._messages: list[dict[str, str]] = []

    async def turn(self) -> tuple[float, float]:
        """Milliseconds of the assembly, and of recording."""
        self._messages.append({"role": "user", "content": next(self._said)})
        began = process_time()
        await self._agent.assemble(self._sent(), model="gpt-4o", session=self._session, deadline=None)
        assembled = process_time()
        self._messages.append({"role": "assistant", "content": next(self._said)})
        await self._agent.record(self._sent(), session=self._session)
        return 1000 * (assembled - began), 1000 * (process_time() - assembled)

    def _sent(self) -> list[dict[str, str]]:
        return self._messages if self._window is None else self._messages[-self._window :]


def _row(what: str, spent: Sequence[tuple[float, float]]) -> str:
    assembling, recording = (median(values) for values in zip(*spent, strict=True))
    return f"{what:<44}{assembling:10.1f}{recording:12.1f}"


async def _among_users(germane: Germane, counts: Sequence[int], said: Iterator[str]) -> None:
    active = 0
    for count in counts:
        for number in range(active, count):
            other = _Conversation(germane.agent("a", user=f"user {number}"), "s", said)
            for _ in range(_TURNS):
                await other.turn()
        active = max(active, count)
        one = _Conversation(germane.agent("a", user=f"measured {count}"), "s", said)
        spent = [await one.turn() for _ in range(_MEASURED)]
        print(_row(f"{active:,} other users in memory", spent), flush=True)


async def _deep(germane: Germane, depths: Sequence[int], said: Iterator[str], window: int | None) -> None:
    sent = "whole" if window is None else "last ten turns"
    long = _Conversation(germane.agent("b", user=sent), "s", said, window)
    spent = list[tuple[float, float]]()
    for turn in range(1, max(depths) + 1):
        spent.append(await long.turn())
        if turn in depths:
            print(_row(f"turn {turn} of a session, {sent} sent", spent[-_MEASURED:]), flush=True)


async def _new_users(germane: Germane, count: int) -> None:
    async def come(number: int) -> float:
        said = f"My name is Ana{number}. I live in Town{number} and I prefer tea{number}."
        began = process_time()
        await germane.agent("c", user=f"new {number}").record([{"role": "user", "content": said}], session="s")
        return 1000 * (process_time() - began)

    for number in range(_MEASURED):
        await come(number)
    before = Process().memory_info().rss
    spent = [await come(_MEASURED + number) for number in range(count)]
    left = (Process().memory_info().rss - before) / count / 1000
    print(f"{f'{count:,} new users, {left:.0f} kB of memory each':<54}{median(spent):12.1f}", flush=True)


async def _run(users: Sequence[int], turns: Sequence[int]) -> None:
    said = endless(_SENTENCES, seed=7)
    with tempfile.TemporaryDirectory() as folder:
        async with Germane.open(Path(folder) / "turns.db") as germane:
            print(f"\n{'ms of processor time':<44}{'assembling':>10}{'recording':>12}")
            await _among_users(germane, sorted(users), said)
            for window in (None, _WINDOW):
                await _deep(germane, turns, said, window)
            await _new_users(germane, _NEW)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench turns", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--users", type=int, nargs="+", default=[0, 100, 1000, 2000], help="other users, with two turns each")
    parser.add_argument("--turns", type=int, nargs="+", default=[20, 100, 200, 400], help="turns of a long session")
    options = parser.parse_args(arguments)
    print(describe())
    asyncio.run(_run(options.users, options.turns))
