"""germane: turns recorded as messages, in their own shape. `search` answers a search, `assemble` writes the context. With
`--minilm` the shared embedder instead of its default."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.adapters.embedder import DIMENSION, Embedder, Vector
from bench.peers.adapters.memory import Memory
from bench.peers.adapters.serve import serve
from germane import Germane


class _Known:
    """The shared embedder with its file of known vectors, in the place of the one of the same identity."""

    identity = "minilm/all-MiniLM-L6-v2-int8/384"
    dimension = DIMENSION
    quick = False

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    async def embed(self, texts: Sequence[str]) -> Vector:
        return np.array([self._embedder.vector(text) for text in texts], np.float32).reshape(len(texts), DIMENSION)

    def embed_now(self, texts: Sequence[str]) -> Vector:
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing to let go of."""


class Ours:
    def __init__(self, embedder: Embedder) -> None:
        self._embedder, self._minilm = embedder, "--minilm" in sys.argv
        self._runner = asyncio.Runner()
        self._at: datetime | None = None

    def open(self, folder: Path) -> None:
        chosen: Any = "distilled"
        if self._minilm:
            chosen = "minilm" if self._embedder.live else _Known(self._embedder)
        self._germane = Germane.open(folder / "germane.db", embedder=chosen)
        self._runner.run(self._germane.__aenter__())
        self._agent = self._germane.agent("bench", user="user")
        self._runner.run(self._agent.warm())

    def add(self, memories: Sequence[Memory]) -> None:
        self._runner.run(self._record(memories))

    load = add

    async def _record(self, memories: Sequence[Memory]) -> None:
        for session, said in groupby(memories, key=lambda one: one.session):
            messages = [
                {"role": "user", "name": one.speaker, "content": one.text, "id": one.id, "created_at": one.time} for one in said
            ]
            await self._agent.record(messages, session=session)

    def search(self, query: str, limit: int) -> list[str]:
        found = self._runner.run(self._agent.search(query, limit, at=self._at))
        return [str(one.candidate.provenance.message_id) for one in found]

    def clock(self, request: dict[str, Any]) -> dict[str, Any]:
        """What time it is taken to be from here on."""
        self._at = datetime.fromisoformat(request["at"])
        return {}

    def assemble(self, request: dict[str, Any]) -> dict[str, Any]:
        """For each query what share of which message is in the context of at most so many tokens, wrapper and all."""
        shares, took, end = [], [], time.perf_counter() + request.get("seconds", 1e9)
        for query in request["queries"]:
            began = time.perf_counter()
            context = self._runner.run(self._assembled(query, request["tokens"]))
            took.append(time.perf_counter() - began)
            if context.metadata.fallback_reason or context.metadata.total_tokens_injected > request["tokens"]:
                raise AssertionError(f"{context.metadata.fallback_reason or 'over budget'}: {query}")
            shares.append([(item.provenance.message_id, item.share) for item in context.items])
            if time.perf_counter() > end:
                break
        return {"shares": shares, "took": took}

    async def _assembled(self, query: str, tokens: int) -> Any:
        asked = [{"role": "user", "content": query}]
        return await self._agent.assemble(
            asked, model="gpt-4o", at=self._at, deadline=None, max_tokens=tokens, strategy="compact"
        )

    def close(self) -> None:
        self._runner.run(self._germane.close())


if __name__ == "__main__":
    serve(Ours)
