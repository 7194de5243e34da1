"""Wiring: builds the parts of one `Germane`; the only module that imports stores, embedders and tokenizers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from germane.access.usage import KeyUsage
from germane.access.verifier import Verifier
from germane.api.injection_writer import InjectionWriter
from germane.api.retrieval_counter import RetrievalCounter
from germane.api.strategies import Strategies
from germane.api.warm_up import warm_up
from germane.catalog.catalog import Catalog
from germane.catalog.prices import Prices
from germane.clock import Clock
from germane.embedders.cached import CachedEmbedder
from germane.embedders.named import open_embedder
from germane.embedders.static import Static
from germane.errors import InvalidInput
from germane.pipeline.background import Background
from germane.pipeline.engine import Engine
from germane.pipeline.gather.source import SourceFactory
from germane.ports.embedder import Embedder, is_contextual, prepare
from germane.ports.word_vectors import HasWordVectors, WordVectors
from germane.search.relevance import Relevance, shipped
from germane.settings.settings import Settings, read_toml
from germane.store import Store
from germane.stores.sqlite.store import SqliteStore
from germane.tokenizers.named import open_tokenizer

__all__ = ["Parts", "wire"]

_COMMONEST = "o200k"
"""The vocabulary that most models' counts and estimates use: loaded on opening, or the first answer would be late."""

_DIRECTIVES = 4096
"""Directives that are read on opening, so that no answer lacks them: the agents' first, then those of users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that one `Germane` works with."""

    store: Store
    engine: Engine
    embedder: Embedder
    strategies: Strategies
    catalog: Catalog
    prices: Prices
    retrievals: RetrievalCounter
    injections: InjectionWriter
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
    """Opens the store at `path` and builds the engine over it. Search and scoring use the same `relevance` model. Raises what
    the store, the settings and the embedder raise."""
    strategies = Strategies(settings.strategies)
    catalog = Catalog.built_in().with_models(settings.models) if settings.models else Catalog.built_in()
    prices = Prices.built_in().with_prices(settings.prices) if settings.prices else Prices.built_in()
    chosen = settings.embedder if embedder is None else embedder
    vectors = open_embedder(chosen) if isinstance(chosen, str) else chosen
    relevance_model = _relevance(settings.relevance if relevance is None else relevance, vectors)
    counter = cache(open_tokenizer)
    words = (vectors if isinstance(vectors, HasWordVectors) else Static()).word_vectors()
    load_words = asyncio.to_thread(words.similar, ["anything"], ["something"])
    await asyncio.gather(prepare(vectors), asyncio.to_thread(counter(_COMMONEST).count, " "), load_words)
    store = await asyncio.to_thread(
        SqliteStore.open, path, embedder=vectors, clock=clock, relevance=relevance_model, words=words
    )
    try:
        key = settings.nonce_key or await store.nonce_key()
    except BaseException:
        await store.close()
        raise
    engine = Engine(
        clock=clock,
        catalog=catalog,
        tokenizer=counter,
        embedder=vectors if vectors.quick else CachedEmbedder(vectors),
        relevance=relevance_model,
        nonce_key=key,
        sources=dict(sources),
    )
    await _warm_up(engine, store, words)
    store.when_vanished(engine.directive_cache.revise)
    since = engine.directive_cache.changes
    engine.directive_cache.load(await store.directives(_DIRECTIVES), since)
    return Parts(
        store=store,
        engine=engine,
        embedder=vectors,
        strategies=strategies,
        catalog=catalog,
        prices=prices,
        retrievals=RetrievalCounter(store),
        injections=InjectionWriter(store, engine.injections),
        verifier=Verifier(store.keys, KeyUsage(store.keys, read_only=store.read_only), clock),
        background=Background(engine.admission.busy),
        clock=clock,
    )


def _relevance(chosen: Relevance | str | Path | None, embedder: Embedder) -> Relevance:
    """Returns `chosen`, or the model in the TOML file at that path (as `germane eval fit` writes it), or the shipped model.
    Raises `InvalidInput` naming the file."""
    if chosen is None:
        return shipped(contextual=is_contextual(embedder))
    if isinstance(chosen, Relevance):
        return chosen
    try:
        return Relevance.parse(read_toml(Path(chosen), "relevance model"))
    except InvalidInput as error:
        text = str(error)
        raise InvalidInput(text if str(chosen) in text else f"{chosen}: {text}") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"relevance model {chosen}: a column is a table of numbers ({error})") from error


async def _warm_up(engine: Engine, store: Store, words: WordVectors) -> None:
    """Warms up the engine. With a quick embedder, the warm-up also searches a scratch store that holds something to find."""
    if not engine.embedder.quick:
        return await warm_up(engine, store)
    scratch = await asyncio.to_thread(SqliteStore.open, ":memory:", embedder=engine.embedder, clock=engine.clock, words=words)
    try:
        await warm_up(engine, store, scratch_store=scratch)
    finally:
        await scratch.close()
