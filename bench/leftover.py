"""Leftover: tasks, threads, open files and memory that are left in the process after many time-outs.

    python -m bench leftover [--count 10000]

Half of the time-outs come from a store that never answers, half from a working store with too short a deadline, whose threads
are abandoned during a search. Circuit breakers are off, so that every time-out is real. Requirement: ENGINE-4.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from bench.corpus import conversations
from bench.machine import describe
from germane import Germane
from germane.api.arguments import build_request
from germane.api.strategies import DEFAULT
from germane.engine.breakers import Breakers
from germane.engine.engine import Engine
from germane.stores.contract import ScopedStore
from germane_testing.faults import Hang, faulty

__all__ = ["Leftover", "left_over", "main"]

_STORE = (
    "memories.search",
    "ask.PinnedMemories",
    "events.search",
    "ask.RecentEvents",
    "events.speakers",
    "directive",
    "allowed",
)
_WARM = 500
"""Answers after which memory use counts as the process's normal level."""
_QUESTIONS = 500
"""The same queries repeatedly, so that caches of texts don't grow."""
_HURRIED = 0.010
"""Deadline in seconds, two of which are for gathering."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """`tasks`, `threads` and `files` beyond those there were before; `memory` in per cent of what it was. `late` sources gave
    up in vain, `abandoned` still run."""

    answers: int
    late: int
    abandoned: int
    tasks: int
    threads: int
    files: int
    memory: float

    @property
    def clean(self) -> bool:
        return not (self.abandoned or self.tasks > 0 or self.threads > 0 or self.files > 0) and self.memory <= 2


async def left_over(count: int, folder: Path) -> Leftover:
    """After `count` answers that came too late from a store in `folder`."""
    process = psutil.Process()
    async with Germane.open(folder / "germane.db") as germane:
        agent = germane.agent("bench")
        for session, said in conversations(2000, seed=5):
            await agent.record(said, session=str(session))
        await agent.directive("Answer in one sentence.")
        await agent.warm()
        parts = germane._parts
        assert parts is not None
        engine = replace(parts.engine, breakers=Breakers(failures=sys.maxsize))
        sound = parts.store.within(agent.scope)
        hung = faulty(sound, Hang(), *_STORE)
        for number in range(_WARM):
            await _asked(engine, (sound, hung)[number % 2], number)
        await asyncio.sleep(0.5)
        before = len(asyncio.all_tasks()), threading.active_count(), process.num_fds(), process.memory_info().rss
        late, total = engine.abandoned.total, 0
        for number in range(_WARM, _WARM + count):
            await _asked(engine, (sound, hung)[number % 2], number)
            total += 1
        await asyncio.sleep(0.5)
        after = len(asyncio.all_tasks()), threading.active_count(), process.num_fds(), process.memory_info().rss
        return Leftover(
            answers=total,
            late=engine.abandoned.total - late,
            abandoned=len(engine.abandoned),
            tasks=after[0] - before[0],
            threads=after[1] - before[1],
            files=after[2] - before[2],
            memory=100 * (after[3] / before[3] - 1),
        )


async def _asked(engine: Engine, scoped: ScopedStore, number: int) -> None:
    request = build_request(
        scope=scoped.scope,
        catalog=engine.catalog,
        clock=engine.clock,
        messages=[{"role": "user", "content": f"What did we say of plan {number % _QUESTIONS} for Lisbon?"}],
        model="gpt-4o",
        deadline=_HURRIED,
    )
    context = await engine.assemble(request, scoped, DEFAULT)
    assert context.messages[-1] is request.raw[-1]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench leftover", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(left_over(options.count, Path(folder)))
    print(describe())
    print(json.dumps(asdict(found), indent=2))
    return 0 if found.clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
