"""Find: searches the partitions that a scope sees, ranks the rows of all of them, and tells which are worth reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import ExitStack
from heapq import heapify, heappop, heappush
from itertools import repeat
from math import ceil, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.ports.models import WordVectors
from germane.search.bm25 import lexical_scores, weigh_terms
from germane.search.cosine import VectorScan, cosines
from germane.search.features import STEPS, FeatureExtractor
from germane.search.partition import Partition, allowed_rows, named_in
from germane.search.relevance import Relevance, links, neighbours, shipped, sigmoid
from germane.search.snapshot import take_snapshot
from germane.types.budget import COUNTED_ITEMS, PASSAGE_TOKENS, PASSAGE_VALUE, SHORT_PASSAGE_TOKENS
from germane.types.evidence import FEATURES, Evidence
from germane.types.query import Query, Vector

Floats = NDArray[np.float32]
_NEIGHBOURS = FEATURES.index("neighbours")
_OVERSAMPLING = 1.5
"""Rows that get the full evidence, as a multiple of the limit. Measured, 1 to 3 find the same within 0.1 points."""
_MAX_PARTS_KEPT = 3
"""Parts of one long text that get the full evidence."""
_SAMPLE_STEP = 16
"""One of so many scores is looked at to guess the score of the last row of interest."""
_WHOLE_TEXT = (0, 0)
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
        Match(index, key, features, partitions[index].place(row) if partitions[index].has_parts else _WHOLE_TEXT)
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
    score[rows[place >= _MAX_PARTS_KEPT]] = -np.inf


def _threshold(score: Floats, limit: int) -> float:
    """Returns the `limit`th highest score; −∞ where there are fewer."""
    return float(np.partition(score, -limit)[-limit]) if 0 < limit < len(score) else -np.inf


# Ranking: the best rows of all partitions that a search looked at, and which of them are worth reading. Reading a
# result, scoring it and costing it take some tens of microseconds each, and of those that a search finds a fifth is
# shown. What a result can bring at most for each token is known before its text is read: its probability, and the
# fewest tokens that its words take. Where that is far below the query's price, the text isn't read.
# `by_marginal_relevance` orders texts whose words are there: each counts by what it is about, and by what it adds to
# those before.


Scores = NDArray[np.float64]

_MIN_KEPT = 8
"""Rows less likely than the query's `min_relevance` are kept only among the best 8."""
_MIN_READ = 10
"""The best rows of other sessions are read, whatever they cost: P(need) follows from them."""
_MARGIN = 0.9
"""The share of the price that a row must reach, as recency and what other sources know may still add to its score. Measured on
the development data, evidence and tokens are the same with 0.7, and a quarter more is read then."""
_LINE = 6
"""Tokens of a line besides its text: handle, speaker, line end."""


class Ranking(NamedTuple):
    """Columns of equal length; `table` has a row of features for each. `tokens` is what its text takes, or its words where
    nobody has counted. `others` is whether a row belongs to another session than the running one, whose messages may stand in
    the request already."""

    odds: Scores
    partition: NDArray[np.int64]
    keys: NDArray[np.int64]
    rows: NDArray[np.intp]
    table: Scores
    tokens: NDArray[np.int32]
    others: NDArray[np.bool_]

    @classmethod
    def of(
        cls, index: int, partition: Partition, rows: NDArray[np.intp], table: Scores, odds: Scores, session: int | None
    ) -> Ranking:
        """The rows of one partition, in any order. `session` is the running session's number in the store."""
        columns = partition.columns
        running = None if session is None else partition.session_number(session)
        others = np.ones(len(rows), np.bool_) if running is None else columns["session"][rows] != running
        return cls(
            odds,
            np.full(len(rows), index),
            columns["key"][rows],
            rows,
            table,
            np.maximum(columns["words"][rows], columns["tokens"][rows]),
            others,
        )

    @classmethod
    def merged(cls, rankings: Sequence[Ranking], limit: int, *, parts: bool) -> Ranking:
        """The best `limit` rows of all, the most relevant first; ties go by partition, then by key. Where long texts have
        `parts`, each key keeps its best row."""
        joined = rankings[0] if len(rankings) == 1 else cls._make(map(np.concatenate, zip(*rankings, strict=True)))
        order = np.lexsort((joined.keys, joined.partition, -joined.odds))
        if parts:
            pairs = np.column_stack((joined.partition, joined.keys))[order]
            order = order[np.sort(np.unique(pairs, axis=0, return_index=True)[1])]
        return joined.where(order[:limit])

    def likely(self, minimum: float) -> Ranking:
        """The rows of at least this probability, and the best few."""
        cutoff = -log(1 / min(minimum, 0.99) - 1)
        count = max(_MIN_KEPT, int(np.count_nonzero(self.odds >= cutoff)))
        return self.where(slice(count))

    def leading(self, count: int, spread: float) -> Ranking:
        """The best `count` rows, and those within so many log-odds of the last of them."""
        if len(self.odds) <= count:
            return self
        return self.where(self.odds >= self.odds[count - 1] - spread)

    def where(self, which: NDArray[Any] | slice) -> Ranking:
        """Some of the rows."""
        return Ranking._make(column[which] for column in self)

    def worth_reading(self, price: float, *, broad: bool) -> NDArray[np.bool_]:
        """A mask: the rows that may be worth their tokens at this price, a share of what is missing for each token."""
        probability = sigmoid(self.odds)
        expected = float(probability[self.others][:COUNTED_ITEMS].sum())
        worth: NDArray[np.bool_] = probability >= _MARGIN * price * expected * self.least_tokens(broad=broad)
        worth[np.flatnonzero(self.others)[:_MIN_READ]] = True
        return worth

    def least_tokens(self, *, broad: bool) -> Scores:
        """The fewest tokens for which each row brings its whole value: those of the whole text, or of a passage divided by its
        value (`shown_value`)."""
        tokens = np.maximum(self.tokens, 1).astype(np.float64)
        if broad:
            return np.minimum(tokens, SHORT_PASSAGE_TOKENS) + _LINE
        value = PASSAGE_VALUE + (1 - PASSAGE_VALUE) * np.minimum(1.0, PASSAGE_TOKENS / tokens)
        return np.minimum(tokens + _LINE, (PASSAGE_TOKENS + _LINE) / value)


# After J. Carbonell, J. Goldstein, "The Use of MMR, Diversity-Based Reranking" (1998), with words in the place of a
# likeness of texts: a word that stands in texts before it counts half as much with each of them.


_REPEATED_FACTOR = 0.5
_SMOOTHING = 4
"""Words by which each text counts as longer, so that a text of one new word isn't the best."""
_MAX_LOOKS = 8
"""Looks at what one text adds, as the words of those chosen before count less."""


def by_marginal_relevance(relevance: Sequence[float], words: Sequence[Set[str]], limit: int) -> list[int]:
    """Returns the indexes of at most `limit` texts, the best first: by their relevance, [0, 1], plus the mean of what their
    words add, [0, 1). Of equal ones the first. Takes linear time, but for the sorting."""
    weights = dict[str, float]()  # of the words that were seen; any other weighs 1

    def score(index: int) -> float:
        own = words[index]
        return relevance[index] + sum(map(weights.get, own, repeat(1.0))) / (len(own) + _SMOOTHING)

    heap = [(-score(index), index, 1) for index in range(len(words))]
    heapify(heap)
    found = list[int]()
    while heap and len(found) < limit:
        known, index, looks = heappop(heap)
        if looks < _MAX_LOOKS and heap and (now := -score(index)) > known and now > heap[0][0]:
            heappush(heap, (now, index, looks + 1))
            continue
        found.append(index)
        for word in words[index]:
            weights[word] = _REPEATED_FACTOR * weights.get(word, 1.0)
    return found
