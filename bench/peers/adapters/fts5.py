"""Plain SQLite FTS5: Porter stems, the words of the question but for the commonest joined by OR, its own BM25. A reference, not
a memory."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from bench.peers.adapters.embedder import Embedder
from bench.peers.adapters.memory import Memory
from bench.peers.adapters.serve import serve

_WORD = re.compile(r"\w+")
_COMMON = frozenset(
    """a about an and are as at be been but by can could did do does for from had has have he her his how i if in is it its me
    my of on or our she so that the their them they this to was we were what when where which who why will with would you
    your""".split()  # noqa: SIM905
)


class Fts5:
    def __init__(self, embedder: Embedder) -> None:
        """It embeds nothing."""

    def open(self, folder: Path) -> None:
        self._base = sqlite3.connect(folder / "memories.db", isolation_level=None)
        self._base.execute("PRAGMA journal_mode = WAL")
        self._base.execute("PRAGMA synchronous = FULL")
        self._base.execute("CREATE VIRTUAL TABLE IF NOT EXISTS memory USING fts5(id UNINDEXED, line, tokenize = porter)")

    def add(self, memories: Sequence[Memory]) -> None:
        self._base.execute("BEGIN")
        self._base.executemany("INSERT INTO memory (id, line) VALUES (?, ?)", [(one.id, one.line) for one in memories])
        self._base.execute("COMMIT")

    load = add

    def search(self, query: str, limit: int) -> list[str]:
        words = _WORD.findall(query)
        terms = " OR ".join(f'"{word}"' for word in [word for word in words if word.lower() not in _COMMON] or words)
        rows = self._base.execute("SELECT id FROM memory WHERE memory MATCH ? ORDER BY rank LIMIT ?", (terms, limit))
        return [str(id) for (id,) in rows]

    def close(self) -> None:
        self._base.close()


if __name__ == "__main__":
    serve(Fts5)
