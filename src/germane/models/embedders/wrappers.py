"""Wrappers: embedders around another embedder: one caches its vectors, one checks its answers.

The cache joins concurrent calls for the same text. It holds digests and vectors, never text, so that forgotten content leaves
nothing readable in it. It isn't a store: the vectors of stored units are stored with them.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from germane.errors import EmbedderError, GermaneError
from germane.ports.models import Embedder, Preparable, dimension_if_known, is_contextual, prepare, shorten_query
from germane.types.caches import LruCache
from germane.types.checks import check_whole_number

# What the wrappers share: the identity, the dimension and the capabilities of the embedder inside.


class EmbedderWrapper:
    """The embedder `inner` with everything as it is; a subclass changes what it is about."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def identity(self) -> str:
        return self._inner.identity

    @property
    def dimension(self) -> int:
        return self._inner.dimension

    @property
    def quick(self) -> bool:
        return self._inner.quick

    @property
    def contextual(self) -> bool:
        return is_contextual(self._inner)

    def shorten_query(self, text: str) -> str:
        return shorten_query(self._inner, text)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return await self._inner.embed(texts)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._inner.embed_now(texts)

    async def close(self) -> None:
        await self._inner.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._inner!r}>"


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
        check_whole_number("capacity", capacity, 1)
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


# Wraps a slow embedder, checks its answers, and knows whether it answers at the moment.


_HANGS_AFTER = 10.0
"""Seconds without any answer, while a call waits, after which an embedder counts as not answering."""
_TIMEOUT, _TIMEOUT_EACH = 30.0, 1.0
"""Seconds for one call, and for each of its texts: a batch of 256 may take minutes on a slow processor."""
_HUNG = f"no answer for {_HANGS_AFTER:.0f} s"
_WORD = "embedding"


class WatchedEmbedder(EmbedderWrapper):
    """`embedder` with the same identity and the same vectors. An answer of another shape, or with numbers that aren't finite,
    raises `EmbedderError`, and so does a call that takes longer than 30 s and a second for each text. While the embedder hangs,
    further calls raise at once. `steady` is a clock in seconds."""

    def __init__(self, embedder: Embedder, *, steady: Callable[[], float] = time.monotonic) -> None:
        super().__init__(embedder)
        self._steady = steady
        self._failure = ""
        self._preparing: asyncio.Task[None] | None = None
        self._waiting: dict[object, float] = {}
        self._answered = float("-inf")
        self.answers = 0
        """Calls that were answered with vectors so far."""

    @property
    def fault(self) -> str:
        """Why the embedder doesn't give vectors at the moment, without any content; empty while it does."""
        return self._failure or (_HUNG if self._hangs() else "")

    async def prepare(self, patience: float | None = None) -> None:
        """Prepares the embedder, or goes on with that, for at most `patience` seconds; a failure becomes the `fault`. Raises
        only errors of germane's that aren't about the embedder's answer, such as `InvalidInput`."""
        if self._preparing is None:
            self._preparing = asyncio.create_task(self._prepare())
            self._preparing.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.wait([self._preparing], timeout=patience)
        if not self._preparing.done():
            self._failure = "not prepared yet"
        elif (error := self._preparing.exception()) is None:
            self._failure = ""
        else:
            self._preparing = None
            if isinstance(error, GermaneError) and not isinstance(error, EmbedderError):
                raise error
            self._fail(error)

    async def check(self) -> None:
        """Prepares the embedder where that failed, and asks for the vector of one word. Raises `EmbedderError`."""
        if self._preparing is None or not self._preparing.done():
            await self.prepare()
        await self.embed([_WORD])

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raises `EmbedderError`."""
        if self._hangs():
            raise EmbedderError(f"the embedder {self._name}: {_HUNG}")
        call = object()
        self._waiting[call] = self._steady()
        try:
            vectors = await self._answer(texts)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._fail(error)
            if isinstance(error, EmbedderError):
                raise
            raise EmbedderError(f"the embedder {self._name} raised {type(error).__name__}") from error
        finally:
            del self._waiting[call]
        self._failure, self._answered = "", self._steady()
        self.answers += 1
        return vectors

    async def close(self) -> None:
        if self._preparing is not None:
            self._preparing.cancel()
        await self._inner.close()

    async def _prepare(self) -> None:
        if isinstance(self._inner, Preparable):
            await self._inner.prepare()
        else:  # which loads a model
            await self._answer([_WORD])

    @property
    def _name(self) -> str:
        return self.identity if dimension_if_known(self._inner) else repr(self._inner)

    def _hangs(self) -> bool:
        if not self._waiting:
            return False
        return self._steady() - max(self._answered, min(self._waiting.values())) > _HANGS_AFTER

    def _fail(self, error: BaseException) -> None:
        self._failure = str(error) if isinstance(error, EmbedderError) else type(error).__name__

    async def _answer(self, texts: Sequence[str]) -> NDArray[np.float32]:
        task, seconds = asyncio.ensure_future(self._inner.embed(texts)), _TIMEOUT + _TIMEOUT_EACH * len(texts)
        try:
            await asyncio.wait([task], timeout=seconds)
        finally:
            late = not task.done()
            if late:
                task.cancel()
        if late:
            raise EmbedderError(f"the embedder {self._name} didn't answer within {seconds:.0f} s")
        vectors = task.result()
        if getattr(vectors, "shape", None) != (len(texts), self.dimension):
            raise EmbedderError(f"the embedder {self._name} answered {len(texts)} texts with something else than vectors")
        if not np.isfinite(vectors).all():
            raise EmbedderError(f"the embedder {self._name} answered with numbers that aren't finite")
        return vectors
