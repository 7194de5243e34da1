"""Cached: any embedder, with the vectors of the latest texts kept.

It holds digests and vectors, never text, so what is forgotten leaves nothing readable here. It is deliberately not a store:
vectors of kept things live with them.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from germane.errors import EmbedderError, InvalidInput
from germane.ports.embedder import Embedder

__all__ = ["Cached"]

_Vector = NDArray[np.float32]
_Found = dict[bytes, _Vector]


class Cached:
    """`embedder` behind an LRU of `capacity` vectors. Same identity, same vectors; safe to use from any thread.

    Texts asked for while they are being embedded wait for that call instead of starting another. A call goes on when its
    caller gives up, so that the vector is there the next time; when `calls` of them are under way, further misses raise
    `EmbedderError` at once.
    """

    def __init__(self, embedder: Embedder, capacity: int = 4_096, *, calls: int = 64) -> None:
        if capacity < 1:
            raise InvalidInput(f"capacity must be 1 or more, not {capacity}")
        self._embedder = embedder
        self._capacity = capacity
        self._calls = calls
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, _Vector] = OrderedDict()
        self._under_way: dict[bytes, Future[_Found]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def identity(self) -> str:
        return self._embedder.identity

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def quick(self) -> bool:
        return self._embedder.quick

    async def embed(self, texts: Sequence[str]) -> _Vector:
        keys = [_key(text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        call: Future[_Found] = Future()
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
            answer: _Found = await asyncio.wrap_future(waited)
            found.update(answer)
        return self._rows(keys, found)

    def embed_now(self, texts: Sequence[str]) -> _Vector:
        """For a quick embedder. Waits for nobody: what isn't kept is embedded here."""
        keys = [_key(text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        with self._lock:
            found = self._hits(wanted)
        missing = {key: text for key, text in wanted.items() if key not in found}
        if missing:
            fresh = self._checked(missing, self._embedder.embed_now(list(missing.values())))
            with self._lock:
                self._keep(fresh)
            found |= fresh
        return self._rows(keys, found)

    async def close(self) -> None:
        """Cancels what is under way, forgets what is kept, closes the embedder."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._kept.clear()
        await self._embedder.close()

    def __repr__(self) -> str:
        return f"<Cached {len(self._kept)} of {self._capacity} {self._embedder!r}>"

    async def _fetch(self, missing: dict[bytes, str], call: Future[_Found]) -> None:
        fresh: _Found = {}
        failure: BaseException | None = EmbedderError("the embedder was closed before it answered")
        try:
            fresh = self._checked(missing, await self._embedder.embed(list(missing.values())))
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

    def _checked(self, missing: dict[bytes, str], vectors: _Vector) -> _Found:
        if getattr(vectors, "shape", None) != (len(missing), self.dimension):
            raise EmbedderError(f"the embedder {self.identity} answered {len(missing)} texts with something else than vectors")
        return {key: vector.copy() for key, vector in zip(missing, vectors, strict=True)}

    def _hits(self, wanted: dict[bytes, str]) -> _Found:
        found: _Found = {}
        for key in wanted:
            if (vector := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
                found[key] = vector
        return found

    def _keep(self, fresh: _Found) -> None:
        self._kept.update(fresh)
        while len(self._kept) > self._capacity:
            self._kept.popitem(last=False)

    def _rows(self, keys: list[bytes], found: _Found) -> _Vector:
        return np.stack([found[key] for key in keys]) if keys else np.zeros((0, self.dimension), dtype=np.float32)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
