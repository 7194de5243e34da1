"""Filled: a store with a given number of generated messages of one agent, cached in a folder between runs."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw

from bench.corpus import conversations
from germane import Germane, Message
from germane.ports.models import Embedder

__all__ = ["AGENT", "folder", "store"]

AGENT = "bench"
_CALLS, _LARGE = 8, 600
"""Concurrent calls, and messages per call: large batches mean fewer transactions and faster embedding and indexing."""
_STEP = 50_000


def store(place: Path, size: int, embedder: Embedder | None = None) -> Path:
    """The store of `size` messages in `place`, filled first if it doesn't exist; progress goes to standard error. `embedder`
    makes the vectors, default: the default one."""
    name = f"{size}" if embedder is None else f"{size}-{embedder.dimension}"
    path = place / f"{name}.db"
    if path.exists() and _held(path) == size:
        return path
    for old in place.glob(f"{name}.db*"):
        old.unlink()
    part = place / f"{name}.part.db"
    for old in place.glob(f"{name}.part.db*"):
        old.unlink()
    asyncio.run(_fill(part, size, embedder))
    part.rename(path)
    return path


@contextmanager
def folder(chosen: Path | None) -> Iterator[Path]:
    """The folder `chosen`, created if needed and kept; without it, a temporary folder."""
    if chosen is None:
        with TemporaryDirectory() as temporary:
            yield Path(temporary)
    else:
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen


async def _fill(path: Path, size: int, embedder: Embedder | None) -> None:
    began = time.perf_counter()
    async with Germane.open(path, embedder=embedder) as germane:
        agent = germane.agent(AGENT)
        waiting = set[asyncio.Task[object]]()
        batch = list[tuple[str, list[Message]]]()
        done = told = 0

        async def send(sessions: list[tuple[str, list[Message]]]) -> None:
            await asyncio.gather(*(agent.record(said, session=session) for session, said in sessions))

        for session, said in conversations(size):
            batch.append((session, said))
            done += len(said)
            if sum(len(one) for _, one in batch) >= _LARGE:
                waiting.add(asyncio.create_task(send(batch)))
                batch = []
            if len(waiting) >= _CALLS:
                finished, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in finished:
                    task.result()
            if done - told >= _STEP:
                told = done
                print(f"{done:,} of {size:,}, {done / (time.perf_counter() - began):,.0f}/s", file=sys.stderr, flush=True)
        await asyncio.gather(send(batch), *waiting)


def _held(path: Path) -> int:
    """Number of messages in the file; -1 if another version wrote it."""
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        ((held,),) = connection.execute("SELECT count(*) FROM units_events WHERE vector IS NOT NULL")
        connection.close()
    except apsw.Error:
        return -1
    return int(held)
