"""Wiring: puts the parts together. The only importer of adapters: stores, embedders, tokenizers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from germane.access.usage import KeyUsage
from germane.access.verifier import Verifier
from germane.api.retrieval_counter import RetrievalCounter
from germane.api.strategies import Strategies
from germane.api.warm_up import warm_up
from germane.catalog.catalog import Catalog
from germane.clock import Clock
from germane.embedders.cached import Cached
from germane.embedders.minilm import MiniLM
from germane.embedders.named import open_embedder
from germane.embedders.openai import OpenAICompatible
from germane.embedders.static import Static
from germane.embedders.words import Words
from germane.errors import InvalidInput
from germane.pipeline.background import Background
from germane.pipeline.engine import Engine
from germane.pipeline.gather.source import SourceFactory
from germane.ports.embedder import Embedder
from germane.search.relevance import Relevance, shipped
from germane.settings.settings import Settings, read_toml
from germane.store import Store
from germane.stores.sqlite.store import SqliteStore
from germane.tokenizers.named import open_tokenizer

__all__ = ["Parts", "wire"]

_COMMONEST = "o200k"
"""The vocabulary that most models count or estimate with: read at once, or the first answer would be late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything one `Germane` works with."""

    store: Store
    engine: Engine
    embedder: Embedder
    strategies: Strategies
    catalog: Catalog
    retrievals: RetrievalCounter
    verifier: Verifier
    background: Background
    """For long recordings."""
    clock: Clock


async def wire(
    path: str | Path,
    *,
    settings: Settings,
    embedder: str | Embedder | None,
    clock: Clock,
    sources: Mapping[str, SourceFactory],
    relevance: Relevance | str | Path | None = None,
) -> Parts:
    """Open the store at `path` and build the engine over it. Search and scoring use one `relevance` model. Raises what the
    store and the settings raise."""
    strategies = Strategies(settings.strategies)
    catalog = Catalog.built_in().with_models(settings.models) if settings.models else Catalog.built_in()
    chosen = settings.embedder if embedder is None else embedder
    vectors = open_embedder(chosen) if isinstance(chosen, str) else chosen
    judge = _relevance(settings.relevance if relevance is None else relevance, vectors)
    counter = cache(open_tokenizer)
    words = Words(vectors if isinstance(vectors, Static) else Static())
    kindred = asyncio.to_thread(words.kindred, ["anything"], ["something"])
    await asyncio.gather(_ready(vectors), asyncio.to_thread(counter(_COMMONEST).count, " "), kindred)
    store = await asyncio.to_thread(SqliteStore.open, path, embedder=vectors, clock=clock, relevance=judge, words=words)
    try:
        key = settings.nonce_key or await store.nonce_key()
    except BaseException:
        await store.close()
        raise
    engine = Engine(
        clock=clock,
        catalog=catalog,
        tokenizer=counter,
        embedder=vectors if vectors.quick else Cached(vectors),
        relevance=judge,
        nonce_key=key,
        sources=dict(sources),
    )
    await _rehearsed(engine, store, words)
    store.when_vanished(engine.directive_cache.revise)
    return Parts(
        store=store,
        engine=engine,
        embedder=vectors,
        strategies=strategies,
        catalog=catalog,
        retrievals=RetrievalCounter(store),
        verifier=Verifier(store.keys, KeyUsage(store.keys, read_only=store.read_only), clock),
        background=Background(engine.admission.busy),
        clock=clock,
    )


def _relevance(chosen: Relevance | str | Path | None, embedder: Embedder) -> Relevance:
    """The model itself, the one in a TOML file as `germane eval fit` writes it, or the shipped one."""
    if chosen is None:
        return shipped(contextual=isinstance(embedder, MiniLM | OpenAICompatible))
    if isinstance(chosen, Relevance):
        return chosen
    try:
        return Relevance.parse(read_toml(Path(chosen), "relevance model"))
    except InvalidInput as error:
        text = str(error)
        raise InvalidInput(text if str(chosen) in text else f"{chosen}: {text}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"relevance model {chosen}: a column is a table of numbers ({error})") from error


async def _rehearsed(engine: Engine, store: Store, words: Words) -> None:
    """With something to be found where embedding it costs nothing."""
    if not isinstance(engine.embedder, Static):
        return await warm_up(engine, store)
    aside = await asyncio.to_thread(SqliteStore.open, ":memory:", embedder=engine.embedder, clock=engine.clock, words=words)
    try:
        await warm_up(engine, store, aside=aside)
    finally:
        await aside.close()


async def _ready(embedder: Embedder) -> None:
    """Load now what would otherwise make the first answer late; ask an endpoint for the dimension it wasn't told."""
    if isinstance(embedder, Static):
        await asyncio.to_thread(embedder.warm)
    elif isinstance(embedder, OpenAICompatible):
        await embedder.probe()
