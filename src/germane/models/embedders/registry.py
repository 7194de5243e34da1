"""Registry: the embedder for a name that settings and the command line use, or for a caller's function.

`open_embedder` imports only the embedder that it opens. The function of a `FunctionEmbedder` takes a list of texts and
returns their vectors.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from germane.errors import EmbedderError, InvalidInput, UnknownName
from germane.models.embedders.distilled import Distilled
from germane.ports.models import Embedder
from germane.types.checks import check_whole_number

_OPENAI_URL = "https://api.openai.com/v1"


def open_embedder(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    dimension: int | None = None,
    timeout: float = 30.0,
) -> Embedder:
    """Returns the embedder called `name`. The options apply to embedders behind a network and are ignored by the others;
    `timeout` is in seconds.

    Names are `distilled`, `minilm`, `static`, `openai:<model>` (at `base_url`, default OpenAI's own address), and the address
    of any compatible endpoint followed by `#` and the model, such as `http://localhost:11434/v1#nomic-embed-text`. Raises
    `UnknownName`, `InvalidInput` for an option that can't be used, and `MissingExtra` for a package that isn't installed.
    """
    if name == "distilled":
        return Distilled()
    if name == "static":
        from germane.models.embedders.static import Static

        return Static()
    if name == "minilm":
        from germane.models.embedders.minilm import MiniLM

        return MiniLM()
    if name.startswith("openai:"):
        address, model = base_url or _OPENAI_URL, name.removeprefix("openai:")
    elif name.startswith(("http://", "https://")):
        address, _, model = name.partition("#")
    else:
        raise UnknownName(
            "no embedder is called {}",
            name,
            advice="take 'distilled', 'minilm', 'static', 'openai:<model>' or '<address>#<model>'",
        )
    if not model:
        raise InvalidInput("the embedder {} names no model", name, advice="write 'openai:<model>' or '<address>#<model>'")
    from germane.models.embedders.openai import OpenAICompatible

    return OpenAICompatible(address, model, api_key, dimension, timeout)


_MAX_THREADS = 4
"""Calls of a blocking function that may run at once."""


class FunctionEmbedder:
    """Unit-length vectors of `dimension` numbers from `function(texts)`, which returns one row of numbers for each text.

    A coroutine function runs on the event loop. Any other function runs in a daemon thread, at most four calls at once, and
    must be thread-safe. It gets no blank texts. The identity is made of `model`, or of the function's module and name; vectors
    with the same identity are compared. Raises `InvalidInput` for a `dimension` below 1.
    """

    quick = False
    contextual = True

    def __init__(self, function: Callable[[list[str]], Any], dimension: int, *, model: str | None = None) -> None:
        check_whole_number("dimensions", dimension, 1)
        self.dimension = dimension
        self.identity = f"function/{model or _full_name(function)}/{dimension}"
        self._function = function
        self._threads = asyncio.Semaphore(_MAX_THREADS)

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raises `EmbedderError` where the function raises, or returns something else than that many finite vectors."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = [row for row, text in enumerate(texts) if text.strip()]
        if filled:
            vectors[filled] = self._read(await self._call([texts[row] for row in filled]), len(filled))
        return vectors

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedderError("an embedder made of a function is never run in place: await embed()")

    async def close(self) -> None:
        """There is nothing to release: the function is the caller's."""

    def __repr__(self) -> str:
        return f"<FunctionEmbedder {self.identity}>"

    async def _call(self, texts: list[str]) -> Any:
        try:
            if inspect.iscoroutinefunction(self._function):
                return await self._function(texts)
            await self._threads.acquire()
            found = await _in_daemon_thread(lambda: self._function(texts), self._threads.release)
            return await found if inspect.isawaitable(found) else found
        except Exception as error:
            raise EmbedderError(f"the embedder {self.identity} raised {type(error).__name__}") from error

    def _read(self, found: Any, count: int) -> NDArray[np.float64]:
        try:
            vectors = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise EmbedderError(f"the embedder {self.identity} returned {type(found).__name__}, not rows of numbers") from None
        if vectors.shape != (count, self.dimension):
            raise EmbedderError(f"the embedder {self.identity} returned shape {vectors.shape}, not {(count, self.dimension)}")
        with np.errstate(all="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise EmbedderError(f"the embedder {self.identity} returned numbers that aren't finite")
        unit: NDArray[np.float64] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return unit


def _full_name(function: Callable[[list[str]], Any]) -> str:
    owner = getattr(function, "__module__", None) or type(function).__module__
    return f"{owner}.{getattr(function, '__qualname__', None) or type(function).__qualname__}"


def _in_daemon_thread(work: Callable[[], Any], on_end: Callable[[], object]) -> Awaitable[Any]:
    """Runs `work` in a thread of its own, which doesn't keep the process from ending where `work` hangs. `on_end` is called
    when `work` has ended, whether anybody still waits for its result or not."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def settle(found: Any, error: BaseException | None) -> None:
        on_end()
        if answer.done():  # nobody waits any more
            return
        if error is None:
            answer.set_result(found)
        else:
            answer.set_exception(RuntimeError("StopIteration") if isinstance(error, StopIteration) else error)

    def run() -> None:
        found, failure = None, None
        try:
            found = work()
        except BaseException as error:
            failure = error
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, found, failure)

    threading.Thread(target=run, name="germane-embedder", daemon=True).start()
    return answer
