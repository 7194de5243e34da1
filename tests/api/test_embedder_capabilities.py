"""What an embedder of one's own may say beyond the six members that it must have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from germane import EmbedderError
from germane.api import wiring
from germane.api.wiring import wire
from germane.clock import Clock
from germane.models.embedders import tables as table_embedder
from germane.models.embedders.tables import StaticWordVectors, TokenTable
from germane.models.embedders.wrappers import CachedEmbedder
from germane.ports.models import Embedder, is_contextual, prepare
from germane.search.relevance import shipped
from germane.settings.settings import Settings
from germane_testing.builders import Hashed


class Six:
    """The six members and nothing else."""

    identity, dimension, quick = "six/1/2", 2, False

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.zeros((len(texts), 2), np.float32)

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedderError("await embed")

    async def close(self) -> None: ...


class Whole(Six):
    """Reads texts as a whole, after it was prepared."""

    contextual = True

    def __init__(self) -> None:
        self.prepared = 0

    async def prepare(self) -> None:
        self.prepared += 1


class Broken(Hashed):
    """Quick by its own account, but without an answer."""

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedderError("out of order")


@pytest.mark.parametrize(
    ("embedder", "contextual"), [(Six(), False), (Hashed(), False), (Whole(), True)], ids=lambda value: type(value).__name__
)
async def test_an_embedder_says_itself_whether_it_reads_texts_as_a_whole(embedder: Embedder, contextual: bool) -> None:
    """The relevance coefficients follow from that, whoever wrote the embedder."""
    parts = await wire(":memory:", settings=Settings(), embedder=embedder, clock=Clock(), sources={})
    assert parts.engine.relevance is shipped(contextual=contextual)
    await parts.store.close()


async def test_an_embedder_is_prepared_once_when_it_is_opened() -> None:
    whole = Whole()
    parts = await wire(":memory:", settings=Settings(), embedder=whole, clock=Clock(), sources={})
    assert whole.prepared == 1
    await parts.store.close()


async def test_a_quick_embedder_that_fails_does_not_keep_a_store_from_opening() -> None:
    """Warming up stores something for a moment, and can do without."""
    parts = await wire(":memory:", settings=Settings(), embedder=Broken(), clock=Clock(), sources={})
    await parts.store.close()


async def test_a_cached_embedder_has_what_it_wraps_has() -> None:
    whole = Whole()
    assert is_contextual(CachedEmbedder(whole))
    assert not is_contextual(CachedEmbedder(Six()))
    await prepare(CachedEmbedder(whole))
    await prepare(CachedEmbedder(Six()))
    assert whole.prepared == 1


async def test_the_default_embedder_lends_its_table_to_the_word_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """One table in memory, not two."""
    tables: list[object] = []
    make = StaticWordVectors.__init__

    def noted(self: StaticWordVectors, table: TokenTable) -> None:
        tables.append(table)
        make(self, table)

    monkeypatch.setattr(StaticWordVectors, "__init__", noted)
    monkeypatch.setattr(table_embedder, "_words", {})  # as in a process that has opened no store yet
    monkeypatch.setattr(wiring, "_searched_embedders", set())
    parts = await wire(":memory:", settings=Settings(), embedder="distilled", clock=Clock(), sources={})
    assert tables == [parts.embedder]
    await parts.store.close()
