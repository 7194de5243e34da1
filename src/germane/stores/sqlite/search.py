"""Searcher: searches the memories, the events or the archive of a scope: finds keys in loaded partitions and reads their
rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from germane.blocks.entry import ArchivalEntry
from germane.events.event import Event
from germane.memories.memory import Memory
from germane.ports.embedder import Embedder
from germane.ports.word_vectors import WordVectors
from germane.search.find import FaintMatch, find
from germane.search.hit import Found, Hit
from germane.search.relevance import Relevance
from germane.search.speakers import name_words
from germane.stores.sqlite.archive import has_archive
from germane.stores.sqlite.encoding import LISTED, to_json
from germane.stores.sqlite.partitions import Partitions
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.rows import rows
from germane.stores.sqlite.sessions import running_session
from germane.stores.sqlite.units import Domain
from germane.stores.sqlite.visible_partitions import IN_VISIBLE, VisiblePartition, visible_ids
from germane.stores.sqlite.where_clauses import excluded, impossible, keys_passing
from germane.types.query import Query
from germane.types.scope import Scope
from germane.types.unread import Unread

__all__ = ["Fetch", "Searcher"]

T = TypeVar("T", Memory, Event, ArchivalEntry)
_Owner = tuple[str, str, str | None]
_SMALL = 20_000
"""Units that are searched within some two milliseconds."""
_MAX_SIZES = 16_384
_TABLES: Mapping[Domain, str] = {
    "events": "events",
    "memories": "memories",
    "blocks": "(SELECT key, id, partition FROM archival_entries UNION ALL SELECT key, id, partition FROM blocks)",
}
"""Where the ids are, by the key of the search row."""
Fetch = Callable[[Reading, tuple[VisiblePartition, ...], Mapping[int, tuple[int, int]]], dict[int, T]]
"""Reads memories or events: `fetch(reading, visible, places)`. `places` holds for each key the first byte and the end of the
part that was found; 0 and 0 for a text that isn't long."""


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
    sizes: dict[_Owner, int] = field(default_factory=dict)
    """How many units the last search of each owner saw: a search of few takes no longer than other reads do, and goes with
    those of its request to one thread."""

    async def search(self, scope: Scope, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[T]:
        """Returns at most `limit` results, best first as far as `relevance` can tell from the search rows; what
        can't be worth its tokens at the query's price isn't read. With `wait` false it raises `Warming` where the partitions
        aren't in memory yet, and loads them in the background."""
        vectors = vectors and (query.model is None or query.model == self.embedder.identity)

        def work(reading: Reading) -> Found[T]:
            return self._hits(reading, scope, query, limit, keywords=keywords, vectors=vectors, wait=wait)

        size = self.sizes.get((scope.org, scope.agent, scope.user))
        small = size is not None and size <= _SMALL
        return await (self.readers.read_batched(work) if small else self.readers.search(work))

    def _hits(
        self, reading: Reading, scope: Scope, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool
    ) -> Found[T]:
        visible = reading.visible(scope)
        if limit <= 0 or not visible or impossible(query.filters, self.domain):
            return Found()
        owner = scope.org, scope.agent, scope.user
        if self.domain == "blocks" and not has_archive(reading.connection, visible):
            self._note(owner, 0)
            return Found()
        loaded = self.partitions.ready(reading, visible, self.domain, wait=wait)
        allowed = keys_passing(self.domain)(reading.connection, visible, query.filters)
        words = name_words(query.text)
        speakers = {code: name for one in loaded for name, code in one.speakers.said_in(words).items()}
        searched = [one.partition for one in loaded]
        self._note(owner, sum(map(len, searched)))
        vector = query.vector if vectors else None
        if vectors and query.embed is not None:
            vector, _ = query.embed(lambda text: self.speaking(reading, visible, text))
        session, wanted = running_session(reading.connection, visible, scope) if query.price else None, limit
        while True:
            matches, faint = find(
                searched,
                query,
                wanted,
                keywords=keywords,
                vector=vector,
                speakers=speakers,
                at=query.at.timestamp(),
                stop=reading.stop,
                allowed=allowed,
                relevance=self.relevance,
                words=self.words,
                session=session,
            )
            things = self.fetch(reading, visible, {match.key: match.place for match in matches}) if matches else {}
            kept = [
                Hit(things[match.key], match.evidence)
                for match in matches
                if match.key in things and not excluded(things[match.key], query.filters)
            ]
            if len(kept) + len(faint) >= limit or len(matches) + len(faint) < wanted or reading.stop():
                return Found(hits=tuple(kept[:limit]), unread=self._unread(reading, visible, faint))
            wanted = max(wanted * 4, limit + len(query.filters.exclude))  # further matches replace those excluded by name

    def speaking(self, reading: Reading, visible: tuple[VisiblePartition, ...], text: str) -> tuple[str, ...]:
        """Returns the distinct names of speakers that have a word in common with the text, sorted."""
        speakers, words = self.partitions.speakers(reading, visible), name_words(text)
        return tuple(sorted({name for one in speakers for name in one.said_in(words)}))

    def _note(self, owner: _Owner, size: int) -> None:
        if len(self.sizes) >= _MAX_SIZES:
            self.sizes.clear()
        self.sizes[owner] = size

    def _unread(
        self, reading: Reading, visible: tuple[VisiblePartition, ...], faint: Sequence[FaintMatch]
    ) -> tuple[Unread, ...]:
        """What was found and isn't read but for its id."""
        if not faint:
            return ()
        sql = f"SELECT key, id FROM {_TABLES[self.domain]} WHERE key IN {LISTED}"
        sql += f" AND +partition IN {IN_VISIBLE}"
        keys = to_json([match.key for match in faint])
        ids: dict[int, str] = dict(rows(reading.connection, sql, (keys, *visible_ids(visible))))
        domain = self.domain
        return tuple(Unread(ids[key], domain, odds, tokens) for _, key, odds, tokens in faint if key in ids)
