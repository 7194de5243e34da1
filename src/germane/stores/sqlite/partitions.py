"""Partitions: an LRU cache of partitions that are loaded into memory for search, bounded by bytes.

A loaded partition knows the revision that it reflects. Each search compares it with the file's revision and reads what changed
since, whether this process or another one wrote it (OPS-2). Large loads run in the background.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from itertools import islice

import apsw

from germane.search.partition import Partition
from germane.search.speakers import Speakers
from germane.search.unit import Unit
from germane.store import Warming
from germane.stores.sqlite.readers import Reading
from germane.stores.sqlite.rows import first
from germane.stores.sqlite.speakers import named_by
from germane.stores.sqlite.units import Domain, changed, dropped, many
from germane.stores.sqlite.visible_partitions import VisiblePartition
from germane.types.sized_lru import SizedLru

__all__ = ["Loaded", "Partitions"]

_SMALL = 5000
"""Changed units up to which a partition is loaded while the caller waits."""
_SLICE = 16_384
"""Units of a partition that are read at once: all rows together take five times the memory of the partition."""
_SPEAKER = Unit._fields.index("speaker")
_STALE = 1000
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
                raise Warming
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
            with suppress(Warming):
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

    def _large(self, connection: apsw.Connection, in_file: VisiblePartition, loaded: Loaded, domain: Domain) -> bool:
        return (loaded.loading and not loaded.partition.revision) or many(
            connection, domain, in_file.id, loaded.partition.revision, _SMALL
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

    def _refresh(self, connection: apsw.Connection, in_file: VisiblePartition, loaded: Loaded, domain: Domain) -> None:
        """Within a snapshot of the file that is at `in_file.revision`. What was forgotten is found no more and counts no more;
        its row goes when the partition is built anew."""
        partition = loaded.partition
        if not partition.revision or (len(partition) <= _SMALL and partition.dropped > _STALE):
            return self._rebuild(connection, in_file, loaded, domain)
        with loaded.lock:
            since = partition.revision
            if partition is not loaded.partition or since >= in_file.revision:
                return None  # another thread has updated it meanwhile
            gone = dropped(connection, domain, in_file.id, since)
            partition.drop(gone)
            units = list(changed(connection, domain, in_file.id, since, loaded.model))
            partition.extend(units)
            if gone:
                loaded.speakers = _speakers(connection, in_file, domain)
            else:
                loaded.speakers.add(named_by(connection, in_file.id, {unit[_SPEAKER] for unit in units} - {0}))
            partition.revision = in_file.revision
        if partition.dropped > _STALE + len(partition):
            self._load_in_background(in_file, loaded, domain)
        return None

    def _rebuild(self, connection: apsw.Connection, in_file: VisiblePartition, loaded: Loaded, domain: Domain) -> None:
        """Loads the whole partition, and then replaces the one in use."""
        partition = Partition(loaded.dimension)
        units = changed(connection, domain, in_file.id, 0, loaded.model)
        while part := list(islice(units, _SLICE)):
            partition.extend(part)
        partition.revision = in_file.revision
        with loaded.lock:
            if loaded.partition.revision <= in_file.revision:
                loaded.partition, loaded.speakers = partition, _speakers(connection, in_file, domain)
        if len(partition) > _SMALL:
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


def _speakers(connection: apsw.Connection, in_file: VisiblePartition, domain: Domain) -> Speakers:
    return Speakers(named_by(connection, in_file.id) if domain == "events" else ())
