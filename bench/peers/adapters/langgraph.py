"""LangGraph's long-term store on SQLite, with its index of vectors. It loads an extension into SQLite; where the interpreter
was built without that, the package `pysqlite3` stands in for `sqlite3`."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

if not hasattr(sqlite3.Connection, "enable_load_extension"):
    import pysqlite3  # type: ignore[import-not-found]

    sys.modules["sqlite3"] = pysqlite3

from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore  # type: ignore[import-not-found]

from bench.peers.adapters.embedder import DIMENSION, Embedder
from bench.peers.adapters.memory import Memory
from bench.peers.adapters.serve import serve

_PLACE = ("memories", "user")
_CALL = 150
"""Puts in a batch: its statement binds seven values each, and SQLite's limit may be 999."""


class LangGraph:
    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def open(self, folder: Path) -> None:
        self._opened = ExitStack()
        # the documented name is `fields`; this store reads `text_fields`, without which it embeds the value's JSON
        index = {"dims": DIMENSION, "embed": self._embedder.lists, "fields": ["text"], "text_fields": ["text"]}
        self._store = self._opened.enter_context(SqliteStore.from_conn_string(str(folder / "store.db"), index=index))
        self._store.setup()

    def add(self, memories: Sequence[Memory]) -> None:
        self._store.batch([PutOp(_PLACE, one.id, {"text": one.line}) for one in memories])

    def load(self, memories: Sequence[Memory]) -> None:
        for start in range(0, len(memories), _CALL):
            self.add(memories[start : start + _CALL])

    def search(self, query: str, limit: int) -> list[str]:
        return [item.key for item in self._store.search(_PLACE, query=query, limit=limit)]

    def close(self) -> None:
        self._opened.close()


if __name__ == "__main__":
    serve(LangGraph)
