"""MiniLM: time of one query's vector, and of a search with it, over queries that are mixed as in `corpus.QUERY_MIX`.

    python -m bench minilm [--queries 300] [--whole] [--size 100000] [--folder PATH]

One at a time. `--whole` embeds queries whole, as stored texts are, instead of their first 16 and last 32 tokens. `--size`
searches a store of so many messages too. Its vectors are random numbers under MiniLM's name: a search takes as long with them,
and MiniLM would take 13 minutes to make 100,000. Requirements: SEARCH-5.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.corpus import queries
from bench.filled import AGENT, folder, store
from bench.machine import describe
from bench.quantiles import quantile
from germane import Germane
from germane.models.embedders.minilm import MiniLM

__all__ = ["main"]


async def _vectors(count: int, *, whole: bool) -> dict[str, Any]:
    """Milliseconds by kind of query."""
    embedder, took = MiniLM(), defaultdict[str, list[float]](list)
    await embedder.embed(["loaded at the first text"])
    for kind, text in queries(count):
        began = time.perf_counter()
        await embedder.embed([text if whole else embedder.shorten_query(text)])
        for name in (kind, "all"):
            took[name].append(1000 * (time.perf_counter() - began))
    await embedder.close()
    return {kind: {f"p{p}": round(quantile(found, p), 1) for p in (50, 95, 99)} for kind, found in took.items()}


class _Random:
    """Random vectors under MiniLM's name."""

    identity, dimension, quick, contextual = MiniLM.identity, MiniLM.dimension, True, True

    def __init__(self) -> None:
        self._random = np.random.default_rng(1)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_now(texts)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = self._random.standard_normal((len(texts), self.dimension), dtype=np.float32)
        vectors: NDArray[np.float32] = found / np.linalg.norm(found, axis=1, keepdims=True)
        return vectors

    async def close(self) -> None: ...


async def _searches(path: Path, count: int, *, whole: bool) -> dict[str, float]:
    embedder = MiniLM()
    if whole:
        embedder.shorten_query = lambda text: text  # type: ignore[method-assign]
    async with Germane.open(path, embedder=embedder) as germane:
        agent, took = germane.agent(AGENT), list[float]()
        await agent.warm()
        for _, text in queries(count):
            began = time.perf_counter()
            await agent.search(text)
            took.append(1000 * (time.perf_counter() - began))
    return {f"p{p}": round(quantile(took[count // 10 :], p), 1) for p in (50, 95, 99)}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench minilm", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--whole", action="store_true", help="embed queries whole")
    parser.add_argument("--size", type=int, default=0, help="messages in a store that is searched too")
    parser.add_argument("--folder", type=Path, help="where filled stores are kept for the next time; default: nowhere")
    options = parser.parse_args(arguments)
    print(describe())
    print("vector", json.dumps(asyncio.run(_vectors(options.queries, whole=options.whole)), indent=1))
    if options.size:
        with folder(options.folder) as place:
            path = store(place, options.size, _Random())
            print("search", json.dumps(asyncio.run(_searches(path, options.queries, whole=options.whole))))


if __name__ == "__main__":
    main()
