"""LlamaIndex: `VectorStoreIndex` over the simple vector store that comes with it. In memory; written out when closed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core import Settings, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode

from bench.peers.adapters.embedder import Embedder
from bench.peers.adapters.memory import Memory
from bench.peers.adapters.serve import serve


class _Embeds(BaseEmbedding):
    shared: Any

    def _get_text_embedding(self, text: str) -> list[float]:
        return list(self.shared.vector(text).tolist())

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class LlamaIndex:
    def __init__(self, embedder: Embedder) -> None:
        Settings.embed_model = _Embeds(shared=embedder)

    def open(self, folder: Path) -> None:
        self._folder = folder
        if (folder / "docstore.json").exists():
            self._index = load_index_from_storage(StorageContext.from_defaults(persist_dir=str(folder)))
        else:
            self._index = VectorStoreIndex([])
        self._changed = False

    def add(self, memories: Sequence[Memory]) -> None:
        self._index.insert_nodes([TextNode(id_=one.id, text=one.line) for one in memories])
        self._changed = True

    load = add

    def search(self, query: str, limit: int) -> list[str]:
        return [found.node.node_id for found in self._index.as_retriever(similarity_top_k=limit).retrieve(query)]

    def close(self) -> None:
        if self._changed:
            self._index.storage_context.persist(persist_dir=str(self._folder))


if __name__ == "__main__":
    serve(LlamaIndex)
