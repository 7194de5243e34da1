"""Find: the search itself, the units most relevant to a query with their evidence.

The search has three steps. Every row gets the cheap evidence (BM25, cosines, speaker, dates) and a rough score made of it. The
best rows, half as many again as the limit, get all other evidence, and the relevance model says how probable each is. From that
follows the last piece of evidence, how probable the rows around a row are, and with it the model ranks them. Measured, no
relevant unit is lost by the first step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.ports.word_vectors import WordVectors
from germane.search.bm25 import lexical_scores, weigh_terms
from germane.search.cosine import cosines
from germane.search.feature_extractor import STEPS, FeatureExtractor
from germane.search.neighbours import links, neighbours
from germane.search.partition import Partition
from germane.search.ranking import Ranking
from germane.search.relevance import Relevance, shipped
from germane.search.row_filter import allowed_rows
from germane.search.snapshot import take_snapshot
from germane.search.speakers import named_in
from germane.search.vector_scan import VectorScan
from germane.types.evidence import FEATURES, Evidence
from germane.types.query import Query, Vector

__all__ = ["FaintMatch", "Match", "Matches", "find"]

Floats = NDArray[np.float32]
_NEIGHBOURS = FEATURES.index("neighbours")
_OVERSAMPLING = 1.5
"""Rows that get the full evidence, as a multiple of the limit. Measured, 1 to 3 find the same within 0.1 points."""
_PARTS_KEPT = 3
"""Parts of one long text that get the full evidence."""
_SAMPLE_STEP = 16
"""One of so many scores is looked at to guess the score of the last row of interest."""
_WHOLE = (0, 0)
"""The place of a text that isn't long."""


class Match(NamedTuple):
    """A unit that was found."""

    partition: int
    """Index into the partitions searched."""
    key: int
    features: list[float]
    """Its evidence, in the order of `FEATURES`."""
    place: tuple[int, int] = (0, 0)
    """First byte and end of the part that was found of a long text; zeros for a text that isn't long."""

    @property
    def evidence(self) -> Evidence:
        return Evidence.of(self.features)


class FaintMatch(NamedTuple):
    """A unit that was found, and whose text isn't to be read."""

    partition: int
    key: int
    log_odds: float
    tokens: int
    """The fewest tokens that showing it costs."""


class Matches(NamedTuple):
    """The units found, the most relevant first. `faint` are those that no packing by the query's price would choose, or all,
    where the query doesn't need their texts."""

    found: list[Match]
    faint: Sequence[FaintMatch] = ()


def find(
    partitions: Sequence[Partition],
    query: Query,
    limit: int,
    *,
    keywords: bool,
    vector: Vector | None,
    speakers: Mapping[int, str],
    at: float,
    stop: Callable[[], bool],
    allowed: Set[int] | None = None,
    relevance: Relevance | None = None,
    words: WordVectors | None = None,
    session: int | None = None,
) -> Matches:
    """Returns at most `limit` units, the most relevant first; ties are broken by partition, then by key. Faint ones are left
    out of `found`. Of a long text the most relevant part is returned.

    `keywords` switches BM25 on. `vector` is the query's, of length 1; without one there are no cosines. `speakers` maps hashes
    of the speaker column to names; `at` is the time asked about, in seconds since the epoch; `allowed` restricts the search to
    these keys. `relevance` defaults to the shipped model; without `words` the evidence `soft` is missing. `session` is the
    store's number of the running session, whose units may stand in the request already. `stop` is called between steps: when it
    returns true, the search ends with what it has. Partitions whose dimension isn't that of the query's vector are searched
    without it.
    """
    units = sum(map(len, partitions))
    if limit <= 0 or not units:
        return Matches([])
    relevance = relevance or shipped()
    found: list[Ranking] = []
    with ExitStack() as stack:
        scans = [_begun_scan(stack, partition, vector, stop) for partition in partitions]
        terms = weigh_terms(partitions, query) if keywords else ()
        named = named_in(query.text, speakers)
        for index, (partition, (rows, scan)) in enumerate(zip(partitions, scans, strict=True)):
            if not rows or stop():
                continue
            snapshot = take_snapshot(partition, rows)
            lexical = lexical_scores(terms, snapshot, index)
            near = None if scan is None else cosines(scan.products(), snapshot)
            extractor = FeatureExtractor(index, partition, snapshot, query, terms, lexical, near, named, units, words)
            best = _likely_rows(extractor, allowed_rows(partition, rows, query, at, allowed), ceil(_OVERSAMPLING * limit))
            if len(best) and not stop():
                found.append(Ranking.of(index, partition, best, *_judged(extractor, best, relevance), session))
    if not found:
        return Matches([])
    ranking = Ranking.merged(found, limit, parts=any(partition.has_parts for partition in partitions))
    if query.min_relevance:
        ranking = ranking.likely(query.min_relevance)
    ranking = ranking.leading(query.leading, query.spread)
    if not query.texts:
        return Matches([], _faint_matches(ranking, broad=query.broad))
    if not query.price:
        return Matches(_matches(ranking, partitions))
    worth = ranking.worth_reading(query.price, broad=query.broad)
    return Matches(_matches(ranking.where(worth), partitions), _faint_matches(ranking.where(~worth), broad=query.broad))


def _begun_scan(
    stack: ExitStack, partition: Partition, vector: Vector | None, stop: Callable[[], bool]
) -> tuple[int, VectorScan | None]:
    """Returns how many rows of the partition are searched, and the scan of their vectors, which ends with `stack`; None where
    the query has no vector that fits."""
    rows = partition.columns.rows
    if not rows or vector is None or vector.shape != partition.columns["vector"].shape[1:]:
        return rows, None
    return rows, stack.enter_context(VectorScan.begun(partition, vector, rows, stop))


def _likely_rows(extractor: FeatureExtractor, visible: NDArray[np.bool_], limit: int) -> NDArray[np.intp]:
    """The first step: returns the `limit` visible rows with the best rough scores, best first."""
    rough, partition = extractor.rough(), extractor.partition
    if not visible.all():
        rough[~visible] = -np.inf
    if partition.has_parts:
        _thin_out(rough, partition)
    return _top(rough, partition.columns["key"][: len(rough)], limit)


def _judged(
    extractor: FeatureExtractor, rows: NDArray[np.intp], relevance: Relevance
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The second and the third step: returns all evidence of these rows and their log-odds."""
    snapshot = extractor.snapshot
    walked = snapshot.walk(rows, STEPS)
    table = extractor.table(rows, walked)
    odds = relevance.log_odds(table)
    if snapshot.linked:
        table[:, _NEIGHBOURS] = neighbours(links(walked, rows), odds)
        odds = relevance.log_odds(table)
    return table, odds


def _matches(ranking: Ranking, partitions: Sequence[Partition]) -> list[Match]:
    columns = (ranking.partition, ranking.keys, ranking.table, ranking.rows)
    return [
        Match(index, key, features, partitions[index].place(row) if partitions[index].has_parts else _WHOLE)
        for index, key, features, row in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _faint_matches(ranking: Ranking, *, broad: bool) -> list[FaintMatch]:
    tokens = ranking.least_tokens(broad=broad).astype(np.int64)
    columns = (ranking.partition, ranking.keys, ranking.odds, tokens)
    return list(map(FaintMatch, *(column.tolist() for column in columns)))


def _top(score: Floats, keys: NDArray[np.int64], limit: int) -> NDArray[np.intp]:
    """Returns the rows of the `limit` highest finite scores, best first. Ties go to the lower key, so the result doesn't depend
    on the order in which units were added. A threshold guessed from a sample leaves few rows to sort; the exact threshold is
    computed only where the guess lets too few through."""
    best = np.flatnonzero(score >= _threshold(score[::_SAMPLE_STEP], 4 * limit // _SAMPLE_STEP))
    if len(best) < limit:
        best = np.flatnonzero(score >= _threshold(score, limit))
    best = best[score[best] > -np.inf]
    return best[np.lexsort((keys[best], -score[best]))][:limit]


def _thin_out(score: Floats, partition: Partition) -> None:
    """Leaves each long text its best few parts, so that a text of hundreds of parts doesn't keep everything else from the
    second step."""
    keys = partition.columns["key"][: len(score)]
    rows = np.flatnonzero((partition.columns["stop"][: len(score)] > 0) & (score > -np.inf))
    rows = rows[np.lexsort((-score[rows], keys[rows]))]
    first = np.flatnonzero(np.concatenate(([True], keys[rows][1:] != keys[rows][:-1]))) if len(rows) else rows
    place = np.arange(len(rows)) - np.repeat(first, np.diff(first, append=len(rows)))
    score[rows[place >= _PARTS_KEPT]] = -np.inf


def _threshold(score: Floats, limit: int) -> float:
    """Returns the `limit`th highest score; −∞ where there are fewer."""
    return float(np.partition(score, -limit)[-limit]) if 0 < limit < len(score) else -np.inf
