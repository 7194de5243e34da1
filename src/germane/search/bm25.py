"""BM25 of units, of windows and of sessions, from one set of postings.

Lucene's idf, ln(1 + (N − df + ½) / (df + ½)), with k1 = 1.2 and b = 0.75 (Robertson and Zaragoza 2009). A window is the
previous, this and the next message of a session read as one document; a block is a session, or a stretch of a long one.
Both are sums of their units' term frequencies, so neither is indexed. Every result is divided by the query's own idf sum:
a document of average length that holds each term once has about 1. What was dropped counts nowhere; a block without a term
doesn't count towards the mean length of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from germane.search.frequent_terms import Frequent
from germane.search.partition import Partition
from germane.search.snapshot import K1, Snapshot
from germane.text.analyse import term_hash
from germane.types.query import Query

__all__ = ["Lexical", "Terms", "Weighed", "lexical", "weigh"]

_MOST_TERMS = 10
_FEW, _MANY = 64, 16
_LARGE = 16_384
"""Rows from which what the commonest terms contribute is kept."""

Floats = NDArray[np.float32]
Match = tuple[tuple[NDArray[np.int32], Floats], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A term of the query: its word, the hashes of its stems, its share of the query's idf sum, and for each partition the
    rows that hold it and how often."""

    word: str
    hashes: tuple[int, ...]
    share: float
    found: Match


Terms = Sequence[Weighed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical:
    """One number a row each."""

    own: Floats
    window: Floats
    block: Floats


def weigh(partitions: Sequence[Partition], query: Query) -> Terms:
    """The query's terms, each with its share of the idf of them all, over all partitions together. What occurs nowhere
    finds nothing, but what was asked is answered the less for it. Of those that occur only the ten rarest count: more add
    time and no recall."""
    total = max(1, sum(map(len, partitions)))
    weighed: list[tuple[float, int, str, tuple[int, ...], Match]] = []
    for term in query.terms:
        hashes = tuple(dict.fromkeys(map(term_hash, term.stems)))
        found = tuple(_rows(partition, hashes, partition.columns.rows) for partition in partitions)
        holding = sum(len(where) for where, _ in found)
        idf = log(1 + (total - min(holding, total) + 0.5) / (holding + 0.5))
        weighed.append((idf, holding, term.word, hashes, found))
    whole = sum(idf for idf, *_ in weighed) or 1.0
    rarest = sorted((place for place, (_, holding, *_) in enumerate(weighed) if holding), key=lambda place: -weighed[place][0])
    common = set(rarest[_MOST_TERMS:])
    return tuple(
        Weighed(word=word, hashes=hashes, share=idf / whole, found=found)
        for place, (idf, _, word, hashes, found) in enumerate(weighed)
        if place not in common
    )


def lexical(terms: Terms, seen: Snapshot, partition: int = 0) -> Lexical:
    """BM25 of the rows of the snapshot, which is of the partition in this place among those the terms were weighed over."""
    rows = seen.rows
    own, window = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    score = np.zeros(len(seen.blocks), np.float32)
    for term in terms:
        where, counts = term.found[partition]
        if not len(where):
            continue
        if where[-1] >= rows:
            where, counts = where[where < rows], counts[where < rows]
        if len(where) * _MANY > rows >= _LARGE:
            held = Frequent.of(seen).add(own, window, term.share * (K1 + 1), term.hashes, (where, counts), seen)
            score += term.share * _saturate(held, seen.blocks)
            continue
        if len(where) * _MANY > rows:
            held = np.zeros(rows, np.float32)
            held[where] = counts
            own += term.share * _saturate(held, seen.own)
            window += term.share * _saturate(held + seen.around(held), seen.window)
        else:
            own[where] += term.share * _saturate(counts, seen.own[where])
            near = np.concatenate((where, seen.before[where], seen.after[where]))
            there = near < rows
            hit, held = _sums(near[there], np.tile(counts, 3)[there], rows)
            window[hit] += term.share * _saturate(held, seen.window[hit])
        hit, held = _sums(seen.block[where], counts, len(score))
        score[hit] += term.share * _saturate(held, seen.blocks[hit])
    return Lexical(own=own, window=window, block=np.take(score, seen.block, mode="clip") if rows else own)


def _sums(places: NDArray[np.int32], counts: Floats, size: int) -> tuple[NDArray[np.intp], Floats]:
    """The distinct places and the sum of each. For few of them sorting is cheaper than an array of all."""
    if len(places) * _FEW > size:
        dense = np.bincount(places, counts, minlength=size)
        hit = np.flatnonzero(dense)
        return hit, dense[hit].astype(np.float32)
    hit, inverse = np.unique(places, return_inverse=True)
    return hit.astype(np.intp), np.bincount(inverse, counts).astype(np.float32)


def _rows(partition: Partition, hashes: Sequence[int], rows: int) -> tuple[NDArray[np.int32], Floats]:
    """The living among the first `rows` rows that hold any of these, and how often."""
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
    if partition.dead:
        living = partition.columns["alive"][where]
        counts, where = counts[living], where[living]
    return where, counts


def _saturate(counts: Floats, norm: Floats) -> Floats:
    return counts * np.float32(K1 + 1) / (counts + norm)
