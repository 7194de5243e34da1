"""Chroma: a collection a user, on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb  # type: ignore[import-not-found]
from chromadb.config import Settings  # type: ignore[import-not-found]

from bench.peers.adapters.embedder import Embedder
from bench.peers.adapters.memory import Memory
from bench.peers.adapters.serve import serve


class _Embeds(chromadb.EmbeddingFunction):  # type: ignore[misc]
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def __call__(self, input: list[str]) -> list[Any]:
        return list(self._embedder.vectors(input))

    @staticmethod
    def name() -> str:
        return "shared-minilm"

    def get_config(self) -> dict[str, Any]:
        return {}


class Chroma:
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def open(self, folder: Path) -> None:
        self._client = chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))
        self._user = self._client.get_or_create_collection("user", embedding_function=_Embeds(self._embedder))

    def add(self, memories: Sequence[Memory]) -> None:
        self._user.add(ids=[one.id for one in memories], documents=[one.line for one in memories])

    load = add

    def search(self, query: str, limit: int) -> list[str]:
        found = self._user.query(query_texts=[query], n_results=limit)
        return list(found["ids"][0])

    def close(self) -> None:
        self._client.clear_system_cache()


if __name__ == "__main__":
    serve(Chroma)
