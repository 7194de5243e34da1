"""Consolidation: the time to bring a large store within a storage budget.

    python -m bench consolidation [--memories 100000] [--left 20000]

Six of ten memories are episodes of many days, two facts, one notes, one procedures; one in ten repeats an earlier one.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.machine import describe
from bench.remembering import texts
from germane import Germane

__all__ = ["main"]

_KINDS = ("episode", "episode", "episode", "fact", "episode", "note", "episode", "fact", "episode", "procedure")
_BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)
_CALLERS = 400


async def _filled(germane: Germane, count: int) -> None:
    agent, left = germane.agent("bench"), iter(enumerate(texts(count)))

    async def caller() -> None:
        for number, text in left:
            kind, given = _KINDS[number * 7 % 10], dict[str, Any]()
            if kind == "fact":
                given = {"key": f"fact {number}", "value": text}
            if kind == "episode":
                given = {"occurred_at": _BEGINNING + timedelta(minutes=number)}
            await agent.remember(None if kind == "fact" else text, kind=kind, **given)

    await asyncio.gather(*(caller() for _ in range(_CALLERS)))


async def measure(count: int, left: int, folder: Path) -> None:
    """Prints the time of a dry run, of a consolidation by number, and of one by bytes."""
    async with Germane.open(folder / "consolidation.db", warm=False) as germane:
        await _filled(germane, count)
        agent = germane.agent("bench")
        given: list[tuple[str, dict[str, Any]]] = [
            ("dry run", {"max_memories": left, "dry_run": True}),
            (f"to {left:,} memories", {"max_memories": left}),
            ("to half of their bytes", {}),
        ]
        for what, limits in given:
            if not limits:
                now = await agent.consolidate(max_memories=left, dry_run=True)
                limits = {"max_bytes": now.before.bytes // 2}
            began, worked = time.perf_counter(), time.process_time()
            report = await agent.consolidate(**limits)
            took, spent = time.perf_counter() - began, time.process_time() - worked
            merged = sum(len(one.ids) for one in report.merged)
            episodes = sum(len(one.ids) for one in report.compressed)
            print(
                f"{what:<24}{took:6.1f} s, {spent:5.1f} s of processor time: {report.before.memories:,} memories of"
                f" {report.before.bytes >> 20} MB to {report.after.memories:,} of {report.after.bytes >> 20} MB; {merged:,}"
                f" merged, {episodes:,} episodes to {len(report.compressed):,} notes,"
                f" {len(report.vectors_dropped):,} vectors dropped, {len(report.evicted):,} evicted",
                flush=True,
            )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench consolidation", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--left", type=int, default=20_000)
    options = parser.parse_args(arguments)
    print(describe())
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(options.memories, options.left, Path(folder)))


if __name__ == "__main__":
    main()
