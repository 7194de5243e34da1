"""Partitions: what has been loaded into memory to be searched, least recently used out first.

A loaded partition knows the revision it reflects. Before every search that is compared with the file's, and only what changed
since is read: the same way whether this process wrote it or another (OPS-2). A large load happens behind the caller's back.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

import apsw

from germane.search.partition import Partition
from germane.shelf import Warming
from germane.stores.sqlite.encoding import shown
from germane.stores.sqlite.reach import Place
from germane.stores.sqlite.readers import Reading
from germane.stores.sqlite.rows import only, rows
from germane.stores.sqlite.units import Domain, changed, dropped, many

__all__ = ["Loaded", "Partitions"]

_SMALL = 5000
"""Changed units that are loaded while the caller waits."""
_STALE = 1000
"""Replaced or forgotten units that a partition may drag along, beside as many as it has living ones."""


class Loaded:
    """One partition in memory, and the names behind its speakers' hashes. `lock` is held while it is brought up to date."""

    __slots__ = ("loading", "lock", "partition", "speakers")

    def __init__(self, dimension: int) -> None:
        self.lock = threading.Lock()
        self.loading = False
        self.partition = Partition(dimension)
        self.speakers: dict[int, str] = {}


class Partitions:
    """`behind` takes work that nobody waits for; `model` is the row of the embedder whose vectors are loaded."""

    def __init__(
        self, *, dimension: int, model: int, limit: int, behind: Callable[[Callable[[Reading], object]], None]
    ) -> None:
        self._dimension, self._model, self._limit, self._behind = dimension, model, limit, behind
        self._held: OrderedDict[tuple[int, Domain], Loaded] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        with self._lock:
            return sum(loaded.partition.nbytes for loaded in self._held.values())

    def __len__(self) -> int:
        return len(self._held)

    def ready(self, reading: Reading, places: tuple[Place, ...], domain: Domain, *, wait: bool) -> list[Loaded]:
        """These partitions as the file has them now. With `wait` false, raises `Warming` where much would have to be read."""
        held = [self._held_for(place.id, domain) for place in places]
        behind = [
            (place, loaded) for place, loaded in zip(places, held, strict=True) if loaded.partition.revision < place.revision
        ]
        if not wait:
            large = [pair for pair in behind if self._large(reading.connection, *pair, domain)]
            for place, loaded in large:
                self._load_behind(place, loaded, domain)
            if large:
                raise Warming
        for place, loaded in behind:
            with reading.shielded():
                self._refresh(reading.connection, place, loaded, domain)
        if behind:
            self._evict(held)
        return held

    def forget(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._held.clear()

    def _held_for(self, partition: int, domain: Domain) -> Loaded:
        with self._lock:
            loaded = self._held.get((partition, domain))
            if loaded is None:
                loaded = self._held[partition, domain] = Loaded(self._dimension)
            self._held.move_to_end((partition, domain))
            return loaded

    def _large(self, connection: apsw.Connection, place: Place, loaded: Loaded, domain: Domain) -> bool:
        return loaded.loading or many(connection, domain, place.id, loaded.partition.revision, _SMALL)

    def _load_behind(self, place: Place, loaded: Loaded, domain: Domain) -> None:
        with self._lock:
            if loaded.loading:
                return
            loaded.loading = True

        def load(reading: Reading) -> None:
            try:
                sql = "SELECT revision FROM partitions WHERE id = ?"
                (revision,) = only(reading.connection, sql, (place.id,))
                self._refresh(reading.connection, place._replace(revision=revision), loaded, domain)
            finally:
                loaded.loading = False

        self._behind(load)

    def _refresh(self, connection: apsw.Connection, place: Place, loaded: Loaded, domain: Domain) -> None:
        """Within a snapshot of the file that is at `place.revision`."""
        with loaded.lock:
            if loaded.partition.revision >= place.revision:
                return
            partition = loaded.partition
            if partition.dead > _STALE + len(partition):
                partition = Partition(self._dimension)
            since = partition.revision
            units = changed(connection, domain, place.id, since, self._model)
            gone = dropped(connection, domain, place.id, since) if since else []
            if gone:
                partition.drop(gone)
            partition.extend(units)
            if domain == "events":
                sql = "SELECT code, name FROM speakers WHERE partition = ?"
                loaded.speakers = {code: shown(name) for code, name in rows(connection, sql, (place.id,))}
            partition.revision = place.revision
            loaded.partition = partition

    def _evict(self, needed: list[Loaded]) -> None:
        with self._lock:
            total = sum(loaded.partition.nbytes for loaded in self._held.values())
            for key, loaded in list(self._held.items()):
                if total <= self._limit:
                    return
                if loaded not in needed and not loaded.loading:
                    total -= loaded.partition.nbytes
                    del self._held[key]
