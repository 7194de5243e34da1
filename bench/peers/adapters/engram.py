"""engram-search: its FAISS store, searched as its server and its tool for agents do it: three times as many by vector, then
BM25 among those, .6 and .4. With `--pipeline`, its `RetrievalPipeline` instead, which ranks all documents it is given, without
the cross-encoder that it would fetch from a hub."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engram.backends.base import Document  # type: ignore[import-not-found]
from engram.backends.faiss_backend import FaissBackend  # type: ignore[import-not-found]
from engram.retrieval.pipeline import RetrievalPipeline  # type: ignore[import-not-found]
from engram.retrieval.sparse import BM25  # type: ignore[import-not-found]

from bench.peers.adapters.embedder import DIMENSION, Embedder
from bench.peers.adapters.memory import Memory
from bench.peers.adapters.serve import serve


class _Embeds:
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.dimension = DIMENSION

    def encode_query(self, text: str) -> Any:
        return self._embedder.vector(text)

    def encode_documents(self, texts: list[str], batch_size: int = 64) -> Any:
        return self._embedder.vectors(texts)


class Engram:
    def __init__(self, embedder: Embedder) -> None:
        self._embeds = _Embeds(embedder)
        self._pipeline = RetrievalPipeline(self._embeds, use_reranker=False) if "--pipeline" in sys.argv else None
        self._documents: list[Any] = []

    def open(self, folder: Path) -> None:
        self._store = FaissBackend(folder, dimension=DIMENSION)
        self._documents = []
        if self._pipeline:
            rows = self._store._conn.execute("SELECT id, text, faiss_idx FROM documents ORDER BY faiss_idx").fetchall()
            self._documents = [Document(id, text, self._store._index.reconstruct(row)) for id, text, row in rows]

    def add(self, memories: Sequence[Memory]) -> None:
        vectors = self._embeds.encode_documents([one.line for one in memories])
        about = [{"session_id": one.session, "timestamp": (one.time or "")[:10]} for one in memories]
        added = [
            Document(one.id, one.line, vector.tolist(), meta)
            for one, vector, meta in zip(memories, vectors, about, strict=True)
        ]
        self._store.add(added)
        if self._pipeline:
            self._documents += added

    load = add

    def search(self, query: str, limit: int) -> list[str]:
        if self._pipeline:
            return [found.id for found in self._pipeline.search(query, self._documents, top_k=limit)]
        near = self._store.query(self._embeds.encode_query(query).tolist(), top_k=3 * limit)
        if not near:
            return []
        scores = BM25().score_query_against_docs(query, [one.text for one in near])
        best = max(scores) if max(scores) > 0 else 1.0
        for one, score in zip(near, scores, strict=True):
            one.score = 0.6 * one.score + 0.4 * score / best
        return [one.id for one in sorted(near, key=lambda one: one.score, reverse=True)[:limit]]

    def close(self) -> None:
        self._store._conn.close()


if __name__ == "__main__":
    serve(Engram)
