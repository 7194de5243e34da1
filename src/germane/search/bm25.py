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

from germane.query import Query
from germane.search.partition import Partition
from germane.text.analyse import term_hash

__all__ = ["Lexical", "Terms", "Weighed", "lexical", "weigh"]

K1, B = 1.2, 0.75
_MOST_TERMS = 10

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """A term of the query: the hashes of its stems, and its share of the query's idf sum."""

    hashes: tuple[int, ...]
    share: float


Terms = Sequence[Weighed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical:
    """One number a row each."""

    own: Floats
    window: Floats
    block: Floats


def weigh(partitions: Sequence[Partition], query: Query) -> Terms:
    """The query's terms with their idf over all partitions together; those that occur nowhere weigh, but find nothing.
    Only the rarest ten count: more add time and no recall."""
    total = max(1, sum(map(len, partitions)))
    found: list[tuple[float, tuple[int, ...]]] = []
    for term in query.terms:
        hashes = tuple(dict.fromkeys(map(term_hash, term.stems)))
        holding = sum(len(_rows(partition, hashes, partition.columns.rows)[0]) for partition in partitions)
        holding = min(holding, total)
        found.append((log(1 + (total - holding + 0.5) / (holding + 0.5)), hashes))
    rarest = sorted(sorted(range(len(found)), key=lambda place: -found[place][0])[:_MOST_TERMS])
    whole = sum(found[place][0] for place in rarest) or 1.0
    return tuple(Weighed(hashes=found[place][1], share=found[place][0] / whole) for place in rarest)


def lexical(partition: Partition, terms: Terms, rows: int) -> Lexical:
    """BM25 of the first `rows` rows."""
    columns = partition.columns
    alive = columns["alive"][:rows]
    before, after = columns["before"][:rows], columns["after"][:rows]
    block = columns["block"][:rows].copy()  # a late message moves others to another block, also while this runs
    length = np.where(alive, columns["length"][:rows], np.float32(0))
    own, window = np.zeros(rows, np.float32), np.zeros(rows, np.float32)
    around = length + _neighbours(length, before) + _neighbours(length, after)
    blocks = np.bincount(block, length).astype(np.float32)
    score = np.zeros(len(blocks), np.float32)
    own_norm, window_norm, block_norm = _norm(length, alive), _norm(around, alive), _norm(blocks, blocks > 0)
    for term in terms:
        where, counts = _rows(partition, term.hashes, rows)
        if not len(where):
            continue
        own[where] += term.share * _saturate(counts, own_norm[where])
        spread = np.zeros(rows, np.float32)
        spread[where] = counts
        for link in (before[where], after[where]):
            there = (link >= 0) & (link < rows)
            spread[link[there]] += counts[there]
        hit = np.flatnonzero(spread)
        window[hit] += term.share * _saturate(spread[hit], window_norm[hit])
        held = np.bincount(block[where], counts, minlength=len(blocks)).astype(np.float32)
        hit = np.flatnonzero(held)
        score[hit] += term.share * _saturate(held[hit], block_norm[hit])
    return Lexical(own=own, window=window, block=score[block] if rows else own)


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


def _neighbours(values: Floats, link: NDArray[np.int32]) -> Floats:
    there = (link >= 0) & (link < len(values))
    return np.where(there, values[np.where(there, link, 0)], np.float32(0)) if len(values) else values


def _norm(length: Floats, counted: NDArray[np.bool_]) -> Floats:
    many = np.count_nonzero(counted)
    mean = float(length.sum(where=counted, dtype=np.float64)) / many if many else 1.0
    return (K1 * (1 - B + B * length / max(mean, 1e-6))).astype(np.float32)


def _saturate(counts: Floats, norm: Floats) -> Floats:
    return counts * np.float32(K1 + 1) / (counts + norm)
