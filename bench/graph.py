"""Graph: the time to record, look up, walk and assemble in a store with many events, entities and relations.

    python -m bench graph [--events 100000] [--entities 20000] [--relations 50000]

Entities are mentioned as names are in texts: a few often, most seldom. One entity has 10,000 relations. Assemblies with and
without the sources of the graph take turns, so that whatever else the machine does counts for both.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from bench.machine import describe
from bench.quantiles import quantile
from germane import Germane
from germane.api.agent import Agent
from germane.kinds.graph.aliases import name_key
from germane.kinds.graph.reads import PutRelation, SalientEntities, SeenNamed, ShortestPath, WalkFrom
from germane.kinds.graph.value import EntityFinding
from germane.stores.contract import ScopedStore
from germane.types.query import Filters
from germane.types.strategy import Strategy
from germane_testing.builders import a_relation, an_entity, put, saying, writing

__all__ = ["main"]

_BEGINNING = datetime(2026, 4, 1, tzinfo=UTC)
_SLICE, _HUB = 200, 10_000
_GRAPH = frozenset({"entities", "patterns", "relations"})
_COMMAND = "uv run pytest tests/test_{1}.py -q -k case_{0}\nFAILED tests/test_{1}.py::test_x - KeyError: 'a{0}'"
_ASKED = ("What did {} say about {}?", "where did {} meet {}", "Who is {}, and how does {} know them?", "news of {} and {}")


async def _filled(scoped: ScopedStore, events: int, entities: int, relations: int, random: Random) -> list[str]:
    """Stores everything; returns the ids of the entities."""
    made = [an_entity(f"Name {number}") for number in range(entities)]
    for start in range(0, entities, _SLICE):
        await scoped.commit(writing(*map(put, made[start : start + _SLICE])))
    ends = [(0, 1 + number % (entities - 1)) for number in range(min(_HUB, relations // 5))]
    ends += [(random.randrange(entities), random.randrange(entities)) for _ in range(relations - len(ends))]
    links = [
        PutRelation(a_relation(made[one], made[other], f"knows{number}", weight=random.random()), stated=put(made[one]).stated)
        for number, (one, other) in enumerate(ends)
    ]
    for start in range(0, len(links), _SLICE):
        await scoped.commit(writing(*links[start : start + _SLICE]))
    for start in range(0, events, _SLICE):
        plans = [_said(number, entities, random) for number in range(start, min(events, start + _SLICE))]
        await asyncio.gather(*(scoped.commit(plan) for plan in plans))
    return [entity.id for entity in made]


def _said(number: int, entities: int, random: Random):  # type: ignore[no-untyped-def]
    names = [f"Name {int(entities * random.random() ** 3)}" for _ in range(2)]
    found = [EntityFinding(type="person", name=name) for name in dict.fromkeys(names)]
    at = _BEGINNING + timedelta(minutes=number)
    session = f"s{number // 500}"
    return saying(f"{' met '.join(names)} on day {number}", found, session=session, position=number % 500, created_at=at)


async def _timed(what: str, calls: int, call: Callable[[int], Awaitable[object]]) -> None:
    times, worked = list[float](), time.process_time()
    for number in range(calls):
        began = time.perf_counter()
        await call(number)
        times.append((time.perf_counter() - began) * 1000)
    _told(what, times, 1000 * (time.process_time() - worked) / calls)


def _told(what: str, times: Sequence[float], worked: float) -> None:
    p50, p99 = quantile(times, 50), quantile(times, 99)
    print(f"{what:<34}p50 {p50:7.2f} ms, p99 {p99:7.2f} ms, processor {worked:7.2f} ms", flush=True)


async def _assemblies(germane: Germane, agent: Agent, calls: int, entities: int, at: datetime) -> None:
    """Times the strategy `coding` with and without the sources of the graph, and the default one, by turns."""
    random, coding = Random(11), germane.strategies.find("coding")
    alone = replace(coding, name="alone", sources=tuple(plan for plan in coding.sources if plan.name not in _GRAPH))
    kinds: dict[str, Strategy | str] = {
        "assembly, coding": coding,
        "assembly, coding without graph": alone,
        "assembly, default": "default",
    }
    times, worked = {kind: list[float]() for kind in kinds}, dict.fromkeys(kinds, 0.0)
    await agent.warm()
    for number in range(-20, calls):
        names = [f"Name {int(entities * random.random() ** 3)}" for _ in range(2)]
        asked = [{"role": "user", "content": _ASKED[number % len(_ASKED)].format(*names) + f" Day {number}"}]
        for turn in range(len(kinds)):
            kind = list(kinds)[(number + turn) % len(kinds)]
            began, before = time.perf_counter(), time.process_time()
            await agent.assemble(asked, model="gpt-4o", strategy=kinds[kind], session="s7", at=at, deadline=None)
            if number >= 0:
                times[kind].append((time.perf_counter() - began) * 1000)
                worked[kind] += (time.process_time() - before) * 1000
    for kind, taken in times.items():
        _told(kind, taken, worked[kind] / calls)
    coded, others = times["assembly, coding"], times["assembly, coding without graph"]
    ratios = ", ".join(f"p{at} {quantile(coded, at) / quantile(others, at):.2f}" for at in (50, 90, 99))
    print(f"with the graph's sources over without: {ratios}", flush=True)


async def measure(events: int, entities: int, relations: int, folder: Path) -> None:
    """Prints the time of each kind of call."""
    random, filters, now = Random(7), Filters(), _BEGINNING + timedelta(minutes=events)
    async with Germane.open(folder / "graph.db", warm=False) as germane:
        agent = germane.agent("bench")
        scoped = germane._open.store.within(agent.scope)
        began = time.perf_counter()
        ids = await _filled(scoped, events, entities, relations, random)
        print(f"filled in {time.perf_counter() - began:.0f} s", flush=True)
        bounds = {"fan_out": 20, "at": now, "filters": filters}
        plain = [saying("nobody is named", [], session="plain", position=n) for n in range(200)]
        await _timed("record without entities", 200, lambda n: scoped.commit(plain[n]))
        await _timed("record with two entities", 200, lambda n: scoped.commit(_said(events + n, entities, random)))
        await _timed("lookup by name", 500, lambda n: scoped.ask(SeenNamed([name_key(f"NAME {n}")], filters=filters)))
        await _timed("the 10 most salient", 200, lambda _: scoped.ask(SalientEntities(10, at=now, filters=filters)))
        for depth in (1, 2, 3):
            await _timed(
                f"traversal, depth {depth}",
                200,
                lambda n, depth=depth: scoped.ask(WalkFrom([ids[1 + n * 37 % (entities - 1)]], depth=depth, **bounds)),  # type: ignore[misc, arg-type]
            )
        await _timed("traversal from the hub, depth 3", 50, lambda _: scoped.ask(WalkFrom([ids[0]], depth=3, **bounds)))  # type: ignore[arg-type]
        await _timed("shortest path", 50, lambda n: scoped.ask(ShortestPath(ids[1 + n], ids[-1 - n], at=None, filters=filters)))
        coding = germane.agent("bench").events
        await _timed(
            "record a command, archetype coding",
            200,
            lambda n: coding.record("shell_exec", _COMMAND.format(n, n % 50), session="work", archetype="coding"),
        )
        await _assemblies(germane, agent, 500, entities, now)


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m bench graph")
    for name, default in (("events", 100_000), ("entities", 20_000), ("relations", 50_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args(arguments)
    print(describe())
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(given.events, given.entities, given.relations, Path(folder)))
