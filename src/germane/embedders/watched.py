"""WatchedEmbedder: wraps a slow embedder, checks its answers, and knows whether it answers at the moment."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from germane.embedders.embedder_wrapper import EmbedderWrapper
from germane.errors import EmbedderError, GermaneError
from germane.ports.embedder import Embedder, Preparable, dimension_if_known

__all__ = ["WatchedEmbedder"]

_HANGS = 10.0
"""Seconds without any answer, while a call waits, after which an embedder counts as not answering."""
_TIMEOUT, _TIMEOUT_EACH = 30.0, 1.0
"""Seconds for one call, and for each of its texts: a batch of 256 may take minutes on a slow processor."""
_HUNG = f"no answer for {_HANGS:.0f} s"
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
        return self._steady() - max(self._answered, min(self._waiting.values())) > _HANGS

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
