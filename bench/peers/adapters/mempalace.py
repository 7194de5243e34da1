"""MemPalace: one drawer a turn in one user's wing, searched by its hybrid search. Its own model is the same MiniLM, which it
would fetch from a hub: here it is the shared one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import mempalace.embedding as embedding  # type: ignore[import-not-found]
import numpy as np
from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2  # type: ignore[import-not-found]
from mempalace.palace import get_collection  # type: ignore[import-not-found]
from mempalace.searcher import search_memories  # type: ignore[import-not-found]

from bench.peers.adapters.embedder import Embedder
from bench.peers.adapters.memory import Memory
from bench.peers.adapters.serve import serve

_WING = "user"


def _shared(embedder: Embedder) -> type:
    class Shared(ONNXMiniLM_L6_V2):  # type: ignore[misc]
        def __init__(self, preferred_providers: Any = None, intra_op_num_threads: int = 0) -> None:
            super().__init__(preferred_providers=preferred_providers)

        @staticmethod
        def name() -> str:
            return "default"

        def _download_model_if_not_exists(self) -> None:
            """It is here."""

        def _forward(self, documents: list[str], batch_size: int = 32) -> Any:
            return np.array(embedder.vectors(documents), np.float32)

    return Shared


class MemPalace:
    def __init__(self, embedder: Embedder) -> None:
        embedding._build_ef_class = lambda: _shared(embedder)

    def open(self, folder: Path) -> None:
        self._path = str(folder / "palace")
        self._drawers = get_collection(self._path, create=True)

    def add(self, memories: Sequence[Memory]) -> None:
        now = datetime.now().isoformat()
        about = [
            {
                "wing": _WING,
                "room": one.session.replace("/", "-"),
                "source_file": one.id,
                "chunk_index": 0,
                "added_by": "bench",
                "filed_at": now,
            }
            for one in memories
        ]
        lines = [one.line for one in memories]
        self._drawers.upsert(ids=[one.id for one in memories], documents=lines, metadatas=about)

    load = add

    def search(self, query: str, limit: int) -> list[str]:
        found = search_memories(query, self._path, wing=_WING, n_results=limit)
        if "error" in found:
            raise RuntimeError(found["error"])
        return [hit["drawer_id"] for hit in found["results"]]

    def close(self) -> None:
        """Everything is written by then."""


if __name__ == "__main__":
    serve(MemPalace)
