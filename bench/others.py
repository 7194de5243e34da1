"""Others: what the verbs that aren't asked for answers cost in a store that many others use.

    python -m bench others [--users 100 2000 10000] [--sessions 100 20000] [--things 100 10000]
                           [--facts 200 10000]

Each of the others has a conversation and a memory block. Measured are, in milliseconds of processor time of all threads: one
memory forgotten; a user forgotten; the requests for consent on a user's blocks; the first and a later page of an agent's users;
a user's figures; and an export of everything, for each user. Then one user has many sessions, and assemblies with strategies
that look at the latest sessions are measured, and again where each session is another person's who speaks to the agent. Then
one user has many memories, entities, tasks, patterns and events of one session, and pages of twenty of them are measured. Last,
a user tells again and again where he lives, what he does and what he likes, and what recording that takes is measured. All
figures are medians.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from time import process_time

from bench.machine import describe
from germane import Germane

__all__ = ["main"]

_TIMES = 20
_TOGETHER = 100
_STRATEGIES = ("default", "coding", "support")


class _Spent:
    """Milliseconds by what was measured, in the order of the first measurement."""

    def __init__(self) -> None:
        self._all = defaultdict[str, list[float]](list)

    async def measure(self, what: str, work: Awaitable[object], share: int = 1) -> None:
        began = process_time()
        await work
        self._all[what].append(1000 * (process_time() - began) / share)

    def told(self) -> str:
        return ", ".join(f"{what} {median(values):.2f}" for what, values in self._all.items())


async def _together(count: int, work: Callable[[int], Awaitable[object]], first: int = 0) -> None:
    for start in range(first, count, _TOGETHER):
        await asyncio.gather(*(work(number) for number in range(start, min(count, start + _TOGETHER))))


async def _all(lines: AsyncIterator[object]) -> None:
    async for _ in lines:
        pass


async def _among_users(germane: Germane, counts: Sequence[int]) -> None:
    async def come(number: int) -> None:
        agent = germane.agent("a", user=f"user {number}")
        await agent.record([{"role": "user", "content": f"Note {number} about tea", "name": f"Ana{number}"}], session="s")
        await agent.blocks.create("persona", text=f"Speaks plainly, {number}.")

    there = 0
    for count in counts:
        await _together(count, come, there)
        there, spent = max(there, count), _Spent()
        for number in range(_TIMES):
            mine = germane.agent("a", user=f"mine {count} {number}")
            memory = await mine.remember(f"Likes tea, {number}")
            await mine.blocks.create("persona", text="Speaks plainly.")
            await spent.measure("forget a memory", mine.forget([memory.id]))
            await spent.measure("consents", mine.blocks.consents())
            await spent.measure("figures", mine.stats())
            await spent.measure("forget a user", germane.agent("a").forget(user=f"mine {count} {number}"))
            await spent.measure("a page of users", germane.agent("a").users(limit=20))
        page = await germane.agent("a").users(limit=min(1000, max(1, count // 2)))
        await spent.measure("a later page", germane.agent("a").users(limit=20, cursor=page.cursor))
        await spent.measure("export, a user", _all(germane.export()), there)
        print(f"{there:,} other users: {spent.told()}", flush=True)


async def _with_sessions(germane: Germane, counts: Sequence[int], *, named: bool = False) -> None:
    mine, there = germane.agent("named" if named else "unnamed", user="mine"), 0

    async def talk(number: int) -> None:
        said = [
            {"role": "user", "content": f"Item {number} of list {number % 997}", **({"name": f"Ana{number}"} if named else {})},
            {"role": "assistant", "content": "Noted."},
        ]
        await mine.record(said, session=f"s{number}")

    for count in counts:
        await _together(count, talk, there)
        there, spent = max(there, count), _Spent()
        for number in range(_TIMES):
            asked = [{"role": "user", "content": f"What is on list {number * 37 % 997}?"}]
            for strategy in _STRATEGIES:
                work = mine.assemble(asked, model="gpt-4o", session="now", strategy=strategy, deadline=None)
                await spent.measure(strategy, work)
        await spent.measure("a page of sessions", mine.sessions(limit=20))
        print(f"{there:,} sessions{' of as many people' if named else ''}: {spent.told()}", flush=True)


async def _with_things(germane: Germane, counts: Sequence[int]) -> None:
    mine, there = germane.agent("things", user="mine"), 0

    async def come(number: int) -> None:
        await mine.remember(f"Likes item {number} of list {number % 997}")
        await mine.graph.add("person", f"Ana {number}")
        await mine.graph.patterns.learn(f"Look at list {number}", intent="fix")
        await mine.tasks.push(f"Check list {number}", session=f"s{number}")

    for count in counts:
        await _together(count, come, there)
        for first in range(there, count, _TOGETHER):
            runs = [
                {"type": "shell_exec", "content": f"check {number}"} for number in range(first, min(count, first + _TOGETHER))
            ]
            await mine.events.record_many(runs, session="s")
        there, spent = max(there, count), _Spent()
        for number in range(_TIMES):
            await spent.measure("memories", mine.memories.list(limit=20))
            await spent.measure("entities", mine.graph.list(limit=20))
            await spent.measure("tasks", mine.tasks.list(limit=20))
            await spent.measure("events", mine.events.list(limit=20))
            await spent.measure("events of a rare type", mine.events.list(types=["test"], limit=20))
            await spent.measure("events of a task", mine.events.list(task="none", limit=20))
            await spent.measure("learn a pattern", mine.graph.patterns.learn(f"Look at list {count} {number}"))
        print(f"{there:,} things of each kind, pages of 20: {spent.told()}", flush=True)


async def _with_facts(germane: Germane, counts: Sequence[int]) -> None:
    mine, there = germane.agent("facts", user="mine"), 0

    def said(first: int, count: int) -> list[dict[str, str]]:
        told = ("I live in {}burg.", "I work as a {}ist.", "My favourite colour is {}.", "I like {}.")
        numbers = range(first, first + count)
        return [{"role": "user", "content": told[number % 4].format(f"item{number * 7 % 1009}")} for number in numbers]

    for count in counts:
        for first in range(there, count, _TOGETHER):
            await mine.record(said(first, min(_TOGETHER, count - first)), session=f"s{first}")
        there, spent = max(there, count), _Spent()
        for _ in range(_TIMES):
            await spent.measure("a message", mine.record(said(there, 40), session=f"s{there}"), 40)
            there += 40
        print(f"{count:,} messages that state facts: {spent.told()}", flush=True)


@asynccontextmanager
async def _empty() -> AsyncIterator[Germane]:
    with tempfile.TemporaryDirectory() as folder:
        async with Germane.open(Path(folder) / "others.db") as germane:
            yield germane


async def _run(users: Sequence[int], sessions: Sequence[int], things: Sequence[int], facts: Sequence[int]) -> None:
    async with _empty() as germane:
        await _among_users(germane, sorted(users))
    async with _empty() as germane:
        for named in (False, True):
            await _with_sessions(germane, sorted(sessions), named=named)
    async with _empty() as germane:
        await _with_things(germane, sorted(things))
    async with _empty() as germane:
        await _with_facts(germane, sorted(facts))


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench others", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--users", type=int, nargs="+", default=[100, 2000, 10_000], help="other users")
    parser.add_argument("--sessions", type=int, nargs="+", default=[100, 20_000], help="sessions of one user")
    parser.add_argument("--things", type=int, nargs="+", default=[100, 10_000], help="things of each kind of one user")
    parser.add_argument("--facts", type=int, nargs="+", default=[200, 10_000], help="messages of one user that state facts")
    options = parser.parse_args(arguments)
    print(describe())
    asyncio.run(_run(options.users, options.sessions, options.things, options.facts))
