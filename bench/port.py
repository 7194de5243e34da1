"""Port: how a client without an API key affects the service and the callers that have a key.

    python -m bench port [--size 1000] [--seconds 20] [--rate 20] [--only quiet streams bodies silent] [--folder PATH]
                         [--json FILE]

quiet     no attack
streams   2,000 calls without a key, open at once on 8 connections: Health/Watch, and calls whose request never arrives
bodies    2 GB of requests without a key, 130 of 15 MB at a time
silent    1,000 HTTP connections that send nothing, or the head of a request byte by byte

The service (`germane serve --require-keys`) and the attack (`bench.attack`) are separate processes. Meanwhile callers with a
key ask at `--rate` per second, and `/health` is requested five times per second. `memory` is resident memory in MB before the
attack and its maximum, sampled twenty times per second. A call is `served` if the service answered it, in full or not,
otherwise `lost`. The run fails if a call is lost, a health request isn't answered, or memory grows by more than 64 MB.
Requirements: RPC-3, RPC-5, OPS-1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copy
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from bench.arrivals import arriving
from bench.corpus import endless
from bench.filled import AGENT, folder, store
from bench.machine import describe
from bench.quantiles import quantile
from germane import Germane
from germane.grpc.client import Client

__all__ = ["main"]

_ALLOWED = 64.0
"""MB by which an attack may raise resident memory."""
_ATTACKS: dict[str, tuple[str, ...]] = {
    "quiet": (),
    "streams": ("streams", "--count", "2000"),
    "bodies": ("bodies", "--megabytes", "2000"),
    "silent": ("silent", "--count", "1000"),
}
_PATIENCE = 5.0
"""Time-out of callers and health probes in seconds: longer than real ones, so that late answers are measured."""


@dataclass(slots=True)
class Seen:
    """What callers with a key and the health probe saw; times in milliseconds, memory in MB."""

    took: list[float] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)
    levels: Counter[str] = field(default_factory=Counter)
    health: list[float] = field(default_factory=list)
    unhealthy: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    memory: list[float] = field(default_factory=list)
    before: float = 0.0

    @property
    def added(self) -> float:
        return max(self.memory, default=self.before) - self.before

    @property
    def fine(self) -> bool:
        return not self.lost and not self.unhealthy and self.added <= _ALLOWED

    def figures(self) -> dict[str, Any]:
        return {
            "memory": {"before": self.before, "most": max(self.memory, default=0.0), "added": self.added},
            "served": len(self.took),
            "lost": dict(self.lost),
            "levels": dict(sorted(self.levels.items())),
            **({f"p{p}": quantile(self.took, p) for p in (50, 99)} if self.took else {}),
            "health": {
                "answered": len(self.health),
                "missed": dict(self.unhealthy),
                **({f"p{p}": quantile(self.health, p) for p in (50, 99)} if self.health else {}),
            },
            "not_ready": dict(self.reasons),
        }


@dataclass(frozen=True, slots=True)
class Service:
    process: psutil.Process
    grpc: str
    http: str

    @property
    def resident(self) -> float:
        return float(self.process.memory_info().rss / 1e6)


@asynccontextmanager
async def served(path: Path) -> AsyncIterator[Service]:
    command = ["-m", "germane.cli", "--db", str(path), "--json", "serve", "--require-keys", "--log-level", "warning"]
    addresses = ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    with path.with_suffix(".log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *command, *addresses, stdout=asyncio.subprocess.PIPE, stderr=log
        )
        assert process.stdout is not None
        try:
            where = json.loads(await process.stdout.readline())
            yield Service(psutil.Process(process.pid), where["grpc"], where["http"])
        finally:
            with suppress(ProcessLookupError):
                process.terminate()
            try:
                await asyncio.wait_for(process.wait(), 30)
            except TimeoutError:
                process.kill()
                await process.wait()


async def _watched(service: Service, seen: Seen) -> None:
    while True:
        with suppress(psutil.Error):
            seen.memory.append(service.resident)
        await asyncio.sleep(0.05)


async def _asking(client: Client, questions: Any, rate: float, seconds: float, seen: Seen) -> None:
    async def one(due: float) -> None:
        asked = [{"role": "user", "content": next(questions)}]
        answer = (await client.assemble(asked, model="gpt-4o")).metadata
        if answer.fallback_reason.startswith(("grpc_error", "client_")):
            seen.lost[answer.fallback_reason] += 1
            return
        seen.took.append(1000 * (time.perf_counter() - due))
        seen.levels[f"L{answer.degradation_level}"] += 1

    await arriving(one, rate, seconds, seed=4)


async def _health(service: Service, seen: Seen) -> None:
    """Probes health in a thread, since urllib blocks. Each probe opens a new connection, as load balancers do."""

    def get(path: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(f"http://{service.http}{path}", timeout=_PATIENCE) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    while True:
        began = time.perf_counter()
        try:
            status, _ = await asyncio.to_thread(get, "/health")
            if status == 200:
                seen.health.append(1000 * (time.perf_counter() - began))
            else:
                seen.unhealthy[str(status)] += 1
            _, told = await asyncio.to_thread(get, "/ready")
            with suppress(ValueError, KeyError):
                seen.reasons.update(json.loads(told)["reasons"])
        except OSError as error:
            seen.unhealthy[type(error).__name__] += 1
        await asyncio.sleep(0.2)


async def _attacked(service: Service, name: str, seconds: float) -> dict[str, Any]:
    if not (arguments := _ATTACKS[name]):
        await asyncio.sleep(seconds)
        return {}
    target = service.http if name == "silent" else service.grpc
    given = (arguments[0], target, *arguments[1:], "--seconds", str(seconds))
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.attack", *given, stdout=asyncio.subprocess.PIPE)
    told, _ = await process.communicate()
    return json.loads(told) if told else {"ended": process.returncode}


async def _case(path: Path, key: str, name: str, options: argparse.Namespace) -> tuple[Seen, dict[str, Any]]:
    seen, questions = Seen(), endless(20_000, seed=9)
    async with served(path) as service, Client(service.grpc, agent=AGENT, key=key, limit=_PATIENCE, breaker=0) as client:
        warming = Seen()
        await _asking(client, questions, options.rate, 5.0, warming)
        seen.before = service.resident
        beside = [asyncio.create_task(_watched(service, seen)), asyncio.create_task(_health(service, seen))]
        asking = asyncio.create_task(_asking(client, questions, options.rate, options.seconds, seen))
        attack = await _attacked(service, name, options.seconds)
        await asking
        for task in beside:
            task.cancel()
        await asyncio.gather(*beside, return_exceptions=True)
    return seen, attack


async def _key(path: Path) -> str:
    async with Germane.open(path) as germane:
        return (await germane.keys.create(org="default")).token


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench port", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=1000, help="messages in the agent")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each attack lasts")
    parser.add_argument("--rate", type=float, default=20.0, help="questions a second by callers with a key")
    parser.add_argument("--only", nargs="+", choices=list(_ATTACKS), default=list(_ATTACKS))
    parser.add_argument("--folder", type=Path, help="where filled stores are kept for the next time; default: nowhere")
    parser.add_argument("--json", type=Path, help="where all figures go")
    options = parser.parse_args(arguments)
    print(describe())
    found, fine = dict[str, Any](), True
    with folder(options.folder) as place, TemporaryDirectory(dir=place) as aside:
        path = Path(copy(store(place, options.size), aside))
        key = asyncio.run(_key(path))
        for name in options.only:
            seen, attack = asyncio.run(_case(path, key, name, options))
            found[name] = seen.figures() | {"attack": attack}
            fine &= seen.fine
            shown = json.loads(json.dumps(found[name]), parse_float=lambda value: round(float(value), 1))
            print(name, "fine" if seen.fine else "NOT FINE", json.dumps(shown), flush=True)
    if options.json:
        options.json.write_text(json.dumps(found))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
