"""Speed: time of one search by store size, and memories stored per second.

One process fills the store and another searches it, so that the caches and memory of filling aren't measured."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

from bench.corpus import queries
from bench.peers.made import made, write
from bench.peers.process import PeerFailed, Process
from bench.peers.recall import HITS
from bench.quantiles import quantile

__all__ = ["ingest", "search"]

_REHEARSAL = 10
_PERCENTS = (50, 95, 99)

Told = Callable[[str], None]
Start = Callable[[], Process]


def search(start: Start, size: int, words: Path, folder: Path, told: Told, *, count: int, seconds: float) -> dict[str, Any]:
    """Fills the store within 20 minutes or gives up. Then runs up to `count` queries in sequence, for at most `seconds`; the
    time includes embedding the query."""
    place = folder / str(size)
    memories = write(made(size), folder / f"{size}.jsonl")
    figures: dict[str, Any] = {"memories": size}
    try:
        with start() as process:
            process.ask("open", folder=str(place), vectors=str(words), summed=True)
            figures["filled_s"] = process.ask("load", memories=str(memories), within=1_200)["seconds"]
            process.ask("close", within=600)
        told(f"{size:,} loaded in {figures['filled_s']:.0f} s")
        with start() as process:
            figures["open_s"] = process.ask("open", folder=str(place), within=1_200)["seconds"]
            rehearsed = [text for _, text in queries(_REHEARSAL, seed=5)]
            process.ask("search", queries=rehearsed, limit=HITS, seconds=seconds)
            asked = [text for _, text in queries(count)]
            figures |= _quantiles(process.ask("search", queries=asked, limit=HITS, seconds=seconds)["took"])
            figures["rss_mb"] = process.ask("rss")["megabytes"]
            if process.row.ours:
                asked = [text for _, text in queries(count, seed=11)]
                took = process.ask("assemble", queries=asked, tokens=1_000, seconds=seconds)["took"]
                figures["assemble"] = _quantiles(took)
            process.ask("close")
    except PeerFailed as error:
        figures["failed"] = str(error)
    finally:
        shutil.rmtree(place, ignore_errors=True)
        memories.unlink(missing_ok=True)
    return figures


def ingest(start: Start, folder: Path, told: Told, *, count: int, seconds: float) -> dict[str, Any]:
    """Memories per second including embedding, in calls of 30 memories (one session) and in calls of one."""
    figures: dict[str, Any] = {}
    memories = write(islice(made(count + 30), count + 30), folder / "ingest.jsonl")
    for each in (30, 1):
        place = folder / f"ingest-{each}"
        with start() as process:
            process.ask("open", folder=str(place))
            done = process.ask("add", memories=str(memories), each=each, seconds=seconds, within=seconds + 300)
            figures[f"by_{each}"] = done["added"] / done["seconds"]
            figures[f"added_by_{each}"] = done["added"]
            began = time.perf_counter()
            process.ask("close")
            figures[f"close_{each}_s"] = time.perf_counter() - began
        shutil.rmtree(place, ignore_errors=True)
        told(f"ingest in calls of {each}: {figures[f'by_{each}']:,.0f}/s")
    return figures


def _quantiles(took: list[float]) -> dict[str, Any]:
    milliseconds = [1000 * one for one in took]
    named = {f"p{percent}_ms": quantile(milliseconds, percent) for percent in _PERCENTS}
    return {"queries": len(took), "mean_ms": mean(milliseconds), **named}
