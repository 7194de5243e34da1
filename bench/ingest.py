"""Ingest: recorded messages per second, including static embedding and durable commits (`synchronous=FULL`).

    python -m bench ingest [--messages 20000]

Three cases: sequential calls with 50 messages, 50 concurrent callers with one message each, sequential calls with one message.
Processor time is that of all threads; it varies less with what else runs on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from bench.corpus import conversations
from bench.machine import describe
from germane import Agent, Germane, Message

Way = Callable[[Agent, list[tuple[str, list[Message]]]], Awaitable[None]]


async def by_fifty(agent: Agent, sessions: list[tuple[str, list[Message]]]) -> None:
    for session, said in sessions:
        for start in range(0, len(said), 50):
            await agent.record(said[start : start + 50], session=session)


async def fifty_callers(agent: Agent, sessions: list[tuple[str, list[Message]]]) -> None:
    async def caller(mine: list[tuple[str, list[Message]]]) -> None:
        for session, said in mine:
            for message in said:
                await agent.record([message], session=session)

    await asyncio.gather(*(caller(sessions[number::50]) for number in range(50)))


async def one_by_one(agent: Agent, sessions: list[tuple[str, list[Message]]]) -> None:
    for session, said in sessions:
        for message in said:
            await agent.record([message], session=session)


async def measure(way: Way, count: int, length: int) -> tuple[float, float]:
    """Returns messages per second, and the milliseconds of processor time of one message."""
    sessions = list(conversations(count, length=length))
    with tempfile.TemporaryDirectory() as folder:
        async with Germane.open(Path(folder) / "ingest.db") as germane:
            agent = germane.agent("bench")
            await agent.record([Message.of("user", "first")], session="warm-up")
            began, worked = time.perf_counter(), time.process_time()
            await way(agent, sessions)
            return count / (time.perf_counter() - began), 1000 * (time.process_time() - worked) / count


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench ingest", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--messages", type=int, default=20_000)
    options = parser.parse_args(arguments)
    print(describe())
    for name, way, count, length in (
        ("calls of 50, one after another", by_fifty, options.messages, 50),
        ("50 callers, one message a call", fifty_callers, options.messages, 50),
        ("one caller, one message a call", one_by_one, options.messages // 10, 50),
    ):
        runs = [asyncio.run(measure(way, count, length)) for _ in range(3)]
        rates, worked = sorted(rate for rate, _ in runs), sorted(spent for _, spent in runs)
        spread = f"of three runs; {rates[0]:,.0f} to {rates[2]:,.0f}"
        print(f"{name:<34}{rates[1]:>8,.0f} messages/s ({spread}), {worked[1]:.2f} ms of processor time each", flush=True)


if __name__ == "__main__":
    main()
