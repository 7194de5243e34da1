"""BM25: keyword scores of units, of windows and of blocks, from one inverted index.

The formula is BM25 with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza 2009) and Lucene's idf, ln(1 + (N − df + ½) / (df + ½)).
A window is a message with the previous and the next message of its session, read as one document; a block is a session, or
up to 40 consecutive messages of a longer one. Term frequencies of windows and blocks are sums over their units, so neither has
an index of its own. Scores are divided by the sum of the query's idfs: a document of average length that holds each term once
scores about 1. Dropped units count nowhere; a block without terms doesn't count towards the mean block length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from germane.search.frequent_terms import FrequentTerms, TermRows
from germane.search.partition import Partition
from germane.search.snapshot import K1, Snapshot
from germane.text.analyse import term_hash
from germane.types.query import Query

__all__ = ["LexicalScores", "Terms", "WeightedTerm", "held_by", "lexical_scores", "weigh_terms"]

_MAX_TERMS = 10
_SPARSE = 64
"""Sums over fewer than one in 64 indexes are made by sorting, others with an array of all indexes."""
_FREQUENT = 16
"""A term in more than one of 16 rows is frequent: its contribution to all rows is cached."""
_SMALL = 65_536
"""Terms times rows up to which all terms are scored in all rows at once: of so few numbers, each call of numpy costs more than
the numbers."""

Floats = NDArray[np.float32]


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
    common = set(rarest[_MAX_TERMS:])
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
    if rows * len(held) <= _SMALL:
        return _all_at_once(held, snapshot)
    own, window = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    score = np.zeros(len(snapshot.blocks), np.float32)
    for term, where, counts in held:
        if len(where) * _FREQUENT > rows:
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
    if len(indexes) * _SPARSE > size:
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
