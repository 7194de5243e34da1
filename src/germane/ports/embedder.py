"""Embedder: the protocol for turning texts into unit vectors, and the capabilities an embedder may add to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from germane.errors import EmbedderError

__all__ = [
    "STATIC_EMBEDDERS",
    "Assuming",
    "Embedder",
    "Pausing",
    "Preparable",
    "Shortening",
    "Watched",
    "dimension_if_known",
    "embed_in_background",
    "is_contextual",
    "prepare",
    "shorten_query",
]

STATIC_EMBEDDERS = frozenset({"distilled", "static"})
"""Names of the embedders that average static vectors. All others read a text as a whole, see `is_contextual`."""


class Embedder(Protocol):
    """Turns texts into unit-length float32 vectors of one vector space. Implementations raise no error but `EmbedderError`.

    These six members are all that an embedder needs. More are optional: `contextual` (see `is_contextual`), `prepare` (see
    `Preparable`), `family` and `assume` (see `Assuming`), `shorten_query` (see `Shortening`), `embed_in_background` (see
    `Pausing`).
    """

    @property
    def identity(self) -> str:
        """Model, version and dimension, such as `distilled/minilm-1/256`: equal identities share a vector space (SEARCH-3)."""

    @property
    def dimension(self) -> int:
        """Numbers in each vector."""

    @property
    def quick(self) -> bool:
        """Whether a text takes well under a millisecond and no network.

        `embed_now` of a quick embedder is called on any thread and inside transactions. With a slow embedder texts are stored
        first, found by keywords, and embedded right after.
        """

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns shape (len(texts), dimension). An empty or unreadable text gives a row of zeros."""

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """As `embed`, but blocking. Only quick embedders implement it; others raise `EmbedderError`."""

    async def close(self) -> None:
        """Releases what the embedder holds: threads, connections, memory."""


@runtime_checkable
class Preparable(Protocol):
    """Optional capability of an embedder: it has work to do before its first text, such as loading its model."""

    async def prepare(self) -> None:
        """Does that work now, so that the first answer isn't late for it. Raises `EmbedderError`."""


@runtime_checkable
class Assuming(Protocol):
    """Optional capability of an embedder behind a network: it can work with a dimension that it was told. Before its endpoint
    has answered once, its `identity` and `dimension` raise `EmbedderError`."""

    @property
    def family(self) -> str:
        """The identity without the dimension, such as `openai/text-embedding-3-small`."""

    def assume(self, dimension: int) -> None:
        """Sets the dimension, if it isn't known yet. Answers of another dimension raise `EmbedderError` from then on."""


@runtime_checkable
class Shortening(Protocol):
    """Optional capability of an embedder whose time grows with the text, while a query's answer has a deadline."""

    def shorten_query(self, text: str) -> str:
        """Returns the part of a query that is embedded; the whole of a query of usual length. Takes no I/O."""


@runtime_checkable
class Pausing(Protocol):
    """Optional capability of a quick embedder: it can make vectors in steps, with pauses between."""

    async def embed_in_background(self, texts: Sequence[str], between: Callable[[], None]) -> NDArray[np.float32]:
        """As `embed`, always in a thread, for texts that no assembly waits for. `between` is called in that thread after each
        step, which takes a millisecond at most, and may sleep."""


class Watched(Embedder, Protocol):
    """A slow embedder of which it is known whether it answers at the moment."""

    @property
    def fault(self) -> str:
        """Why the embedder gives no vectors at the moment, without any content; empty while it does."""

    @property
    def answers(self) -> int:
        """Calls that were answered with vectors so far."""

    async def check(self) -> None:
        """Asks for the vector of one word. Raises `EmbedderError`."""


def dimension_if_known(embedder: Embedder) -> int:
    """Returns the embedder's dimension; 0 where its endpoint hasn't told it yet."""
    try:
        return embedder.dimension
    except EmbedderError:
        return 0


def is_contextual(embedder: Embedder) -> bool:
    """Returns the embedder's optional attribute `contextual`, default False: whether it reads a text as a whole, as transformer
    models do. Cosines of contextual embedders are distributed differently, so they get relevance coefficients of their own."""
    return bool(getattr(embedder, "contextual", False))


async def embed_in_background(embedder: Embedder, texts: Sequence[str], between: Callable[[], None]) -> NDArray[np.float32]:
    """Calls the embedder's `embed_in_background`, if it has one, else `embed`."""
    if isinstance(embedder, Pausing):
        return await embedder.embed_in_background(texts, between)
    return await embedder.embed(texts)


async def prepare(embedder: Embedder) -> None:
    """Calls the embedder's `prepare`, if it has one."""
    if isinstance(embedder, Preparable):
        await embedder.prepare()


def shorten_query(embedder: Embedder, text: str) -> str:
    """Returns what the embedder's `shorten_query` returns, if it has one, else `text`."""
    return embedder.shorten_query(text) if isinstance(embedder, Shortening) else text
