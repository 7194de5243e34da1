"""Peer: the libraries that are compared, with their settings. `ROWS` are the rows of the table, in order."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ROWS", "Row", "find"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    title: str
    adapter: str
    """The module in `adapters/`."""
    environment: str
    """The file in `requirements/`; rows may share one."""
    packages: tuple[str, ...]
    """Whose versions stand in the table."""
    durable: str
    """What a finished call has written, from the code and from the calls of the system that were seen."""
    synced: str
    """The same in a word or two."""
    options: tuple[str, ...] = ()
    embeds: bool = True
    """With the shared embedder; False: nothing, or another of its own."""
    ours: bool = False
    most: int | None = None
    """The largest store that is worth trying."""


_OURS = ("germane",)
_COMMIT = "synced, once a call (SQLite, WAL, synchronous=FULL)"

ROWS: tuple[Row, ...] = (
    Row(
        name="germane",
        title="germane, as it comes",
        adapter="germane",
        environment="germane",
        packages=_OURS,
        synced="each call",
        durable=_COMMIT,
        embeds=False,
        ours=True,
    ),
    Row(
        name="germane-minilm",
        title="germane, MiniLM",
        adapter="germane",
        environment="germane",
        packages=_OURS,
        options=("--minilm",),
        synced="each call",
        durable=_COMMIT + "; vectors follow in the same call",
        ours=True,
    ),
    Row(
        name="mem0",
        title="mem0, as installed",
        adapter="mem0",
        environment="mem0",
        packages=("mem0ai", "qdrant-client"),
        synced="each memory",
        durable="synced, 8 times a memory (two SQLite files, rollback journals)",
    ),
    Row(
        name="mem0-bm25",
        title="mem0, BM25 made to work",
        adapter="mem0",
        environment="mem0-bm25",
        packages=("mem0ai", "qdrant-client", "fastembed", "spacy"),
        options=("--bm25",),
        synced="each memory",
        durable="as above",
    ),
    Row(
        name="langgraph",
        title="LangGraph store (SQLite)",
        adapter="langgraph",
        environment="langgraph",
        packages=("langgraph", "langgraph-checkpoint-sqlite"),
        synced="each call",
        durable="synced, 4 times a call (SQLite, rollback journal)",
    ),
    Row(
        name="llamaindex",
        title="LlamaIndex, simple store",
        adapter="llamaindex",
        environment="llamaindex",
        packages=("llama-index-core",),
        synced="never",
        durable="nothing, all is in memory until `persist()`",
    ),
    Row(
        name="chroma",
        title="Chroma, a collection a user",
        adapter="chroma",
        environment="chroma",
        packages=("chromadb",),
        synced="each call",
        durable="synced, 8 times a call (SQLite, rollback journal); the HNSW index is written behind",
    ),
    Row(
        name="mempalace",
        title="MemPalace",
        adapter="mempalace",
        environment="mempalace",
        packages=("mempalace", "chromadb"),
        synced="each call",
        durable="as Chroma, which it uses",
    ),
    Row(
        name="engram",
        title="engram-search, its store",
        adapter="engram",
        environment="engram",
        packages=("engram-search", "faiss-cpu"),
        synced="texts only",
        durable="text synced, 4 times a call (SQLite); the vectors' file written anew with each call, not synced",
    ),
    Row(
        name="engram-pipeline",
        title="engram-search, its pipeline",
        adapter="engram",
        environment="engram",
        packages=("engram-search", "faiss-cpu"),
        options=("--pipeline",),
        synced="texts only",
        durable="as above",
        most=10_000,
    ),
    Row(
        name="lancedb",
        title="LanceDB, hybrid",
        adapter="lancedb",
        environment="lancedb",
        packages=("lancedb",),
        synced="never",
        durable="files, not synced",
    ),
    Row(
        name="fts5",
        title="SQLite FTS5 (reference)",
        adapter="fts5",
        environment="fts5",
        packages=(),
        synced="each call",
        durable=_COMMIT,
        embeds=False,
    ),
)


def find(names: list[str] | None) -> list[Row]:
    """The rows with these names, all rows without names. Raises `ValueError` that lists the known names."""
    known = {row.name: row for row in ROWS}
    if unknown := [name for name in names or () if name not in known]:
        raise ValueError(f"no peer is called {', '.join(unknown)}: choose from {', '.join(known)}")
    return [known[name] for name in names] if names else list(ROWS)
