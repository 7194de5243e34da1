"""LanceDB: a table a user, hybrid search: vectors (scanned, no index of them unless one is made) and its full-text index, fused
by its default, reciprocal ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import lancedb  # type: ignore[import-not-found]
import pyarrow as pa  # type: ignore[import-not-found]
from lancedb.index import FTS  # type: ignore[import-not-found]

from bench.peers.adapters.embedder import DIMENSION, Embedder
from bench.peers.adapters.memory import Memory
from bench.peers.adapters.serve import serve

_SCHEMA = pa.schema(
    [pa.field("id", pa.string()), pa.field("text", pa.string()), pa.field("vector", pa.list_(pa.float32(), DIMENSION))]
)


class LanceDb:
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def open(self, folder: Path) -> None:
        base = lancedb.connect(folder)
        self._table = base.create_table("user", schema=_SCHEMA, exist_ok=True)

    def add(self, memories: Sequence[Memory]) -> None:
        rows = [{"id": one.id, "text": one.line, "vector": self._embedder.vector(one.line)} for one in memories]
        self._table.add(rows)

    load = add

    def settle(self) -> None:
        """The full-text index, made once the memories are there."""
        self._table.create_index("text", config=FTS())
        self._table.optimize()

    def search(self, query: str, limit: int) -> list[str]:
        vector = self._embedder.vector(query)
        found = self._table.search(query_type="hybrid").vector(vector).text(query).limit(limit).to_list()
        return [row["id"] for row in found]

    def close(self) -> None:
        """Everything is written by then."""


if __name__ == "__main__":
    serve(LanceDb)
