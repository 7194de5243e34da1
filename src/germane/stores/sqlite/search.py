"""Searcher: searches the memories or the events of a scope: finds keys in loaded partitions and reads their rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from germane.events.event import Event
from germane.memories.memory import Memory
from germane.ports.embedder import Embedder
from germane.ports.word_vectors import WordVectors
from germane.search.bm25 import Terms
from germane.search.find import find
from germane.search.hit import Hit
from germane.search.relevance import Relevance
from germane.search.soft_match import soft
from germane.stores.sqlite.partitions import Partitions
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.units import Domain
from germane.stores.sqlite.visible_partitions import VisiblePartition, visible_partitions
from germane.stores.sqlite.where_clauses import event_keys, excluded, impossible, memory_keys
from germane.types.evidence import FEATURES, Evidence
from germane.types.query import Query
from germane.types.scope import Scope

__all__ = ["Fetch", "Searcher"]

T = TypeVar("T", Memory, Event)
Fetch = Callable[[Reading, tuple[VisiblePartition, ...], Mapping[int, tuple[int, int]]], dict[int, T]]
"""Reads memories or events: `fetch(reading, visible, places)`. `places` holds for each key the first byte and the end of the
part that was found; 0 and 0 for a text that isn't long."""
_SOFT = FEATURES.index("soft")


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher(Generic[T]):
    """What all searches of one domain share. `embedder` is the one in use: vectors of other models are ignored.
    `relevance` None stands for the shipped model; without `words` the evidence `soft` is missing. Thread-safe."""

    domain: Domain
    fetch: Fetch[T]
    readers: Readers
    partitions: Partitions
    embedder: Embedder
    relevance: Relevance | None
    words: WordVectors | None

    async def search(
        self, scope: Scope, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool
    ) -> tuple[Hit[T], ...]:
        """Returns at most `limit` hits, best first as far as `relevance` can tell before the texts are read. With `wait` false
        it raises `Warming` where the partitions aren't in memory yet, and loads them in the background."""
        if not vectors or (query.model is not None and query.model != self.embedder.identity):
            query = replace(query, vector=None)
        return await self.readers.search(lambda reading: self._hits(reading, scope, query, limit, keywords=keywords, wait=wait))

    def _hits(
        self, reading: Reading, scope: Scope, query: Query, limit: int, *, keywords: bool, wait: bool
    ) -> tuple[Hit[T], ...]:
        visible = visible_partitions(reading.connection, scope)
        if limit <= 0 or not visible or impossible(query.filters, self.domain):
            return ()
        loaded = self.partitions.ready(reading, visible, self.domain, wait=wait)
        keys_passing = event_keys if self.domain == "events" else memory_keys
        allowed = keys_passing(reading.connection, visible, query.filters)
        speakers = {code: name for one in loaded for code, name in one.speakers.items()}
        searched = [one.partition for one in loaded]
        wanted = limit
        while True:
            matches, terms = find(
                searched,
                query,
                wanted,
                keywords=keywords,
                vectors=query.vector is not None,
                speakers=speakers,
                at=query.at.timestamp(),
                stop=reading.stop,
                allowed=allowed,
                relevance=self.relevance,
            )
            things = self.fetch(reading, visible, {match.key: match.place for match in matches})
            kept = [
                (things[match.key], match.features)
                for match in matches
                if match.key in things and not excluded(things[match.key], query.filters)
            ]
            if len(kept) >= limit or len(matches) < wanted or reading.stop():
                return self._with_text_evidence(kept[:limit], terms)
            wanted = max(wanted * 4, limit + len(query.filters.exclude))  # further matches replace those excluded by name

    def _with_text_evidence(self, kept: Sequence[tuple[T, list[float]]], terms: Terms) -> tuple[Hit[T], ...]:
        """Adds the evidence that takes the text: the likeness of its words to the query's."""
        if self.words is not None and terms:
            likeness = soft(terms, [thing.text for thing, _ in kept], self.words).tolist()
            for (_, row), value in zip(kept, likeness, strict=True):
                row[_SOFT] = value
        return tuple(Hit(thing=thing, evidence=Evidence.of(row)) for thing, row in kept)
