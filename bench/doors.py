"""Doors: one assembly and one page of memories in the library, over gRPC and over HTTP: what the way to a service costs.

    python -m bench doors [--calls 500] [--messages 1000] [--json]

The service is a process of its own (`germane serve`) on loopback; the library opens a copy of its file in the caller's process.
The three ways answer by turns, so that what disturbs the machine disturbs all of them. Every question is asked once, so that no
result comes from a cache. Requirements: HTTP-1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp

from bench.corpus import conversations, endless
from bench.machine import describe
from bench.quantiles import quantile
from germane import Germane
from germane.grpc.client import Client

__all__ = ["main"]

_AGENT, _USER = "bench", "ana"
_WARM = 20
Way = Callable[[str], Awaitable[object]]


async def _fill(path: Path, count: int) -> None:
    async with Germane.open(path) as germane:
        agent = germane.agent(_AGENT, user=_USER)
        for session, messages in conversations(count, seed=3):
            await agent.record([{"role": one.role, "content": one.content} for one in messages], session=session)
        for number in range(50):
            await agent.remember(f"Keeps box {number} in the hall", kind="note")


@contextmanager
def _served(path: Path) -> Iterator[dict[str, str]]:
    """Starts the service with a deadline that no call meets, so that each way does all of the work."""
    command = [sys.executable, "-m", "germane.cli", "--db", str(path), "--json", "serve"]
    command += ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    given = {**os.environ, "GERMANE_SERVE_DEADLINE_MS": "30000", "GERMANE_SERVE_LOG_LEVEL": "error"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=given)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.communicate()


async def _measured(path: Path, where: dict[str, str], calls: int) -> dict[str, dict[str, list[float]]]:
    url = f"http://{where['http']}/v1/agents/{_AGENT}"
    scope = {"org": "default", "user": _USER}
    async with (
        Germane.open(path) as germane,
        Client(where["grpc"], agent=_AGENT, user=_USER, limit=30.0) as client,
        aiohttp.ClientSession() as session,
    ):
        agent = germane.agent(_AGENT, user=_USER)

        async def over_http(question: str) -> object:
            body = {"messages": [{"role": "user", "content": question}], "model": "gpt-4o", "deadline": 30.0}
            async with session.post(f"{url}/assemble", params=scope, json=body) as answer:
                found = await answer.json()
            assert found["metadata"]["degradation_level"] == 0, found["metadata"]
            return found

        async def over_grpc(question: str) -> object:
            found = await client.assemble([{"role": "user", "content": question}], model="gpt-4o")
            assert found.metadata.degradation_level == 0, found.metadata
            return found

        async def in_process(question: str) -> object:
            return await agent.assemble([{"role": "user", "content": question}], model="gpt-4o", deadline=None)

        async def listed_over_http(_: str) -> object:
            async with session.get(f"{url}/memories/list", params={**scope, "limit": "10"}) as answer:
                return await answer.json()

        ways: dict[str, dict[str, Way]] = {
            "assemble": {"library": in_process, "gRPC": over_grpc, "HTTP": over_http},
            "10 memories": {
                "library": lambda _: agent.memories.list(limit=10),
                "gRPC": lambda _: client.memories.list(limit=10),
                "HTTP": listed_over_http,
            },
        }
        took: dict[str, dict[str, list[float]]] = {what: defaultdict(list) for what in ways}
        questions = endless(2000, seed=11)
        for number in range(_WARM + calls):
            for what, others in ways.items():
                for way, ask in others.items():
                    question = next(questions)
                    began = time.perf_counter()
                    await ask(question)
                    if number >= _WARM:
                        took[what][way].append(1000 * (time.perf_counter() - began))
        return took


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench doors")
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        path, copy = Path(folder) / "served.db", Path(folder) / "own.db"
        asyncio.run(_fill(path, given.messages))
        shutil.copy(path, copy)
        with _served(path) as where:
            took = asyncio.run(_measured(copy, where, given.calls))
    rows: list[dict[str, Any]] = []
    for what, ways in took.items():
        least = quantile(ways["library"], 50)
        for way, values in ways.items():
            p50, p99 = quantile(values, 50), quantile(values, 99)
            rows.append({"what": what, "way": way, "p50": p50, "p99": p99, "added": p50 - least})
    if given.json:
        print(json.dumps({"machine": describe(), "rows": rows}))
        return
    print(describe())
    print(f"\n{given.messages:,} messages, {given.calls} calls each, milliseconds\n")
    print(f"{'':<14}{'':<10}{'p50':>8}{'p99':>8}{'added':>8}")
    for row in rows:
        print(f"{row['what']:<14}{row['way']:<10}{row['p50']:8.2f}{row['p99']:8.2f}{row['added']:+8.2f}")
