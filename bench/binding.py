"""Binding: sessions of a model that binds its thinking to what stands before it, with faults at every point (INJECT-10).

python -m bench binding [--calls 100000] [--seed 1] [--workers 2]

Each session plays random steps (`tests/support/bound_sessions.py`): turns, tool loops, memories that are added, changed, ended
and forgotten, blocks that are edited, stores that fail or are late, another process, a restart. A provider checks each block of
thinking against what stood before it when it was made. Counted are calls that it would have refused though
`thinking_prefix_changed` said nothing (broken), those which said it (said), and those which said it needlessly (of these). Half
of the sessions have no step that may take a text away: there none may say it either, unless a process that knew nothing
couldn't read the store.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

from germane import Germane
from germane.models.embedders.distilled import Distilled

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from support.bound_sessions import BoundSession, Faults, steps_of

__all__ = ["main"]

_CAPS = (151, 600, 601, 8001)
_CHUNK = 100
"""Sessions that share a store."""


class _Tally(NamedTuple):
    calls: int
    said: int
    needlessly: int
    broken: tuple[str, ...]

    def plus(self, other: _Tally) -> _Tally:
        broken = (*self.broken, *other.broken)
        return _Tally(self.calls + other.calls, self.said + other.said, self.needlessly + other.needlessly, broken)


async def _played(seed: str) -> _Tally:
    """Plays a chunk of sessions; `broken` are the seeds of the sessions with a call that would have been refused."""
    embedder, faults, broken = Distilled(), Faults(), list[str]()
    calls = said = needlessly = 0
    embedder.warm()
    with TemporaryDirectory() as folder, faults.installed():

        async def again() -> Germane:
            return await Germane.open(Path(folder) / "germane.db", embedder=embedder).__aenter__()

        opened = [await again(), await again()]
        for number in range(_CHUNK):
            name = f"{seed}-{number}"
            random = Random(name)
            steps = steps_of(random)
            session = BoundSession(opened, faults, name, random.choice(_CAPS), again)
            await session.begin()
            await session.play(steps)
            calls, said, needlessly = calls + session.calls, said + session.flagged, needlessly + session.spurious
            if session.broken:
                broken.append(f"{name} {steps}")
        faults.now.clear()
        for one in opened:
            await one.__aexit__(None, None, None)
    return _Tally(calls, said, needlessly, tuple(broken))


def _chunk(seed: str) -> _Tally:
    logging.disable(logging.CRITICAL)  # in a process of the bench's own
    return asyncio.run(_played(seed))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench binding", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(argv)
    began, total, chunk = time.perf_counter(), _Tally(0, 0, 0, ()), 0
    with ProcessPoolExecutor(options.workers) as pool:
        while total.calls < options.calls:
            seeds = [f"{options.seed}-{number}" for number in range(chunk, chunk + 2 * options.workers)]
            chunk += len(seeds)
            for part in pool.map(_chunk, seeds):
                total = total.plus(part)
                for seed in part.broken:
                    print(f"    broken: {seed}", flush=True)
            print(f"{total.calls:,} calls, {len(total.broken)} sessions broken", flush=True)
    print(
        f"\n{total.calls:,} calls: {total.said:,} said that a prefix changed, {total.needlessly:,} of these needlessly, "
        f"{len(total.broken)} sessions with a call that would have been refused unsaid, {time.perf_counter() - began:.0f} s"
    )
    return int(bool(total.broken))
