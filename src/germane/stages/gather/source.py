"""Source: the protocol of a source of candidates, how far down it searches, and the query's vector.

Built-in sources and those that users register have the same protocol. A search looks as far down as the budget, or the limit
of a recall, could use its results, and no further (AMOUNT-3).

The query is embedded without the speakers' names. A speaker's name occurs in half of the messages that the speaker sends or
gets, so it hardly tells messages apart, and it dominates the vector of a short query. Removing the names on both sides
improves a small embedder's recall by ten points (design: relevance model).
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from germane.kinds.graph.value import Entity
from germane.kinds.tasks.value import TaskView
from germane.ports.models import Embedder, shorten_query
from germane.search.relevance import Relevance
from germane.stages.gather.merge import RequestContents
from germane.stores.contract import ScopedStore
from germane.types.budget import price_asked
from germane.types.candidate import Candidate
from germane.types.evidence import Unread
from germane.types.limits import COUNT
from germane.types.query import Query, Vector
from germane.types.strategy import SourcePlan, Strategy


class Skipped(Exception):
    """Raised by a source that has nothing to do for a query; the message is the reason shown in the trace, a word or two."""


class Source(Protocol):
    """Turns a part of one scope's store into candidates. `gather` may raise, and may be cancelled at any await; neither affects
    other sources."""

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate | Unread]:
        """At most `plan.limit` candidates; what was found besides and not read is named. Raises `Skipped` when there is nothing
        to do."""


class EmbeddingSource:
    """Base of the sources whose searches make the query's vector themselves, where `Query.embed` is set."""


class BusySource:
    """Stands for a source when there isn't time to search: raises `Skipped`."""

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        raise Skipped("busy")


SourceFactory = Callable[[ScopedStore], Source]
"""Makes a source for one scoped store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNature:
    """What the other stages must know of a built-in source. That it needs the query's vector, and isn't asked where there is no
    time to search, is said by its base, `EmbeddingSource`."""

    standing: bool = False
    """Whether it offers the same candidates whatever the question is. A search leaves such a source out: what is pinned is
    found if it answers the question."""
    deep: bool = False
    """Whether it looks as far down as the `SearchDepth` says."""
    offers: Literal["recent", "found", "other"] = "other"
    """What its items are to a prompt's sections: what happened lately, what was found for the query or by name, or neither."""
    without: Set[str] = frozenset()
    """The reasons of `Skipped` for which it has nothing to offer, so that the answer is complete without it."""


class KnownEntities(NamedTuple):
    """`mentioned` are those that the query names, `salient` the most salient of the others."""

    mentioned: tuple[Entity, ...]
    salient: tuple[Entity, ...]


class NamesEntities(Protocol):
    async def of(self, query: Query) -> KnownEntities:
        """The entities for this query. Raises what the store raises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceParts:
    """What the sources of one assembly are made from. `said` is what the request holds already. With `wait`, sources wait for a
    partition that is still being loaded. `depth` says how far down a search has to look, `named_blocks` which blocks the
    request names; `tasks` returns what was read of its task stack. `relevance` tells how probable it is that a line of an
    outline is what the question is about. `lookup` finds the entities that the query names, once for all sources."""

    store: ScopedStore
    strategy: Strategy
    said: RequestContents
    relevance: Relevance
    lookup: NamesEntities
    wait: bool
    depth: SearchDepth
    named_blocks: Sequence[str]
    tasks: Callable[[], TaskView | None]


class BuiltInSource(Source, Protocol):
    """A source that `builtin.SOURCES` lists."""

    nature: ClassVar[SourceNature]

    @classmethod
    def planned(cls, plan: SourcePlan, parts: SourceParts) -> Source:
        """Makes the source for one assembly."""


# How far down a search looks (AMOUNT-3).


_MIN_TOKENS = 12
"""Tokens that hardly any message costs less than, as written."""
_USUAL_TOKENS = 32
"""Tokens that most messages cost at least. Measured on LoCoMo: with 24, 32, 40 and 56 the default shows 87.3, 87.4, 87.2 and
87.2 % of the evidence in 748, 737, 730 and 714 tokens."""
_MIN_ITEMS = 64
"""More than the candidates that count as possibly relevant (`COUNTED_ITEMS`): with fewer, each would look more probable."""
_SPARE_MESSAGES = 16
"""Messages that a search reads beyond its limit: they may stand for a memory among the best that was extracted from them. With
0 a recall of 10 has to search again for 51 of BEAM's 179 questions, with 16 for 33, with 32 for 25; each message takes some 40
microseconds."""


SHALLOW_ITEMS = 16
"""Results of a shallow search. Measured on LoCoMo with the default: 16 show 84.0 % of the evidence in 604 tokens where a full
search shows 87.4 in 736; 12 show 81.0, 24 show 85.8."""


class SearchDepth(NamedTuple):
    """At most `max_items` messages and `max_stated` of what is stated on purpose (memories, archival entries); no message less
    probably relevant than `min_relevance`; and of those that can't be worth their tokens at `price`, no text. Messages are read
    down to the best `leading` and those within `spread` log-odds of the last of them. `blocks` says that blocks of every type
    are searched, and not only archival ones."""

    max_items: int = COUNT.maximum
    min_relevance: float = 0.0
    price: float = 0.0
    leading: int = COUNT.maximum
    spread: float = 0.0
    blocks: bool = False
    max_stated: int = COUNT.maximum

    def shallow(self) -> SearchDepth:
        """The depth of a search for which there is little time."""
        return self._replace(max_items=min(self.max_items, SHALLOW_ITEMS), max_stated=min(self.max_stated, SHALLOW_ITEMS))

    def reached(self, found: Sequence[Candidate], unread: Sequence[Unread], deep: Set[str]) -> bool:
        """Whether one of the `deep` sources, which look as far as the depth says, found as many as it looked for, so that there
        may be more."""
        counts = Counter(one.source for one in found if one.source in deep)
        return max(counts.values(), default=0) + len(unread) >= min(self.max_items, self.max_stated)

    def unlimited(self) -> SearchDepth:
        """The depth at which every message found is read."""
        return self._replace(leading=COUNT.maximum)

    def of_stated(self, query: Query) -> Query:
        """The query with the price, the only limit of what is stated on purpose: the search doesn't know that it is, so its
        log-odds say too little of it. An exact match of an identifier or a quoted phrase shows only in a text, so a query that
        has any is searched without limits."""
        if query.identifiers or query.phrases:
            return query
        return replace(query, price=price_asked(self.price, asks=query.asks, broad=query.broad))

    def of_messages(self, query: Query) -> Query:
        """The query with all limits, under the same condition. Results that are excluded by name are known by their texts, and
        the next ones take their place, so such a query reads everything."""
        if query.identifiers or query.phrases:
            return query
        leading = COUNT.maximum if query.filters.exclude else self.leading
        return replace(self.of_stated(query), min_relevance=self.min_relevance, leading=leading, spread=self.spread)


EVERYTHING = SearchDepth()


def search_depth(available: int, price: float | None, min_relevance: float) -> SearchDepth:
    """The depth for a budget of `available` tokens at this price (a share per token; None where the budget is used up). All
    shares together are 1, so at a price no more than 1 / price tokens can be worth it."""
    most = available // _MIN_TOKENS
    if price is not None:
        most = min(most, int(1 / (price * _USUAL_TOKENS)))
    return SearchDepth(max(_MIN_ITEMS, most), min_relevance, price or 0.0)


def recall_depth(limit: int, spread: float | None, min_relevance: float) -> SearchDepth:
    """The depth for the best `limit` results. Scoring moves one message against another by at most `spread` log-odds; None is
    no bound, and every message found is read."""
    everything = SearchDepth(min_relevance=min_relevance, blocks=True)
    return everything if spread is None else everything._replace(leading=limit + _SPARE_MESSAGES, spread=spread)


# The vector of the query, without the speakers' names.


_MAX_EMBEDDED = 2000
"""Characters of the query that are embedded."""
_MAX_NAMES = 256
"""Names that are removed from one text, the longest first."""
_WORD = re.compile(r"\w+")


async def with_vector(query: Query, store: ScopedStore, embedder: Embedder, *, patience: float | None) -> Query:
    """The query with its vector, of length 1; unchanged where the text is blank or the embedder's answer isn't a usable vector.

    Raises `Skipped` when a slow embedder takes longer than `patience` seconds; None waits. A caching embedder finishes in the
    background and answers from its cache the next time.
    """
    if not _embeddable(query, embedder):
        return query
    said = query.text[:_MAX_EMBEDDED]
    text = nameless(said, await store.events.speakers(said))
    if embedder.quick:
        return _with(query, embedder.embed_now([text]), embedder)
    task = asyncio.ensure_future(embedder.embed([shorten_query(embedder, text)]))
    task.add_done_callback(lambda late: late.cancelled() or late.exception())
    try:
        await asyncio.wait([task], timeout=patience)
        if not task.done():
            raise Skipped("slow_embedder")
    finally:
        task.cancel()
    return _with(query, task.result(), embedder)


class VectorOnDemand:
    """The vector of one query, made by a quick embedder where the search runs: the search knows the speakers' names there, so
    that nobody waits for another thread twice. Thread-safe."""

    def __init__(self, query: Query, embedder: Embedder) -> None:
        self.seconds: float | None = None
        """What it took; None as long as no search has asked."""
        self._plain, self._embedder = query, embedder
        self._steady = asyncio.get_running_loop().time  # the clock asks for the running loop, and a thread has none
        self._outcome: Query | BaseException | None = None
        self._lock = threading.Lock()

    def asked(self) -> Query:
        """The query to give to sources; its `embed` makes the vector. It isn't kept here, so that the two aren't a cycle."""
        return replace(self._plain, embed=self._embed)

    def settled(self) -> asyncio.Future[Query]:
        """The finished future of the query with its vector; of `Skipped` where no search asked for it."""
        made: asyncio.Future[Query] = asyncio.get_running_loop().create_future()
        if isinstance(self._outcome, Query):
            made.set_result(self._outcome)
        else:
            made.set_exception(self._outcome or Skipped("unused"))
            made.exception()  # it was looked at: nothing is logged
        return made

    def _embed(self, speakers: Callable[[str], Sequence[str]]) -> tuple[Vector | None, str | None]:
        with self._lock:
            if self._outcome is None:
                began = self._steady()
                try:
                    self._outcome = self._vectorised(speakers)
                except BaseException as error:
                    self._outcome = error
                self.seconds = self._steady() - began
        made = self._outcome if isinstance(self._outcome, Query) else self._plain
        return made.vector, made.model

    def _vectorised(self, speakers: Callable[[str], Sequence[str]]) -> Query:
        if not _embeddable(self._plain, self._embedder):
            return self._plain
        said = self._plain.text[:_MAX_EMBEDDED]
        return _with(self._plain, self._embedder.embed_now([nameless(said, speakers(said))]), self._embedder)


def _embeddable(query: Query, embedder: Embedder) -> bool:
    return bool(query.text.strip()) and embedder.dimension > 0


def _with(query: Query, vectors: NDArray[np.float32], embedder: Embedder) -> Query:
    """The query with the first of `vectors`; unchanged where that isn't a usable one."""
    vector = np.asarray(vectors[0], dtype=np.float32)
    norm = float(np.linalg.norm(vector))
    if vector.shape != (embedder.dimension,) or not np.isfinite(norm) or norm < 1e-6:
        return query
    return replace(query, vector=np.divide(vector, norm, dtype=np.float32), model=embedder.identity)


def nameless(text: str, speakers: Sequence[str]) -> str:
    """`text` without the speakers' names; unchanged where no other word would be left."""
    said = set(_WORD.findall(text.casefold()))
    words = {word for name in speakers for word in (name, *name.split()) if 1 < len(word) <= len(text)}
    words = {word for word in words if said.issuperset(found := _WORD.findall(word.casefold())) and found}
    if not words:
        return text
    names = sorted(words, key=lambda word: (-len(word), word))[:_MAX_NAMES]
    pattern = r"\b(?:" + "|".join(map(re.escape, names)) + r")(?:['’]s)?\b"
    rest = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    return rest if any(char.isalnum() for char in rest) else text
