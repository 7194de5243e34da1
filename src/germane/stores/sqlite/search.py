"""Search: from a query to the keys and evidence of what may answer it, over the partitions a scope sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from germane.events.event import Event
from germane.memories.memory import Memory
from germane.ports.word_vectors import WordVectors
from germane.search.bm25 import Terms
from germane.search.find import Match, find
from germane.search.hit import Hit
from germane.search.partition import Partition
from germane.search.proximity import best_passage
from germane.search.relevance import Relevance
from germane.search.soft import soft
from germane.stores.sqlite.partitions import Partitions
from germane.stores.sqlite.readers import Reading
from germane.stores.sqlite.units import Domain
from germane.stores.sqlite.visible_partitions import Place
from germane.stores.sqlite.where_clauses import event_keys, excluded, impossible, memory_keys
from germane.types.evidence import FEATURES, Evidence
from germane.types.query import Query

__all__ = ["hits"]

T = TypeVar("T", Memory, Event)
Fetch = Callable[[Reading, tuple[Place, ...], Sequence[int], Callable[[int], float], Sequence[str]], dict[int, T]]
"""Things by their keys. Of a long text it may ask where in it, as a fraction, the query's words stand, and which they are."""
_SOFT = FEATURES.index("soft")
_STRETCH = 0.02
"""The part of a long text within which the query's words are looked for together."""


def hits(
    reading: Reading,
    partitions: Partitions,
    places: tuple[Place, ...],
    domain: Domain,
    query: Query,
    limit: int,
    fetch: Fetch[T],
    *,
    keywords: bool,
    vectors: bool,
    wait: bool,
    relevance: Relevance | None = None,
    words: WordVectors | None = None,
) -> tuple[Hit[T], ...]:
    """At most `limit`, best first by `relevance` as far as it can tell before the texts are read. What was excluded by
    name is made up for by looking further."""
    if limit <= 0 or not places or impossible(query.filters, domain):
        return ()
    loaded = partitions.ready(reading, places, domain, wait=wait)
    narrow = event_keys if domain == "events" else memory_keys
    allowed = narrow(reading.connection, places, query.filters)
    speakers = {code: name for one in loaded for code, name in one.speakers.items()}
    searched = [one.partition for one in loaded]
    asked = limit
    while True:
        found, terms = find(
            searched,
            query if vectors else replace(query, vector=None),
            asked,
            keywords=keywords,
            vectors=vectors,
            speakers=speakers,
            at=query.at.timestamp(),
            stop=reading.stop,
            allowed=allowed,
            relevance=relevance,
        )
        locate, wanted = _locating(searched, found, terms), [term.word for term in terms]
        things = fetch(reading, places, [one.key for one in found], locate, wanted)
        kept = [
            (things[one.key], one.features)
            for one in found
            if one.key in things and not excluded(things[one.key], query.filters)
        ]
        if len(kept) >= limit or len(found) < asked or reading.stop():
            return _read(kept[:limit], terms, words)
        asked = max(asked * 4, limit + len(query.filters.exclude))


def _locating(partitions: Sequence[Partition], found: Sequence[Match], terms: Terms) -> Callable[[int], float]:
    places = {one.key: (partitions[one.partition], one.position) for one in found}
    return lambda key: best_passage(*places[key], terms, _STRETCH)


def _read(kept: Sequence[tuple[T, list[float]]], terms: Terms, words: WordVectors | None) -> tuple[Hit[T], ...]:
    """With the evidence that only the text gives."""
    if words is not None and terms:
        answered = soft(terms, [thing.text for thing, _ in kept], words).tolist()
        for (_, row), value in zip(kept, answered, strict=True):
            row[_SOFT] = value
    return tuple(Hit(thing=thing, evidence=Evidence.of(row)) for thing, row in kept)
