"""Find: the units that may answer a query, each with what speaks for it. Two steps: every row gets the cheap evidence
(BM25, cosines, speaker, dates) and a rough sum of it; the best few get the rest, and the relevance model chooses among them.

The rough sum only says who is looked at closely. It takes twice as many as are asked for; measured, that loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from itertools import repeat
from math import log
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.search.bm25 import Terms, lexical, weigh
from germane.search.cosine import cosines
from germane.search.feature_extractor import FeatureExtractor
from germane.search.partition import Partition
from germane.search.relevance import Relevance, shipped
from germane.search.row_filter import allowed_rows
from germane.search.snapshot import snapshot
from germane.text.normal import fold
from germane.types.evidence import Evidence
from germane.types.query import Query

__all__ = ["Match", "Matches", "find"]

Floats = NDArray[np.float32]
_CLOSELY, _SAMPLED = 2, 16
_ANYWAY, _NEARLY = 32, 8
_FAINT = 0.0004
"""Beyond the best 32, what is less likely than 0.0004 isn't worth the reading; beyond the best 8, what is less likely than the
query says it must be."""


class Match(NamedTuple):
    partition: int
    """Index into the partitions searched."""
    key: int
    row: list[float]
    """What speaks for it, as `Evidence.of` takes it."""
    place: int = -1
    """Its row in the partition."""

    @property
    def evidence(self) -> Evidence:
        return Evidence.of(self.row)


class Matches(NamedTuple):
    found: list[Match]
    terms: Terms
    """What was looked for: the query's terms as they were weighed."""


def find(
    partitions: Sequence[Partition],
    query: Query,
    limit: int,
    *,
    keywords: bool,
    vectors: bool,
    speakers: Mapping[int, str],
    at: float,
    stop: Callable[[], bool],
    allowed: Set[int] | None = None,
    relevance: Relevance | None = None,
) -> Matches:
    """At most `limit` units, the most relevant first, those of no consequence left away; equals by partition, then by key.
    `speakers` names the hashes of the partitions' speaker column, `at` is the time asked about in seconds since the epoch,
    `allowed` narrows to these keys, and `stop` is asked between steps whether anybody still waits. A vector of another
    dimension than a partition's says nothing of it."""
    units = sum(map(len, partitions))
    if limit <= 0 or not units:
        return Matches([], ())
    terms = weigh(partitions, query) if keywords else ()
    named = _named(query, speakers)
    vector = query.vector if vectors else None
    relevance = relevance or shipped()
    found: list[tuple[float, int, int, int, NDArray[np.float64]]] = []
    for index, partition in enumerate(partitions):
        rows = partition.columns.rows
        if not rows or stop():
            continue
        fits = vector is not None and vector.shape == partition.columns["vector"].shape[1:]
        seen = snapshot(partition, rows)
        near = cosines(partition, vector, seen, stop) if vector is not None and fits else None
        view = FeatureExtractor(partition, seen, query, terms, lexical(terms, seen, index), near, named, units)
        rough = view.rough()
        may = allowed_rows(partition, rows, query, at, allowed)
        if not may.all():
            rough[~may] = -np.inf
        best = _top(rough, partition.columns["key"][:rows], _CLOSELY * limit)
        if not stop():
            table = view.table(best)
            odds = relevance.log_odds(table)
            keys = partition.columns["key"][best].tolist()
            found += zip((-odds).tolist(), repeat(index), keys, best.tolist(), table, strict=False)
    found.sort(key=itemgetter(0, 1, 2))
    least = log(1 / min(max(_FAINT, query.least), 0.99) - 1)
    worth = max(_NEARLY if query.least > _FAINT else _ANYWAY, sum(1 for row in found[:limit] if row[0] <= least))
    chosen = [Match(index, key, row.tolist(), place) for _, index, key, place, row in found[: min(limit, worth)]]
    return Matches(chosen, terms)


def _top(score: Floats, keys: NDArray[np.int64], limit: int) -> NDArray[np.intp]:
    """Rows of the highest finite scores; ties go to the lower key, so the choice is the same whatever order they came in."""
    best = np.flatnonzero(score >= _edge(score[::_SAMPLED], 4 * limit // _SAMPLED))
    if len(best) < limit:
        best = np.flatnonzero(score >= _edge(score, limit))
    best = best[score[best] > -np.inf]
    return best[np.lexsort((keys[best], -score[best]))][:limit]


def _edge(score: Floats, limit: int) -> float:
    """The `limit`th highest: of a sample, so that few are left to look at, or exactly, where a sample says too little."""
    return float(np.partition(score, -limit)[-limit]) if 0 < limit < len(score) else -np.inf


def _named(query: Query, speakers: Mapping[int, str]) -> int | None:
    """The one participant whose name, or a word of it, stands in the query; none when two do."""
    words = set(fold(query.text).replace("'s", " ").replace("’s", " ").translate(_PUNCTUATION).split())
    named = [code for code, name in speakers.items() if words & set(fold(name).split())]
    return named[0] if len(named) == 1 else None


_PUNCTUATION = str.maketrans(dict.fromkeys(".,;:!?\"'()[]{}«»“”‘’…-", " "))
