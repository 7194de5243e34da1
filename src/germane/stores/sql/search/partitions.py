"""Partitions: an LRU cache, bounded by bytes, of the partitions that are loaded into memory for search.

A loaded partition knows the revision that it reflects. Each search compares it with the file's revision and reads what changed
since, whether this process or another one wrote it (OPS-2). Large loads run in the background.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

from germane.kinds.blocks.value import ArchivalEntry
from germane.kinds.events.value import Event
from germane.kinds.memories.value import Memory
from germane.ports.models import Embedder, WordVectors
from germane.search.find import FaintMatch, Match, find
from germane.search.partition import Partition, Speakers, name_words
from germane.search.relevance import Relevance
from germane.search.unit import Unit
from germane.stores.contract import StillLoading
from germane.stores.sql.blocks.documents import has_archive
from germane.stores.sql.connection import Connection
from germane.stores.sql.events.sessions import running_session
from germane.stores.sql.listing import IN_VISIBLE, VisiblePartition, visible_ids
from germane.stores.sql.reading import Readers, Reading
from germane.stores.sql.search.units import Domain, changed_units, forgotten_keys, many_changed
from germane.stores.sql.statements import LISTED, first, from_sql, rows, to_json
from germane.stores.sql.where_clauses import excluded, impossible, keys_passing
from germane.types.caches import SizedLru
from germane.types.evidence import Found, Hit, Unread
from germane.types.query import Filters, Query
from germane.types.scope import Scope

_MAX_UNITS_AWAITED = 5000
"""Changed units up to which a partition is loaded while the caller waits."""
_SLICE = 16_384
"""Units of a partition that are read at once: all rows together take five times the memory of the partition."""
_SPEAKER = Unit._fields.index("speaker")
_MAX_STALE = 1000
"""ReplacementLink units that a partition may keep before it is rebuilt; a large partition also as many as it has live units."""
_Key = tuple[int, Domain]
"""The partition's row in the file, and what of it is searched."""


class Loaded:
    """One partition in memory, and its speakers. `lock` is held while the partition is updated."""

    __slots__ = ("dimension", "loading", "lock", "model", "partition", "speakers")

    def __init__(self, dimension: int, model: int) -> None:
        self.dimension, self.model = dimension, model
        self.lock = threading.Lock()
        self.loading = False
        self.partition = Partition(dimension)
        self.speakers = Speakers()

    @property
    def nbytes(self) -> int:
        return self.partition.nbytes + self.speakers.nbytes


class Partitions:
    """`model` is the row of the embedder whose vectors are loaded; at most `max_bytes` stay in memory. Thread-safe."""

    def __init__(
        self, *, dimension: int, model: int, max_bytes: int, run_in_background: Callable[[Callable[[Reading], object]], None]
    ) -> None:
        self._dimension, self._model = dimension, model
        self._run_in_background = run_in_background
        self._held = SizedLru[_Key, Loaded](max_bytes)
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of the partitions in memory, as they were counted when they were last updated."""
        return self._held.size

    def __len__(self) -> int:
        return len(self._held)

    def ready(self, reading: Reading, visible: tuple[VisiblePartition, ...], domain: Domain, *, wait: bool) -> list[Loaded]:
        """Returns these partitions as they are in the file now. With `wait` false it raises `Warming` where more than 5,000
        units would have to be read, and loads them in the background."""
        held = [self._held_for(partition.id, domain) for partition in visible]
        outdated = [
            (in_file, loaded)
            for in_file, loaded in zip(visible, held, strict=True)
            if loaded.partition.revision < in_file.revision
        ]
        if not wait:
            large = [pair for pair in outdated if self._large(reading.connection, *pair, domain)]
            for in_file, loaded in large:
                self._load_in_background(in_file, loaded, domain)
            if large:
                raise StillLoading
        for in_file, loaded in outdated:
            with reading.shielded():
                self._refresh(reading.connection, in_file, loaded, domain)
        if outdated:
            self._evict([(in_file.id, domain) for in_file, _ in outdated], {in_file.id for in_file in visible})
        return held

    def speakers(self, reading: Reading, visible: tuple[VisiblePartition, ...]) -> list[Speakers]:
        """Returns the speakers of these partitions as they are in the file now. Where a partition's messages aren't in memory,
        all are read."""
        return [self._speakers_of(reading, partition) for partition in visible]

    def _speakers_of(self, reading: Reading, in_file: VisiblePartition) -> Speakers:
        with self._lock:
            held = self._held.get((in_file.id, "events"))
        if held is not None and held.partition.revision:
            with suppress(StillLoading):
                self.ready(reading, (in_file,), "events", wait=False)
        if held is None or held.partition.revision < in_file.revision:
            return _speakers(reading.connection, in_file, "events")
        return held.speakers

    def drop(self, gone: Callable[[int], bool]) -> None:
        """Drops the partitions for whose id `gone` is true."""
        with self._lock:
            held = list(self._held)
        for key in [key for key in held if gone(key[0])]:
            with self._lock:
                self._held.pop(key)

    def forget(self) -> None:
        """Drops all partitions."""
        with self._lock:
            self._held.clear()

    def reset(self, dimension: int, model: int) -> None:
        """Drops all partitions; from now on vectors of this dimension and model are loaded."""
        with self._lock:
            self._dimension, self._model = dimension, model
            self._held.clear()

    def _held_for(self, partition: int, domain: Domain) -> Loaded:
        with self._lock:
            loaded = self._held.use((partition, domain))
            if loaded is None:
                loaded = Loaded(self._dimension, self._model)
                self._held.put((partition, domain), loaded)
            return loaded

    def _large(self, connection: Connection, in_file: VisiblePartition, loaded: Loaded, domain: Domain) -> bool:
        return (loaded.loading and not loaded.partition.revision) or many_changed(
            connection, domain, in_file.id, loaded.partition.revision, _MAX_UNITS_AWAITED
        )

    def _load_in_background(self, in_file: VisiblePartition, loaded: Loaded, domain: Domain) -> None:
        with self._lock:
            if loaded.loading:
                return
            loaded.loading = True

        def load(reading: Reading) -> None:
            try:
                found = first(reading.connection, "SELECT revision FROM partitions WHERE id = ?", (in_file.id,))
                if found is not None:
                    self._rebuild(reading.connection, in_file._replace(revision=found[0]), loaded, domain)
                    with self._lock:
                        self._count((in_file.id, domain))
            finally:
                loaded.loading = False

        self._run_in_background(load)

    def _refresh(self, connection: Connection, in_file: VisiblePartition, loaded: Loaded, domain: Domain) -> None:
        """Within a snapshot of the file that is at `in_file.revision`. What was forgotten is found no more and counts no more;
        its row goes when the partition is built anew."""
        partition = loaded.partition
        if not partition.revision or (len(partition) <= _MAX_UNITS_AWAITED and partition.dropped > _MAX_STALE):
            return self._rebuild(connection, in_file, loaded, domain)
        with loaded.lock:
            since = partition.revision
            if partition is not loaded.partition or since >= in_file.revision:
                return None  # another thread has updated it meanwhile
            gone = forgotten_keys(connection, domain, in_file.id, since)
            partition.drop(gone)
            units = list(changed_units(connection, domain, in_file.id, since, loaded.model))
            partition.extend(units)
            if gone:
                loaded.speakers = _speakers(connection, in_file, domain)
            else:
                loaded.speakers.add(speakers_of(connection, in_file.id, {unit[_SPEAKER] for unit in units} - {0}))
            partition.revision = in_file.revision
        if partition.dropped > _MAX_STALE + len(partition):
            self._load_in_background(in_file, loaded, domain)
        return None

    def _rebuild(self, connection: Connection, in_file: VisiblePartition, loaded: Loaded, domain: Domain) -> None:
        """Loads the whole partition, and then replaces the one in use."""
        partition = Partition(loaded.dimension)
        units = changed_units(connection, domain, in_file.id, 0, loaded.model)
        while part := list(islice(units, _SLICE)):
            partition.extend(part)
        partition.revision = in_file.revision
        with loaded.lock:
            if loaded.partition.revision <= in_file.revision:
                loaded.partition, loaded.speakers = partition, _speakers(connection, in_file, domain)
        if len(partition) > _MAX_UNITS_AWAITED:
            _trim()

    def _evict(self, updated: Iterable[_Key], needed: Set[int]) -> None:
        """Counts the `updated` partitions anew, and evicts the least recently used ones until the limit is met, except those
        `needed` by the scope that is searched, in both domains: else a partition larger than the limit would be evicted and
        read again with every search. Most turns of a conversation come here, so it doesn't look at all that is held."""
        with self._lock:
            for key in updated:
                self._count(key)
            self._held.evict(lambda key, loaded: key[0] in needed or loaded.loading)

    def _count(self, key: _Key) -> None:
        """Counts a partition's bytes anew, where it is held. The caller holds the lock."""
        loaded = self._held.get(key)
        if loaded is not None:
            self._held.resize(key, loaded.nbytes)


def _trim() -> None:
    """Returns freed memory to the operating system, where the C library can: what a load has freed is about twice the size of
    the partition, in holes among the memory in use."""
    with suppress(AttributeError, OSError, TypeError):  # the library isn't glibc
        ctypes.CDLL(None).malloc_trim(0)


def _speakers(connection: Connection, in_file: VisiblePartition, domain: Domain) -> Speakers:
    return Speakers(speakers_of(connection, in_file.id) if domain == "events" else ())


# Speakers: the names under which messages were recorded.


def speaker_names(connection: Connection, visible: tuple[VisiblePartition, ...]) -> tuple[str, ...]:
    """Returns the distinct names, sorted."""
    sql = f"SELECT DISTINCT name FROM speakers WHERE partition IN {IN_VISIBLE} ORDER BY name"
    found = rows(connection, sql, visible_ids(visible))
    return tuple(from_sql(name) for (name,) in found)


def speakers_of(connection: Connection, partition: int, codes: Set[int] | None = None) -> Iterator[tuple[int, str]]:
    """Yields the hashes and names of a partition's speakers, of all or of those with these hashes."""
    sql, bound = "SELECT code, name FROM speakers WHERE partition = ?", tuple[object, ...]((partition,))
    if codes is not None:
        sql, bound = f"{sql} AND code IN {LISTED}", (partition, to_json(sorted(codes)))
    return ((code, from_sql(name)) for code, name in rows(connection, sql, bound))


# Searcher: searches the memories, the events or the archive of a scope: finds keys in loaded partitions and reads their
# rows.


T = TypeVar("T", Memory, Event, ArchivalEntry)
_Owner = tuple[str, str, str | None]
_MAX_SMALL_SEARCH = 20_000
"""Units that are searched within some two milliseconds."""
_MAX_SIZES = 16_384
_TABLES: Mapping[Domain, str] = {
    "events": "events",
    "memories": "memories",
    "blocks": "(SELECT key, id, partition FROM archival_entries UNION ALL SELECT key, id, partition FROM blocks)",
}
"""Where the ids are, by the key of the search row."""
Place = tuple[int, int]
Fetch = Callable[[Reading, tuple[VisiblePartition, ...], Mapping[int, Place], Collection[int]], dict[int, T]]
"""Reads memories or events: `fetch(reading, visible, places, best)`. `places` holds for each key the first byte and the end of
the part that was found; 0 and 0 for a text that isn't long. `best` are the keys of the search's best matches."""
_MAX_BEST = 10
_READ_AT_LEAST = 4
"""Where matches are excluded by name, at least a fourth of the limit is read at once of those that follow."""


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
        small = size is not None and size <= _MAX_SMALL_SEARCH
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
        read: dict[tuple[int, Place], T | None] = {}
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
            kept = self._kept(reading, visible, query.filters, matches, limit, read)
            if len(kept) + len(faint) >= limit or len(matches) + len(faint) < wanted or reading.stop():
                return Found(hits=tuple(kept[:limit]), unread=self._unread(reading, visible, faint))
            wanted = max(wanted * 4, limit + len(query.filters.exclude))  # further matches replace those excluded by name

    def _kept(
        self,
        reading: Reading,
        visible: tuple[VisiblePartition, ...],
        filters: Filters,
        matches: Sequence[Match],
        limit: int,
        read: dict[tuple[int, Place], T | None],
    ) -> list[Hit[T]]:
        """The best matches that the filters don't exclude by name: `limit` of them, or all where there are fewer. Reads no more
        of the others than that takes, and nothing again that is in `read`."""
        best = tuple(match.key for match in matches[:_MAX_BEST])
        if not filters.exclude:
            things = self.fetch(reading, visible, {match.key: match.place for match in matches}, best) if matches else {}
            return [Hit(things[match.key], match.evidence) for match in matches if match.key in things]
        kept, start = list[Hit[T]](), 0
        while start < len(matches) and len(kept) < limit:
            part = matches[start : start + max(limit - len(kept), limit // _READ_AT_LEAST)]
            start += len(part)
            places = {match.key: match.place for match in part if (match.key, match.place) not in read}
            if places:
                things = self.fetch(reading, visible, places, best)
                read |= {(key, place): things.get(key) for key, place in places.items()}
            for match in part:
                thing = read[match.key, match.place]
                if thing is not None and not excluded(thing, filters):
                    kept.append(Hit(thing, match.evidence))
        return kept

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


class SqlSearch(Generic[T]):
    """Implements `germane.stores.contract.ScopedSearch`."""

    def __init__(self, scope: Scope, searcher: Searcher[T]) -> None:
        self._scope = scope
        self._searcher: Searcher[T] = searcher

    async def search(self, query: Query, limit: int, *, keywords: bool, vectors: bool, wait: bool) -> Found[T]:
        return await self._searcher.search(self._scope, query, limit, keywords=keywords, vectors=vectors, wait=wait)
