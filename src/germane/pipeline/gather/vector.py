"""Query vector: embeds the query without the speakers' names.

A speaker's name occurs in half of the messages that the speaker sends or gets, so it hardly tells messages apart, and it
dominates the vector of a short query. Removing the names on both sides improves a small embedder's recall by ten points
(design: relevance model).
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from germane.pipeline.gather.source import Skipped
from germane.ports.embedder import Embedder, shorten_query
from germane.store import ScopedStore
from germane.types.query import Query, Vector

__all__ = ["VectorOnDemand", "nameless", "with_vector"]

_MAX_CHARS = 2000
"""Characters of the query that are embedded."""
_MAX_NAMES = 256
"""Names that are removed from one text, the longest first."""
_WORD = re.compile(r"\w+")


async def with_vector(query: Query, store: ScopedStore, embedder: Embedder, *, patience: float | None) -> Query:
    """The query with its vector, of length 1; unchanged where the text is blank or the embedder's answer isn't a usable vector.

    Raises `Skipped` when a slow embedder takes longer than `patience` seconds; None waits. A caching embedder finishes in the
    background and answers from its cache the next time.
    """
    if not _embeddable(query, embedder):
        return query
    said = query.text[:_MAX_CHARS]
    text = nameless(said, await store.events.speakers(said))
    if embedder.quick:
        return _with(query, embedder.embed_now([text]), embedder)
    task = asyncio.ensure_future(embedder.embed([shorten_query(embedder, text)]))
    task.add_done_callback(lambda late: late.cancelled() or late.exception())
    try:
        await asyncio.wait([task], timeout=patience)
        if not task.done():
            raise Skipped("slow_embedder")
    finally:
        task.cancel()
    return _with(query, task.result(), embedder)


class VectorOnDemand:
    """The vector of one query, made by a quick embedder where the search runs: the search knows the speakers' names there, so
    that nobody waits for another thread twice. Thread-safe."""

    def __init__(self, query: Query, embedder: Embedder) -> None:
        self.seconds: float | None = None
        """What it took; None as long as no search has asked."""
        self._plain, self._embedder = query, embedder
        self._steady = asyncio.get_running_loop().time  # the clock asks for the running loop, and a thread has none
        self._outcome: Query | BaseException | None = None
        self._lock = threading.Lock()

    def asked(self) -> Query:
        """The query to give to sources; its `embed` makes the vector. It isn't kept here, so that the two aren't a cycle."""
        return replace(self._plain, embed=self._embed)

    def settled(self) -> asyncio.Future[Query]:
        """The finished future of the query with its vector; of `Skipped` where no search asked for it."""
        made: asyncio.Future[Query] = asyncio.get_running_loop().create_future()
        if isinstance(self._outcome, Query):
            made.set_result(self._outcome)
        else:
            made.set_exception(self._outcome or Skipped("unused"))
            made.exception()  # it was looked at: nothing is logged
        return made

    def _embed(self, speakers: Callable[[str], Sequence[str]]) -> tuple[Vector | None, str | None]:
        with self._lock:
            if self._outcome is None:
                began = self._steady()
                try:
                    self._outcome = self._vectorised(speakers)
                except BaseException as error:
                    self._outcome = error
                self.seconds = self._steady() - began
        made = self._outcome if isinstance(self._outcome, Query) else self._plain
        return made.vector, made.model

    def _vectorised(self, speakers: Callable[[str], Sequence[str]]) -> Query:
        if not _embeddable(self._plain, self._embedder):
            return self._plain
        said = self._plain.text[:_MAX_CHARS]
        return _with(self._plain, self._embedder.embed_now([nameless(said, speakers(said))]), self._embedder)


def _embeddable(query: Query, embedder: Embedder) -> bool:
    return bool(query.text.strip()) and embedder.dimension > 0


def _with(query: Query, vectors: NDArray[np.float32], embedder: Embedder) -> Query:
    """The query with the first of `vectors`; unchanged where that isn't a usable one."""
    vector = np.asarray(vectors[0], dtype=np.float32)
    norm = float(np.linalg.norm(vector))
    if vector.shape != (embedder.dimension,) or not np.isfinite(norm) or norm < 1e-6:
        return query
    return replace(query, vector=np.divide(vector, norm, dtype=np.float32), model=embedder.identity)


def nameless(text: str, speakers: Sequence[str]) -> str:
    """`text` without the speakers' names; unchanged where no other word would be left."""
    said = set(_WORD.findall(text.casefold()))
    words = {word for name in speakers for word in (name, *name.split()) if 1 < len(word) <= len(text)}
    words = {word for word in words if said.issuperset(found := _WORD.findall(word.casefold())) and found}
    if not words:
        return text
    names = sorted(words, key=lambda word: (-len(word), word))[:_MAX_NAMES]
    pattern = r"\b(?:" + "|".join(map(re.escape, names)) + r")(?:['’]s)?\b"
    rest = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    return rest if any(char.isalnum() for char in rest) else text
