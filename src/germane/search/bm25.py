"""BM25: keyword scores of units, of windows and of blocks, from one inverted index.

The formula is BM25 with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza 2009) and Lucene's idf, ln(1 + (N − df + ½) / (df +
½)). A window is a message with the previous and the next message of its session, read as one document; a block is a session,
or up to 40 consecutive messages of a longer one. Term frequencies of windows and blocks are sums over their units, so neither
has an index of its own. Scores are divided by the sum of the query's idfs: a document of average length that holds each term
once scores about 1. Dropped units count nowhere; a block without terms doesn't count towards the mean block length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from germane.search.partition import Partition
from germane.search.snapshot import K1, Snapshot
from germane.text.terms import term_hash
from germane.types.caches import LruCache
from germane.types.query import Query

# Contributions of the commonest terms, cached from search to search. A term in more than one of 16 rows takes longer to
# score than all rarer terms together, and any language has some dozens of them. The term's saturated frequency in each
# row, window and block depends on no query, so it is computed once and stored in eight bits per row (a step is 0.009,
# where one occurrence contributes about 1). When rows are appended to their sessions, entries are updated for the new
# rows and their neighbours, as the snapshot is.


_STEPS = 255
_MAX_CACHED_TERMS = 24
"""Terms kept in the cache; each takes two bytes per row."""
_CHUNK = 1 << 16

Floats = NDArray[np.float32]
TermRows = tuple[NDArray[np.int32], Floats]
"""The rows that hold a term, ascending, and the term's frequency in each."""


class FrequentTerms:
    """LRU cache of the frequent terms of one partition, for as long as rows are only appended to it. Thread-safe."""

    def __init__(self) -> None:
        self._terms: LruCache[tuple[int, ...], _Contribution] = LruCache(_MAX_CACHED_TERMS)
        self._lock = Lock()

    @classmethod
    def of(cls, snapshot: Snapshot) -> FrequentTerms:
        """Returns the cache that belongs to the snapshot's rows; the first call makes it."""
        cache: FrequentTerms = snapshot.extras.setdefault("frequent", cls())
        return cache

    def add(
        self, own: Floats, window: Floats, weight: float, hashes: tuple[int, ...], held: TermRows, snapshot: Snapshot
    ) -> Floats:
        """Adds `weight` · f / (f + norm) of the term to `own` for each row and to `window` for each window. Returns the term's
        frequency in each block. `hashes` identify the term; `held` are the rows that hold it."""
        kept = self._current(hashes, held, snapshot)
        step = np.float32(weight / _STEPS)
        for total, steps in ((own, kept.own), (window, kept.window)):
            for start in range(0, snapshot.rows, _CHUNK):
                end = min(start + _CHUNK, snapshot.rows)
                total[start:end] += np.multiply(steps[start:end], step, dtype=np.float32, casting="unsafe")
        return kept.blocks[: len(snapshot.blocks)]

    def _current(self, hashes: tuple[int, ...], held: TermRows, snapshot: Snapshot) -> _Contribution:
        with self._lock:
            kept = self._terms.use(hashes)
            if kept is None or kept.norms_version != snapshot.norms_version or len(kept.own) < snapshot.rows:
                kept = _Contribution(snapshot.rows + snapshot.rows // 8, snapshot.norms_version)
                self._terms.put(hashes, kept)
            if kept.rows < snapshot.rows:
                kept.extend(held, snapshot)
            return kept


class _Contribution:
    """One term's contribution in the first `rows` rows, with spare capacity; computed with the norms of `norms_version`."""

    __slots__ = ("blocks", "norms_version", "own", "rows", "window")

    def __init__(self, capacity: int, norms_version: int) -> None:
        self.rows, self.norms_version = 0, norms_version
        self.own, self.window = np.zeros(capacity, np.uint8), np.zeros(capacity, np.uint8)
        self.blocks = np.zeros(0, np.float32)

    def extend(self, held: TermRows, snapshot: Snapshot) -> None:
        """Covers all rows of the snapshot. Of the rows covered before, only the neighbours of new rows change."""
        begun = self.rows
        early = snapshot.before[begun:]
        changed = np.concatenate((early[early < begun], np.arange(begun, snapshot.rows, dtype=np.int32)))
        if begun:
            occurs = _counted(changed, held)
            around = occurs + _counted(snapshot.before[changed], held) + _counted(snapshot.after[changed], held)
            new = occurs[len(changed) - (snapshot.rows - begun) :]
        else:
            new = occurs = np.zeros(snapshot.rows, np.float32)
            occurs[held[0]] = held[1]
            around = occurs + snapshot.neighbour_sum(occurs)
        self.own[changed] = _steps(occurs, snapshot.own[changed])
        self.window[changed] = _steps(around, snapshot.window[changed])
        blocks = np.bincount(snapshot.block[begun:], new, len(snapshot.blocks)).astype(np.float32)
        blocks[: len(self.blocks)] += self.blocks
        self.blocks, self.rows = blocks, snapshot.rows


def _counted(rows: NDArray[np.int32], held: TermRows) -> Floats:
    """Returns the term's frequency in each of `rows`; 0 for a link that leads to no row."""
    where, counts = held
    index = np.minimum(np.searchsorted(where, rows), len(where) - 1)
    return np.where(where[index] == rows, counts[index], np.float32(0))


def _steps(counts: Floats, norm: Floats) -> NDArray[np.uint8]:
    return np.rint(counts / (counts + norm) * np.float32(_STEPS)).astype(np.uint8)


_MAX_QUERY_TERMS = 10
_SPARSE_SHARE = 64
"""Sums over fewer than one in 64 indexes are made by sorting, others with an array of all indexes."""
_FREQUENT_SHARE = 16
"""A term in more than one of 16 rows is frequent: its contribution to all rows is cached."""
_MAX_AT_ONCE = 65_536
"""Terms times rows up to which all terms are scored in all rows at once: of so few numbers, each call of numpy costs more than
the numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedTerm:
    """A term of the query: its word, the hashes of its stems, its share of the query's idf sum (0 to 1), and its occurrences:
    for each partition the rows that hold the term, with the term frequencies."""

    word: str
    hashes: tuple[int, ...]
    share: float
    occurrences: tuple[TermRows, ...]


Terms = Sequence[WeightedTerm]


@dataclass(frozen=True, slots=True, kw_only=True)
class LexicalScores:
    """BM25 scores, each of shape (rows,): of the row's unit, of its window and of its block."""

    own: Floats
    window: Floats
    block: Floats


def weigh_terms(partitions: Sequence[Partition], query: Query) -> Terms:
    """Returns the query's terms with their shares of the idf sum; document frequencies are taken over all partitions.

    A term that occurs nowhere still takes its share of the sum, so that a query matched in part scores lower. Of the terms that
    occur only the ten rarest are returned: more of them cost time and add no recall.
    """
    total = max(1, sum(map(len, partitions)))
    weighted: list[tuple[float, int, str, tuple[int, ...], tuple[TermRows, ...]]] = []
    for term in query.terms:
        hashes = tuple(dict.fromkeys(map(term_hash, term.stems)))
        occurrences = tuple(_rows(partition, hashes, partition.columns.rows) for partition in partitions)
        frequency = sum(len(rows) for rows, _ in occurrences)
        idf = log(1 + (total - min(frequency, total) + 0.5) / (frequency + 0.5))
        weighted.append((idf, frequency, term.word, hashes, occurrences))
    idf_sum = sum(idf for idf, *_ in weighted) or 1.0
    rarest = sorted(
        (index for index, (_, frequency, *_) in enumerate(weighted) if frequency), key=lambda index: -weighted[index][0]
    )
    common = set(rarest[_MAX_QUERY_TERMS:])
    return tuple(
        WeightedTerm(word=word, hashes=hashes, share=idf / idf_sum, occurrences=occurrences)
        for index, (idf, _, word, hashes, occurrences) in enumerate(weighted)
        if index not in common
    )


def held_by(terms: Terms, rows: NDArray[np.intp], partition: int) -> NDArray[np.bool_]:
    """Returns which of some living rows hold which terms: shape (len(rows), len(terms)). `partition` is the index of the rows'
    partition among those that `weigh_terms` got."""
    held = np.zeros((len(rows), len(terms)), np.bool_)
    for column, term in enumerate(terms):
        where, _ = term.occurrences[partition]
        if len(where):
            held[:, column] = where.take(where.searchsorted(rows), mode="clip") == rows
    return held


def lexical_scores(terms: Terms, snapshot: Snapshot, partition: int = 0) -> LexicalScores:
    """Returns the scores of the snapshot's rows. `partition` is the index of the snapshot's partition among those that
    `weigh_terms` got."""
    rows = snapshot.rows
    held = [(term, *_below(term.occurrences[partition], rows)) for term in terms if len(term.occurrences[partition][0])]
    if rows * len(held) <= _MAX_AT_ONCE:
        return _all_at_once(held, snapshot)
    own, window = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    score = np.zeros(len(snapshot.blocks), np.float32)
    for term, where, counts in held:
        if len(where) * _FREQUENT_SHARE > rows:
            blocks = FrequentTerms.of(snapshot).add(own, window, term.share * (K1 + 1), term.hashes, (where, counts), snapshot)
            score += term.share * _saturate(blocks, snapshot.blocks)
            continue
        own[where] += term.share * _saturate(counts, snapshot.own[where])
        near = np.concatenate((where, snapshot.before[where], snapshot.after[where]))
        there = near < rows
        hit, sums = _sums(near[there], np.tile(counts, 3)[there], rows)
        window[hit] += term.share * _saturate(sums, snapshot.window[hit])
        hit, sums = _sums(snapshot.block[where], counts, len(score))
        score[hit] += term.share * _saturate(sums, snapshot.blocks[hit])
    return LexicalScores(own=own, window=window, block=score.take(snapshot.block, mode="clip"))


def _all_at_once(held: Sequence[tuple[WeightedTerm, NDArray[np.int32], Floats]], snapshot: Snapshot) -> LexicalScores:
    """Returns the same scores as arrays with a row for each term."""
    counts = np.zeros((len(held), snapshot.rows), np.float32)
    blocks = np.zeros((len(held), len(snapshot.blocks)), np.float32)
    for index, (_, where, found) in enumerate(held):
        counts[index, where] = found
        blocks[index] = np.bincount(snapshot.block.take(where), found, len(snapshot.blocks))
    shares = np.array([term.share for term, *_ in held], np.float32)
    own, window, score = (
        np.einsum("t,tr->r", shares, _saturate(numbers, norms))
        for numbers, norms in (
            (counts, snapshot.own),
            (counts + snapshot.neighbour_sum(counts), snapshot.window),
            (blocks, snapshot.blocks),
        )
    )
    return LexicalScores(own=own, window=window, block=score.take(snapshot.block, mode="clip") if len(score) else own)


def _below(found: TermRows, rows: int) -> TermRows:
    """Returns what was found in the first `rows` rows; rows are added while a search runs."""
    where, counts = found
    return (where, counts) if where[-1] < rows else (where[where < rows], counts[where < rows])


def _sums(indexes: NDArray[np.int32], counts: Floats, size: int) -> tuple[NDArray[np.intp], Floats]:
    """Returns the distinct indexes (below `size`) and the sum of the counts of each. Where there are few, sorting them is
    cheaper than an array of `size`."""
    if len(indexes) * _SPARSE_SHARE > size:
        dense = np.bincount(indexes, counts, minlength=size)
        hit = np.flatnonzero(dense)
        return hit, dense[hit].astype(np.float32)
    hit, inverse = np.unique(indexes, return_inverse=True)
    return hit.astype(np.intp), np.bincount(inverse, counts).astype(np.float32)


def _rows(partition: Partition, hashes: Sequence[int], rows: int) -> TermRows:
    """Returns which of the first `rows` rows hold any of the stems, and how often; dropped rows are left out."""
    found = [pair for pair in map(partition.postings.find, hashes) if len(pair[0])]
    if not found:
        return np.empty(0, np.int32), np.empty(0, np.float32)
    if len(found) == 1:
        where, counts = found[0]
    else:
        where, inverse = np.unique(np.concatenate([where for where, _ in found]), return_inverse=True)
        counts = np.bincount(inverse, np.concatenate([counts for _, counts in found])).astype(np.float32)
    if where[-1] >= rows:
        counts, where = counts[where < rows], where[where < rows]
    if partition.dropped:
        living = partition.columns["alive"][where]
        counts, where = counts[living], where[living]
    return where, counts


def _saturate(counts: Floats, norm: Floats) -> Floats:
    return counts * np.float32(K1 + 1) / (counts + norm)
