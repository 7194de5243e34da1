"""Graph: the time to record, look up and walk in a store with many events, entities and relations.

    python -m bench graph [--events 100000] [--entities 20000] [--relations 50000]

Entities are mentioned as names are in texts: a few often, most seldom. One entity has 10,000 relations.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from bench.machine import describe
from germane import Germane
from germane.graph.aliases import name_key
from germane.graph.findings import EntityFinding
from germane.graph.operations import PutRelation
from germane.store import ScopedStore
from germane.testing.graph_stored import a_relation, an_entity, put, saying
from germane.testing.stored import writing
from germane.types.query import Filters

__all__ = ["main"]

_BEGINNING = datetime(2026, 4, 1, tzinfo=UTC)
_SLICE, _HUB = 200, 10_000


async def _filled(scoped: ScopedStore, events: int, entities: int, relations: int, random: Random) -> list[str]:
    """Stores everything; returns the ids of the entities."""
    made = [an_entity(f"Name {number}") for number in range(entities)]
    for start in range(0, entities, _SLICE):
        await scoped.journal.commit(writing(*map(put, made[start : start + _SLICE])))
    ends = [(0, 1 + number % (entities - 1)) for number in range(min(_HUB, relations // 5))]
    ends += [(random.randrange(entities), random.randrange(entities)) for _ in range(relations - len(ends))]
    links = [
        PutRelation(a_relation(made[one], made[other], f"knows{number}", weight=random.random()), stated=put(made[one]).stated)
        for number, (one, other) in enumerate(ends)
    ]
    for start in range(0, len(links), _SLICE):
        await scoped.journal.commit(writing(*links[start : start + _SLICE]))
    for start in range(0, events, _SLICE):
        plans = [_said(number, entities, random) for number in range(start, min(events, start + _SLICE))]
        await asyncio.gather(*(scoped.journal.commit(plan) for plan in plans))
    return [entity.id for entity in made]


def _said(number: int, entities: int, random: Random):  # type: ignore[no-untyped-def]
    names = [f"Name {int(entities * random.random() ** 3)}" for _ in range(2)]
    found = [EntityFinding(type="person", name=name) for name in dict.fromkeys(names)]
    at = _BEGINNING + timedelta(minutes=number)
    session = f"s{number // 500}"
    return saying(f"{' met '.join(names)} on day {number}", found, session=session, position=number % 500, created_at=at)


async def _timed(what: str, calls: int, call: Callable[[int], Awaitable[object]]) -> None:
    times = list[float]()
    for number in range(calls):
        began = time.perf_counter()
        await call(number)
        times.append((time.perf_counter() - began) * 1000)
    times.sort()
    print(f"{what:<34}p50 {times[calls // 2]:7.2f} ms, p99 {times[min(calls - 1, calls * 99 // 100)]:7.2f} ms", flush=True)


async def measure(events: int, entities: int, relations: int, folder: Path) -> None:
    """Prints the time of each kind of call."""
    random, filters, now = Random(7), Filters(), _BEGINNING + timedelta(minutes=events)
    async with Germane.open(folder / "graph.db", warm=False) as germane:
        scoped = germane._open.store.within(germane.agent("bench").scope)
        began = time.perf_counter()
        ids = await _filled(scoped, events, entities, relations, random)
        print(f"filled in {time.perf_counter() - began:.0f} s", flush=True)
        graph, bounds = scoped.graph, {"fan_out": 20, "at": now, "filters": filters}
        plain = [saying("nobody is named", [], session="plain", position=n) for n in range(200)]
        await _timed("record without entities", 200, lambda n: scoped.journal.commit(plain[n]))
        await _timed("record with two entities", 200, lambda n: scoped.journal.commit(_said(events + n, entities, random)))
        await _timed("lookup by name", 500, lambda n: graph.named([name_key(f"NAME {n}")], filters=filters))
        await _timed("the 10 most salient", 200, lambda _: graph.salient(10, at=now, filters=filters))
        for depth in (1, 2, 3):
            await _timed(
                f"traversal, depth {depth}",
                200,
                lambda n, depth=depth: graph.neighbourhood([ids[1 + n * 37 % (entities - 1)]], depth=depth, **bounds),  # type: ignore[misc, arg-type]
            )
        await _timed("traversal from the hub, depth 3", 50, lambda _: graph.neighbourhood([ids[0]], depth=3, **bounds))  # type: ignore[arg-type]
        await _timed("shortest path", 50, lambda n: graph.path(ids[1 + n], ids[-1 - n], at=None, filters=filters))


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m bench graph")
    for name, default in (("events", 100_000), ("entities", 20_000), ("relations", 50_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args(arguments)
    print(describe())
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(given.events, given.entities, given.relations, Path(folder)))
