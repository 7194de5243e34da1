"""Burst: many calls of one agent's users at the same moment, by deadline; directly after a restart; and at ten times the load.

    python -m bench burst [--rounds 5] [--only burst empty restart load] [--json]

burst    20 and 50 calls at once in one process, one for each user, each on 100 messages; deadlines 48 ms, 250 ms, none
empty    500 calls at once on an empty store, deadline 250 ms, as the first calls of the process and again
restart  50 calls at once as the first calls of a process that has just opened the store: how many have the directive
load     an open loop at ten times the rate of full answers, for two seconds: the latency of the refusals

"In full" are answers at level 0, "searched" are those and the shallow ones. All calls run in the caller's process, on two event
loop turns at most: what isn't measured is the wire. Every question is asked once, so that no result comes from the cache.
Requirements: ENGINE-4, ENGINE-10, ENGINE-11, ENGINE-12.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.arrivals import Answered, offered
from bench.corpus import conversations, endless
from bench.machine import describe
from bench.quantiles import quantile
from germane import Germane
from germane.types.context import Context

__all__ = ["main"]

_PARTS = ("burst", "empty", "restart", "load")
_AGENT, _USERS, _MESSAGES = "bench", 50, 100
_DIRECTIVE = "Answer in one sentence."
_DEADLINES = (0.048, 0.25, None)
_WORDS = 12
"""Words of a message: people chat in short ones."""
_PAUSE = 0.3
_CROWD = 500


async def _fill(path: Path) -> None:
    async with Germane.open(path) as germane:
        await germane.agent(_AGENT).directive(_DIRECTIVE)
        talk = (message for _, messages in conversations(2 * _USERS * _MESSAGES, seed=1) for message in messages)
        for user in range(_USERS):
            messages = [{"role": message.role, "content": _short(message.content)} for message in islice(talk, _MESSAGES)]
            await germane.agent(_AGENT, user=f"user-{user}").record(messages, session="s1")


def _short(text: str) -> str:
    return " ".join(text.split()[:_WORDS])


async def _ask(germane: Germane, user: int, question: str, deadline: float | None) -> tuple[float, Context]:
    began = time.perf_counter()
    agent = germane.agent(_AGENT, user=f"user-{user}")
    messages = [{"role": "user", "content": question}]
    context = await agent.assemble(messages, model="gpt-4o", deadline=deadline)
    return 1000 * (time.perf_counter() - began), context


def _answered(context: Context) -> Answered:
    metadata = context.metadata
    return Answered(metadata.degradation_level, metadata.fallback_reason, metadata.directive_injected)


async def _at_once(
    germane: Germane, calls: int, questions: Iterator[str], deadline: float | None
) -> list[tuple[float, Context]]:
    asked = (_ask(germane, user % _USERS, next(questions), deadline) for user in range(calls))
    return list(await asyncio.gather(*asked))


async def _burst(germane: Germane, questions: Iterator[str], rounds: int) -> Iterator[dict[str, Any]]:
    rows = []
    for calls in (20, 50):
        for deadline in _DEADLINES:
            found: list[tuple[float, Context]] = []
            for _ in range(rounds):
                found += await _at_once(germane, calls, questions, deadline)
                await asyncio.sleep(_PAUSE)
            took = [took for took, _ in found]
            levels = Counter(context.metadata.degradation_level for _, context in found)
            searched = sum(_answered(context).searched for _, context in found)
            rows.append(
                {
                    "calls": calls,
                    "deadline": deadline,
                    "full_percent": 100 * levels[0] / len(found),
                    "searched_percent": 100 * searched / len(found),
                    "in_time_percent": 100 * sum(deadline is None or one <= 1000 * deadline for one in took) / len(took),
                    "p50": quantile(took, 50),
                    "p99": quantile(took, 99),
                    "levels": dict(sorted(levels.items())),
                }
            )
    return iter(rows)


async def _empty(path: Path, questions: Iterator[str], rounds: int) -> dict[str, Any]:
    """How many of a crowd have a full answer; the first crowd of the process is a figure of its own."""
    full, longest = [], 0.0
    async with Germane.open(path) as germane:
        for _ in range(1 + rounds):
            found = await _at_once(germane, _CROWD, questions, 0.25)
            full.append(sum(context.metadata.degradation_level == 0 for _, context in found))
            longest = max(longest, *(took for took, _ in found))
            await asyncio.sleep(_PAUSE)
    return {"calls": _CROWD, "first_full": full[0], "full": sum(full[1:]) / rounds, "longest": longest}


async def _restart(path: Path, questions: Iterator[str], rounds: int) -> dict[str, Any]:
    held, levels, total = 0, Counter[int](), 0
    for _ in range(rounds):
        async with Germane.open(path) as germane:
            found = await _at_once(germane, _USERS, questions, 0.048)
        held += sum(_DIRECTIVE in context.added for _, context in found)
        levels.update(context.metadata.degradation_level for _, context in found)
        total += len(found)
    return {"calls": total, "directive_percent": 100 * held / total, "levels": dict(sorted(levels.items()))}


async def _load(germane: Germane, questions: Iterator[str]) -> dict[str, Any]:
    """The rate of full answers is measured first, one call after another."""
    began = time.perf_counter()
    for user in range(100):
        await _ask(germane, user % _USERS, next(questions), 0.048)
    rate = 10 * 100 / (time.perf_counter() - began)
    users = iter(range(1_000_000))

    async def one() -> Answered:
        _, context = await _ask(germane, next(users) % _USERS, next(questions), 0.048)
        return _answered(context)

    seen = await offered(one, rate, 2.0)
    began_at = [(took - late, answer) for took, late, answer in zip(seen.took, seen.late, seen.answers, strict=True)]
    refused = [took for took, answer in began_at if answer.reason == "shed"] or [0.0]
    return {
        "rate": rate,
        "full_per_s": sum(answer.level == 0 for answer in seen.answers) / 2.0,
        "searched_per_s": sum(answer.searched for answer in seen.answers) / 2.0,
        "levels": dict(sorted(Counter(answer.level for answer in seen.answers).items())),
        "refused": len(refused),
        "p50": quantile(refused, 50),
        "p99": quantile(refused, 99),
    }


async def _run(options: argparse.Namespace) -> dict[str, Any]:
    questions, found = iter(endless(20_000, seed=7)), dict[str, Any]()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "burst.db"
        if "empty" in options.only:
            found["empty"] = await _empty(Path(folder) / "empty.db", questions, options.rounds)
        if {*options.only} == {"empty"}:
            return found
        await _fill(path)
        if "restart" in options.only:
            found["restart"] = await _restart(path, questions, options.rounds)
        async with Germane.open(path) as germane:
            for user in range(_USERS):
                await germane.agent(_AGENT, user=f"user-{user}").warm()
            await _at_once(germane, _USERS, questions, None)
            if "burst" in options.only:
                found["burst"] = list(await _burst(germane, questions, options.rounds))
            if "load" in options.only:
                found["load"] = await _load(germane, questions)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench burst", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=_PARTS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found = asyncio.run(_run(options))
    if options.json:
        print(json.dumps(found | {"machine": describe()}))
        return
    for row in found.get("burst", ()):
        print(
            f"{row['calls']:>3} at once, {row['deadline']!s:>5} s: in full {row['full_percent']:5.1f} %,"
            f" searched {row['searched_percent']:5.1f} %, in time {row['in_time_percent']:5.1f} %,"
            f" p50 {row['p50']:6.1f} ms, p99 {row['p99']:6.1f} ms, levels {row['levels']}"
        )
    if empty := found.get("empty"):
        print(
            f"{empty['calls']} at once on an empty store, 0.25 s: in full {empty['first_full']} as the first calls of the"
            f" process, then {empty['full']:.0f}, longest {empty['longest']:.0f} ms"
        )
    if restart := found.get("restart"):
        share, levels = restart["directive_percent"], restart["levels"]
        print(f"after a restart: directive {share:.1f} % of {restart['calls']}, levels {levels}")
    if load := found.get("load"):
        print(
            f"ten times the load ({load['rate']:.0f}/s): {load['full_per_s']:.0f} full answers a second,"
            f" {load['searched_per_s']:.0f} full or shallow,"
            f" {load['refused']} refused, p50 {load['p50']:.2f} ms, p99 {load['p99']:.2f} ms, levels {load['levels']}"
        )


if __name__ == "__main__":
    main()
