"""Wiring: builds the parts of one `Germane`; the only module that imports stores, embedders and tokenizers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from germane.api.arguments import EmbedderArgument, LLMArgument, is_function, is_llm
from germane.api.digest import digest_strategy
from germane.api.session_compactions import SessionCompactions
from germane.api.strategies import Strategies, archetype_strategy
from germane.api.workers.batch_writers import CatchUp, InjectionWriter, LLMBudget, RetrievalCounter
from germane.api.workers.open_blocks import BatchReferences, BlockRoom
from germane.api.workers.warm_up import warm_up
from germane.catalog.profiles import Catalog, Prices
from germane.clock import Clock
from germane.engine.admission import AdmissionQueue
from germane.engine.engine import Engine
from germane.errors import InvalidInput
from germane.extraction.archetypes.registry import Archetypes
from germane.extraction.archetypes.value import Archetype
from germane.kinds.keys.reads import NonceKey
from germane.kinds.keys.verifier import KeyUsage, Verifier
from germane.kinds.memories.directive import ListDirectives
from germane.kinds.tasks.value import DelegationLimits
from germane.models.embedders.distilled import Distilled
from germane.models.embedders.registry import FunctionEmbedder, open_embedder
from germane.models.embedders.wrappers import CachedEmbedder, WatchedEmbedder
from germane.models.llms import FunctionLLM, open_llm
from germane.models.tokenizers import open_tokenizer
from germane.ports.background import Background, Throttle
from germane.ports.models import (
    LLM,
    Assuming,
    Embedder,
    HasWordVectors,
    Watched,
    WordVectors,
    dimension_if_known,
    is_contextual,
    prepare,
)
from germane.search.relevance import Relevance, shipped
from germane.settings.settings import Settings, read_toml
from germane.stages.gather.source import SourceFactory
from germane.stores.contract import Store, TellsChanges
from germane.stores.sqlite.database import known_dimension
from germane.stores.sqlite.store import SqliteStore
from germane.text.secrets.detection import SecretPolicy

if TYPE_CHECKING:
    from germane.api.workers.extraction import ExtractionWorker
    from germane.api.workers.summaries import SummaryWorker


_PREPARING_SECONDS = 5.0
"""Seconds that opening waits for a slow embedder, such as a model that is loaded or an endpoint that doesn't answer."""
_COMMON_VOCABULARY = "o200k"
"""The vocabulary that most models' counts and estimates use: loaded on opening, or the first answer would be late."""

_QUIET_EMBEDDING = 0.002
"""Seconds of making vectors between two pauses while no assembly is at work. A pause of 50 microseconds takes 150 in the end:
after each half millisecond it would cost a quarter of the throughput."""
_MAX_DIRECTIVES = 4096
"""Directives that are read on opening, so that no answer lacks them: the agents' first, then those of users."""


_searched_embedders = set[str]()
"""The embedders with which this process has searched a scratch store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Everything that one `Germane` works with."""

    store: Store
    engine: Engine
    compactions: SessionCompactions
    embedder: Embedder
    watched: Watched | None
    """The embedder as the store and the engine use it, where it is slow."""
    catch_up: CatchUp
    strategies: Strategies
    archetypes: Archetypes
    catalog: Catalog
    prices: Prices
    retrievals: RetrievalCounter
    injections: InjectionWriter
    blocks: BlockRoom
    verifier: Verifier
    background: Background
    """For long recordings."""
    clock: Clock
    secrets: SecretPolicy
    consent_timeout: float = 300.0
    delegation: DelegationLimits = DelegationLimits()
    """Seconds in which a request for consent can be answered."""
    batch_references: BatchReferences = field(default_factory=BatchReferences)
    """The blocks that running exchanges refer to."""
    extraction: bool = True
    """Whether recording looks for memories in the users' own turns."""
    archetype: Archetype | None = None
    """Whose extractors read what is recorded, unless an agent or a call names another one."""
    entities: bool = False
    """Whether recording looks for the entities that messages mention where no archetype is set."""
    extraction_worker: ExtractionWorker | None = None
    """Where an LLM is configured."""
    summaries: SummaryWorker | None = None
    """Where an LLM is configured and the store can be written: has it sum up in the background what compactions take out."""


async def wire(
    path: str | Path,
    *,
    settings: Settings,
    embedder: EmbedderArgument | None,
    clock: Clock,
    sources: Mapping[str, SourceFactory],
    relevance: Relevance | str | Path | None = None,
    dimensions: int | None = None,
    embedder_model: str | None = None,
    llm: LLMArgument | None = None,
    warm: bool = True,
    secrets: SecretPolicy | None = None,
    archetype: str | Archetype | None = None,
) -> Parts:
    """Opens the store at `path` and builds the engine over it. Search and scoring use the same `relevance` model. Unless
    `warm`, whatever only an assembly needs is loaded at its first use. Raises what the store, the settings and the embedder
    raise."""
    archetypes = Archetypes(settings.archetypes)
    made = [archetype_strategy(archetypes.find(name)) for name in archetypes]
    strategies = Strategies(settings.strategies, also=(digest_strategy(settings.memory), *made))
    archetypes.when_registered(lambda archetype: strategies.register(archetype_strategy(archetype)))
    chosen_archetype = settings.archetype if archetype is None else archetype
    catalog = Catalog.built_in().with_models(settings.models) if settings.models else Catalog.built_in()
    prices = Prices.built_in().with_prices(settings.prices) if settings.prices else Prices.built_in()
    chosen = settings.embedder if embedder is None else embedder
    vectors = _embedder(chosen, dimensions, embedder_model, settings)
    watched = None if vectors.quick else WatchedEmbedder(vectors, steady=clock.steady)
    relevance_model = _relevance(settings.relevance if relevance is None else relevance, vectors)
    counter = cache(open_tokenizer)
    words = (vectors if isinstance(vectors, HasWordVectors) else Distilled()).word_vectors()
    asked = settings.llm if llm is None else llm
    model = None if asked is None else open_chosen_llm(asked, settings.llm_access)
    loading: list[Awaitable[object]] = []
    if watched is not None:
        loading.append(watched.prepare(_PREPARING_SECONDS))
    elif warm or not isinstance(vectors, Distilled):  # whose table is part of this package: nothing can be missing
        loading.append(prepare(vectors))
    if warm:
        loading += [
            asyncio.to_thread(counter(_COMMON_VOCABULARY).count, " "),
            asyncio.to_thread(words.cosines, np.zeros(1, np.uint32), ["something"]),
        ]
    await asyncio.gather(*loading)
    admission = AdmissionQueue()
    try:
        _assume_dimension(vectors, path)
        store = await asyncio.to_thread(
            SqliteStore.open,
            path,
            embedder=watched or vectors,
            clock=clock,
            relevance=relevance_model,
            words=words,
            count=counter(_COMMON_VOCABULARY).count if warm else None,
            breath=Throttle(admission.busy, quiet=_QUIET_EMBEDDING),
        )
    except BaseException:
        if vectors is not chosen:
            await vectors.close()
        raise
    try:
        key = settings.nonce_key
        if not key:
            key = await store.ask(NonceKey())
    except BaseException:
        await store.close()
        raise
    budget = LLMBudget(store, clock, settings.llm_tokens_per_day)
    summaries = None
    if model is not None and not store.read_only:
        from germane.api.workers.summaries import SummaryWorker

        summaries = SummaryWorker(model)
    compactions = SessionCompactions(secrets or settings.secrets, clock.now, prices, summaries, budget)
    engine = Engine(
        clock=clock,
        catalog=catalog,
        tokenizer=counter,
        embedder=vectors if watched is None else CachedEmbedder(watched),
        relevance=relevance_model,
        nonce_key=key,
        sources=dict(sources),
        compactor=compactions,
        admission=admission,
    )
    if warm:
        await _warm_up(engine, store, words)
    if isinstance(store, TellsChanges):
        store.when_vanished(engine.directive_cache.revise)
        store.when_erased(engine.injections.drop_sent)
    since = engine.directive_cache.changes
    engine.directive_cache.load(await store.ask(ListDirectives(_MAX_DIRECTIVES)), since)
    catch_up, background = CatchUp(store, watched), Background(admission.busy)
    catch_up.start()
    worker = None
    if model is not None:
        from germane.api.workers.extraction import ExtractionWorker

        worker = ExtractionWorker(
            store,
            model,
            clock,
            budget=budget,
            entities=settings.entities or chosen_archetype is not None,
            settle=catch_up.settle,
        )
        await worker.start()
    if summaries is not None:
        await summaries.__aenter__()
    return Parts(
        store=store,
        engine=engine,
        compactions=compactions,
        embedder=vectors,
        watched=watched,
        catch_up=catch_up,
        strategies=strategies,
        archetypes=archetypes,
        archetype=None if chosen_archetype is None else archetypes.find(chosen_archetype),
        catalog=catalog,
        prices=prices,
        retrievals=RetrievalCounter(store),
        injections=InjectionWriter(store, engine.injections),
        blocks=BlockRoom(store, background),
        consent_timeout=settings.consent_timeout,
        delegation=DelegationLimits(depth=settings.delegation_depth, open=settings.delegations),
        verifier=Verifier(store, KeyUsage(store, read_only=store.read_only), clock),
        background=background,
        clock=clock,
        secrets=secrets or settings.secrets,
        extraction=settings.extraction,
        entities=settings.entities,
        extraction_worker=worker,
        summaries=summaries,
    )


def open_chosen_llm(chosen: LLMArgument, access: Mapping[str, str]) -> LLM:
    """Returns the language model that was chosen. `access` holds addresses and keys, as for `open_llm`. Raises what that
    raises."""
    if isinstance(chosen, str):
        return open_llm(chosen, access)
    if is_llm(chosen):
        return cast("LLM", chosen)
    return FunctionLLM(cast("Callable[[str], Any]", chosen))


def _embedder(chosen: EmbedderArgument, dimensions: int | None, model: str | None, settings: Settings) -> Embedder:
    """Raises `InvalidInput` for `dimensions` that aren't those of an embedder which knows its own. Those of the settings
    concern only endpoints."""
    if isinstance(chosen, str):
        vectors: Embedder = open_embedder(chosen, dimension=settings.dimensions if dimensions is None else dimensions)
    elif is_function(chosen):
        return FunctionEmbedder(cast("Callable[[list[str]], Any]", chosen), dimensions or 0, model=model)
    else:
        vectors = cast("Embedder", chosen)
    if dimensions is not None and not isinstance(vectors, Assuming) and vectors.dimension != dimensions:
        raise InvalidInput(f"is {dimensions}, but the embedder {vectors.identity} has {vectors.dimension}", path="dimensions")
    return vectors


def _assume_dimension(vectors: Embedder, path: str | Path) -> None:
    """Looks an endpoint's dimension up in the store at `path`, where the endpoint didn't tell it. Without either, the store
    learns it when the endpoint answers, and keywords serve until then."""
    if not dimension_if_known(vectors) and isinstance(vectors, Assuming):
        known = known_dimension(path, vectors.family)
        if known is not None:
            vectors.assume(known)


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
    """Warms up the engine. With a quick embedder, the first warm-up of a process also searches a scratch store that holds
    something to find."""
    if not engine.embedder.quick or engine.embedder.identity in _searched_embedders:
        return await warm_up(engine, store)
    scratch = await asyncio.to_thread(SqliteStore.open, ":memory:", embedder=engine.embedder, clock=engine.clock, words=words)
    try:
        await warm_up(engine, store, scratch_store=scratch)
        _searched_embedders.add(engine.embedder.identity)
    finally:
        await scratch.close()
