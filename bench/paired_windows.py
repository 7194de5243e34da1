"""Paired windows: what `bench paired` runs in each of two checkouts; this file is run there by its path.

    python -P …/bench/paired_windows.py KIND FOLDER ASSEMBLIES

It fills a store, prints `ready`, and for each line that it reads runs so many assemblies and prints the milliseconds of
processor time of one: of all threads, and of the event loop's. Of the checkout it uses only what older states have, too.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

from bench.corpus import conversations, endless, queries
from germane import Agent, Germane

_USERS, _MESSAGES, _WORDS = 50, 100, 12
_QUERIES = 20_000
_WARMING = 5
"""Windows before the first that is measured."""
_PATIENCE = 10.0
Asked = Iterator[tuple[Agent, str, str]]
"""Whom to ask what, by which strategy."""


async def _burst(germane: Germane) -> Asked:
    talk = (message for _, said in conversations(2 * _USERS * _MESSAGES + 2_000, seed=1) for message in said)
    agents = [germane.agent("a", user=f"u{user}") for user in range(_USERS)]
    for agent in agents:
        said = islice(talk, _MESSAGES)
        short = [{"role": one.role, "content": " ".join(one.content.split()[:_WORDS])} for one in said]
        await agent.record(short, session="s1")
    return ((agents[at % _USERS], text, "default") for at, text in enumerate(endless(_QUERIES, seed=7)))


async def _generated(germane: Germane, size: int) -> Asked:
    agent = germane.agent("a")
    for number, (_, said) in enumerate(conversations(size, seed=1)):
        await agent.record(list(said), session=f"s{number}")
    return ((agent, text, "verbose") for _, text in queries(_QUERIES, seed=11))


async def _labelled(germane: Germane, data: Path) -> Asked:
    from germane_eval.formats import load  # not in older checkouts

    asked = list[tuple[Agent, str]]()
    for conversation in load(data).conversations:
        agent = germane.agent(conversation.name)
        for session, said in conversation.sessions.items():
            await agent.record(said, session=session)
        asked += [(agent, question.text) for question in conversation.questions]
    return ((agent, text + " " * turn, "default") for turn in count() for agent, text in asked)


async def _window(asked: Asked, size: int) -> None:
    for agent, text, strategy in islice(asked, size):
        await agent.assemble([{"role": "user", "content": text}], model="gpt-4o", strategy=strategy, deadline=_PATIENCE)


async def main(kind: str, folder: Path, each: int) -> None:
    async with Germane.open(folder / "paired.db") as germane:
        if kind == "burst":
            asked = await _burst(germane)
        else:
            asked = await (_generated(germane, int(kind)) if kind.isdigit() else _labelled(germane, Path(kind)))
        await _window(asked, _WARMING * each)
        print("ready", flush=True)
        for _ in sys.stdin:
            began, loop = time.process_time(), time.thread_time()
            await _window(asked, each)
            print(1000 * (time.process_time() - began) / each, 1000 * (time.thread_time() - loop) / each, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
