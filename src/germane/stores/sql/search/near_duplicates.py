"""NearDuplicates: finds which memories of the same owner say nearly the same as new ones, and links them, as they get vectors.

The signatures of a partition's memories are read from the file before the first write to it, and then follow each commit. They
are only used by the writer's thread. What they find is checked with the stored vectors and texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from germane.kinds.memories.conflicts import NEAR_COSINE, Compared, LinkKind, relation
from germane.kinds.memories.value import Memory
from germane.search.quantised import Bits, Signatures, decode, dequantise
from germane.stores.sql.connection import Connection
from germane.stores.sql.links import both_restored, put_link
from germane.stores.sql.search.units import forgotten_keys
from germane.stores.sql.statements import LISTED, rows, to_json
from germane.types.caches import SizedLru

ReadMemories = Callable[[Connection, int, Sequence[int]], dict[int, Memory]]
_MAX_ROWS = 2_000_000
"""Signatures in memory, of 40 bytes each, besides those of the partition in use."""
_OBJECTS = 100
"""The signatures in whose room a partition's objects find place."""
_SLICE = 16_384
_MAX_NEAR = 8
"""Memories that a new one is compared with and linked to, at most."""
_SINCE = (
    "SELECT key, vector FROM units_memories"
    " WHERE partition = ? AND revision > ? AND revision < ? AND model = ? AND vector <> x''"
)


class Vectored(NamedTuple):
    """A memory that has got its vector."""

    partition: int
    key: int
    vector: bytes


class _Known:
    """The signatures of one partition as of a revision, and those that the running transaction adds."""

    def __init__(self, dimension: int) -> None:
        self.committed, self.revision, self.highest = Signatures(dimension), 0, 0
        self.added, self.adding = Signatures(dimension), 0
        self.fresh: dict[int, tuple[bytes, int]] = {}
        """The vectors that were signed last, each with the index of its signature in `bits`."""
        self.bits = self.committed.sign(np.zeros((0, dimension), np.int8))


class NearDuplicates:
    """`dimension` is that of the vectors of `model`, the row of the embedder in use; 0 where it isn't known. `read` reads
    memories by their partition and keys."""

    def __init__(self, dimension: int, model: int, read: ReadMemories) -> None:
        self.dimension, self.model, self._read = dimension, model, read
        self._known = SizedLru[int, _Known](_MAX_ROWS)

    def reset(self, dimension: int, model: int) -> None:
        """Takes another model, whose vectors aren't comparable with those of before."""
        self.dimension, self.model = dimension, model
        self._known.clear()

    def drop(self, partition: int, keys: Iterable[int] | None = None) -> None:
        """Removes the signatures of forgotten memories; of all of the partition where `keys` is None."""
        if keys is None:
            self._known.pop(partition)
        elif (known := self._known.get(partition)) is not None:
            gone = list(keys)
            known.committed.drop(gone)
            known.added.drop(gone)

    def link(self, connection: Connection, found: Sequence[Vectored], *, revision: int, now: int) -> None:
        """Links the memories of `found` with those that are nearly the same, and with one another. `revision` is the one that
        the running transaction creates, `now` is in microseconds."""
        if not self.dimension:
            return
        by_partition: dict[int, list[Vectored]] = {}
        for one in found:
            by_partition.setdefault(one.partition, []).append(one)
        for partition, some in by_partition.items():
            self._link_in(connection, partition, some, revision, now)

    def _link_in(self, connection: Connection, partition: int, found: Sequence[Vectored], revision: int, now: int) -> None:
        values, scales = decode([one.vector for one in found], self.dimension)
        there = np.flatnonzero(scales)
        if not len(there):
            return
        known = self._current(connection, partition, revision)
        keys = np.array([one.key for one in found], np.int64)[there]
        bits = known.committed.sign(values[there])
        known.added.add(keys, bits)
        known.fresh = {found[row].key: (found[row].vector, index) for index, row in enumerate(there.tolist())}
        known.bits = bits
        earlier, beside = known.committed.near(bits, _MAX_NEAR), known.added.near(bits, _MAX_NEAR + 1)
        pairs = {
            (min(key, other), max(key, other))
            for key, *near in zip(keys.tolist(), earlier, beside, strict=True)
            for some in near
            for other in some.tolist()
            if other != key
        }
        near_ones = _near_pairs(connection, partition, sorted(pairs), self.dimension)
        memories = self._read(connection, partition, sorted({key for pair in near_ones for key in pair}))
        compared = {key: Compared.of(memory) for key, memory in memories.items()}
        for (one, other), cosine in near_ones.items():
            if one in compared and other in compared and (link := _link(compared[one], compared[other])) is not None:
                kind, reason = link
                if kind != "conflict" or not both_restored(connection, one, other):
                    put_link(connection, partition, kind, one, other, reason=reason, cosine=cosine, now=now)

    def _current(self, connection: Connection, partition: int, revision: int) -> _Known:
        """The partition's signatures as of the last commit. What the transaction adds may be rolled back, so that it is kept
        apart, and read from the file after its commit."""
        known = self._known.use(partition)
        if known is None:
            known = _Known(self.dimension)
            self._known.put(partition, known, _OBJECTS)
        if known.adding != revision:
            known.added, known.adding = Signatures(self.dimension), revision
        if known.revision < revision - 1:
            if known.revision:
                known.committed.drop(forgotten_keys(connection, "memories", partition, known.revision))
            units = iter(rows(connection, _SINCE, (partition, known.revision, revision, self.model)))
            while part := list(islice(units, _SLICE)):
                keys = [key for key, _ in part]
                if min(keys) <= known.highest:
                    known.committed.drop(keys)  # those that were changed
                known.highest = max(known.highest, *keys)
                known.committed.add(np.array(keys, np.int64), self._signed(known, part))
            known.revision = revision - 1
            self._known.resize(partition, _OBJECTS + len(known.committed))
            self._known.evict(lambda other, _: other == partition)
        return known

    def _signed(self, known: _Known, units: Sequence[tuple[int, bytes]]) -> Bits:
        """Returns the signatures of units in the file; those that the transaction before has added are known already."""
        if all(known.fresh.get(key, (b"", 0))[0] == blob for key, blob in units):
            return known.bits[[known.fresh[key][1] for key, _ in units]]
        values, _ = decode([blob for _, blob in units], self.dimension)
        return known.committed.sign(values)


def _near_pairs(
    connection: Connection, partition: int, pairs: list[tuple[int, int]], dimension: int
) -> dict[tuple[int, int], float]:
    """Returns the cosines of those pairs of memories whose stored vectors are near enough."""
    if not pairs:
        return {}
    sql = "SELECT key, vector FROM units_memories WHERE vector <> x'' AND +partition = ? AND key IN"
    sql += f" {LISTED}"
    wanted = to_json(sorted({key for pair in pairs for key in pair}))
    stored: dict[int, bytes] = dict(rows(connection, sql, (partition, wanted)))
    there = [pair for pair in pairs if pair[0] in stored and pair[1] in stored]
    one, other = (dequantise(*decode([stored[pair[side]] for pair in there], dimension)) for side in (0, 1))
    cosines = np.einsum("ij,ij->i", one, other)
    return {pair: float(cosine) for pair, cosine in zip(there, cosines, strict=True) if cosine >= NEAR_COSINE}


def _link(older: Compared, newer: Compared) -> tuple[LinkKind, str] | None:
    """How the two are linked; None where they aren't, and where they are never valid at one time."""
    both = older.memory, newer.memory
    begins = max(memory.valid_from for memory in both)
    ends = [end for memory in both for end in (memory.valid_to, memory.expires_at) if end is not None]
    return relation(older, newer) if all(begins < end for end in ends) else None
