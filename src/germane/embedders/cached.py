"""CachedEmbedder: wraps an embedder with an LRU cache of vectors, and joins concurrent calls for the same text.

The cache holds digests and vectors, never text, so that forgotten content leaves nothing readable in it. It isn't a store:
the vectors of stored units are stored with them.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from germane.embedders.embedder_wrapper import EmbedderWrapper
from germane.errors import EmbedderError, InvalidInput
from germane.ports.embedder import Embedder, prepare
from germane.types.lru_cache import LruCache

__all__ = ["CachedEmbedder"]

_Vector = NDArray[np.float32]
_Vectors = dict[bytes, _Vector]
"""Vectors by the digests of their texts."""


class CachedEmbedder(EmbedderWrapper):
    """`embedder` behind an LRU cache of `capacity` vectors. It has the same identity and returns the same vectors. Thread-safe.

    A text that another call is embedding waits for that call. A call continues after its caller has given up, so that the
    vector is a cache hit the next time. While `calls` calls are under way, further cache misses raise `EmbedderError` at once.
    """

    def __init__(self, embedder: Embedder, capacity: int = 4_096, *, calls: int = 64) -> None:
        """Raises `InvalidInput` for a `capacity` below 1."""
        if capacity < 1:
            raise InvalidInput(f"capacity must be 1 or more, not {capacity}")
        super().__init__(embedder)
        self._calls = calls
        self._lock = threading.Lock()
        self._vectors: LruCache[bytes, _Vector] = LruCache(capacity)
        self._under_way: dict[bytes, Future[_Vectors]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def prepare(self) -> None:
        await prepare(self._inner)

    async def embed(self, texts: Sequence[str]) -> _Vector:
        """Raises `EmbedderError`: the embedder's own, for too many calls under way, and for an answer of another shape."""
        keys = [_key(text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        call: Future[_Vectors] = Future()
        call.set_running_or_notify_cancel()  # from here on a waiter that gives up can't cancel it for the others
        with self._lock:
            found = self._hits(wanted)
            calls = {self._under_way[key] for key in wanted if key in self._under_way and key not in found}
            mine = {key: text for key, text in wanted.items() if key not in found and key not in self._under_way}
            if mine and len(self._tasks) >= self._calls:
                raise EmbedderError(f"{self._calls} calls of the embedder are under way already: try again later")
            self._under_way.update(dict.fromkeys(mine, call))
        if mine:
            calls.add(call)
            task = asyncio.get_running_loop().create_task(self._fetch(mine, call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        for waited in calls:
            vectors: _Vectors = await asyncio.wrap_future(waited)
            found.update(vectors)
        return self._rows(keys, found)

    def embed_now(self, texts: Sequence[str]) -> _Vector:
        """For a quick embedder. Embeds all cache misses in this thread, without waiting for other calls."""
        keys = [_key(text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        with self._lock:
            found = self._hits(wanted)
        missing = {key: text for key, text in wanted.items() if key not in found}
        if missing:
            fresh = self._checked(missing, self._inner.embed_now(list(missing.values())))
            with self._lock:
                self._keep(fresh)
            found |= fresh
        return self._rows(keys, found)

    async def close(self) -> None:
        """Cancels the calls under way, empties the cache and closes the embedder."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with self._lock:
            self._vectors.clear()
        await self._inner.close()

    def __repr__(self) -> str:
        return f"<CachedEmbedder {len(self._vectors)} of {self._vectors.max_entries} {self._inner!r}>"

    async def _fetch(self, missing: dict[bytes, str], call: Future[_Vectors]) -> None:
        fresh: _Vectors = {}
        failure: BaseException | None = EmbedderError("the embedder was closed before it answered")
        try:
            fresh = self._checked(missing, await self._inner.embed(list(missing.values())))
            failure = None
        except Exception as error:
            failure = error
        finally:
            with self._lock:
                for key in missing:
                    self._under_way.pop(key, None)
                self._keep(fresh)
            if failure is None:
                call.set_result(fresh)
            else:
                call.set_exception(failure)

    def _checked(self, missing: dict[bytes, str], vectors: _Vector) -> _Vectors:
        if getattr(vectors, "shape", None) != (len(missing), self.dimension):
            raise EmbedderError(f"the embedder {self.identity} answered {len(missing)} texts with something else than vectors")
        return {key: vector.copy() for key, vector in zip(missing, vectors, strict=True)}

    def _hits(self, wanted: dict[bytes, str]) -> _Vectors:
        found: _Vectors = {}
        for key in wanted:
            if (vector := self._vectors.use(key)) is not None:
                found[key] = vector
        return found

    def _keep(self, fresh: _Vectors) -> None:
        for key, vector in fresh.items():
            self._vectors.put(key, vector)

    def _rows(self, keys: list[bytes], found: _Vectors) -> _Vector:
        return np.stack([found[key] for key in keys]) if keys else np.zeros((0, self.dimension), dtype=np.float32)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
