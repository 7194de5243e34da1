"""Features: the evidence for the rows of a partition: a rough score for all of them, all features for the best.

The features that need the words of a row read the hashes of its stems and no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, tzinfo
from itertools import pairwise
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.clock import zone
from germane.ports.models import WordVectors
from germane.search.bm25 import LexicalScores, Terms, held_by
from germane.search.cosine import Cosines, windows
from germane.search.partition import Partition
from germane.search.snapshot import Snapshot
from germane.search.unit import CAPITALS, QUESTION, TEMPORAL, USER
from germane.types.evidence import FEATURES
from germane.types.query import Days, Query

Floats = NDArray[np.float32]
STEPS = 5
"""How far before and after a row its evidence looks."""
_MIN_CROWD, _USUAL_CROWD = 30, 500
"""Units searched that `crowd` counts at least, and those at which it is 0."""
_FEW_TERMS, _USUAL_TERMS, _MANY_TERMS = 4, 5, 12
"""Content words of a query at which `terms` is 0, and the fewest and the most that it tells apart, as in the data it was fitted
to."""
_INDEX = {name: index for index, name in enumerate(FEATURES)}
_UNKNOWN = [_INDEX[name] for name in ("cos_own", "cos_window", "soft")]


class FeatureExtractor(NamedTuple):
    """The scores of one partition for one query, from which the evidence is made.

    `near` is None where the query has no vector that fits. `named` is the hash of the only participant that the query names,
    None where it names none or several. `units` is the number of units in all partitions searched, `number` the partition's
    index among them.
    """

    number: int
    partition: Partition
    snapshot: Snapshot
    query: Query
    terms: Terms
    lexical: LexicalScores
    near: Cosines | None
    named: int | None
    units: int
    words: WordVectors | None = None

    def rough(self) -> Floats:
        """Returns a cheap relevance score for every row, shape (rows,); −∞ for a row that has neither a word nor a meaning in
        common with the query. Every window's vector is taken to be 1.3 long, as most are."""
        rows = self.snapshot.rows
        score = np.float32(1.8) * self.lexical.window
        score += np.float32(0.7) * self.lexical.own
        score += np.float32(1.5) * self.lexical.block
        matches = score > 0
        if self.near is not None:
            score += np.float32(3.6) * self.near.sums
            score += np.float32(0.7) * self.near.own
            matches |= self.near.sums > np.float32(0.065)
        if self.named is not None:
            score += np.float32(1.6) * (self.partition.columns["speaker"][:rows] == self.named)
        if self.query.days:
            month, day = self._dated(self.partition.columns["created_at"][:rows])
            score += np.float32(2.5) * month + np.float32(2.0) * day
        score[~matches] = -np.inf
        return score

    def table(self, best: NDArray[np.intp], walked: NDArray[np.int32]) -> NDArray[np.float64]:
        """Returns all features of the rows `best`, in their order: shape (len(best), len(FEATURES)). `walked` is what
        `Snapshot.walk` returns for them and for `STEPS`. A missing cosine is NaN, and so is `soft` without word vectors. What
        the query doesn't ask for stays 0."""
        columns, query = self.partition.columns, self.query
        table = np.zeros((len(best), len(FEATURES)))
        table[:, _UNKNOWN] = np.nan
        flags, texts = columns["flags"].take(best), RowTerms.of(self.partition, best)
        (before, earlier), after = walked[0, :2], walked[1, 0]
        features: dict[str, NDArray[Any] | float] = {
            "own": self.lexical.own.take(best),
            "window": self.lexical.window.take(best),
            "session": self.lexical.block.take(best),
            "before": self._value_at(self.lexical.own, earlier),
            "after": self._value_at(self.lexical.own, after),
            "phrase": phrase_scores(self.terms, texts),
            "opening": (earlier >= self.snapshot.rows) & (columns["kind"].take(best) == 0),
            "answers": (self._value_at(columns["flags"], before) & QUESTION) > 0,
            "question": (flags & QUESTION) > 0,
            "length": np.log1p(columns["words"].take(best)) - 2.5,
            "crowd": log(max(self.units, _MIN_CROWD) / _USUAL_CROWD),
            "terms": self._detail(),
        }
        if query.days:
            features["month"], features["day"] = self._dated(columns["created_at"].take(best))
        if query.asks_when:
            features["temporal"] = (flags & TEMPORAL) > 0
        if query.asks_name:
            features["capitals"] = (flags >> CAPITALS & 3) / 3
        if self.named is not None:
            features["speaker"] = columns["speaker"].take(best) == self.named
        if assisted := self.partition.assistant_sessions:
            sessions = columns["session"].take(best).tolist()
            features["assistant"] = assistant = np.fromiter(map(assisted.__contains__, sessions), np.bool_, len(sessions))
            features["user"] = assistant & ((flags & USER) > 0)
        if self.words is not None:
            features["soft"] = soft_scores(self.terms, texts, held_by(self.terms, best, self.number), self.words)
        if self.near is not None:
            no_vector = columns["scale"].take(best) == 0
            features["cos_own"] = np.where(no_vector, np.nan, self.near.own.take(best))
            features["around"] = self._around(self.near.sums, walked)
            features["cos_window"] = np.where(no_vector, np.nan, windows(self.partition, self.near, self.snapshot, best))
        for name, values in features.items():
            table[:, _INDEX[name]] = values
        return table

    def _detail(self) -> float:
        return log(min(_MANY_TERMS, max(_FEW_TERMS, len(self.query.terms))) / _USUAL_TERMS)

    def _around(self, sums: Floats, walked: NDArray[np.int32]) -> Floats:
        """Returns the mean of `sums` over the units two to five steps before and after each row."""
        beyond = walked[:, 1:]
        total: Floats = self._value_at(sums, beyond).sum(axis=(0, 1))
        return total / np.float32(beyond.shape[0] * beyond.shape[1])

    def _dated(self, created: NDArray[np.float64]) -> tuple[Floats, Floats]:
        return date_nearness(self.query.days, created, zone(self.query.zone))

    def _value_at(self, values: NDArray[np.generic], rows: NDArray[np.int32]) -> NDArray[Any]:
        """Returns `values` at these rows; 0 where a row doesn't exist."""
        return np.where(rows < self.snapshot.rows, values.take(rows, mode="clip"), 0)


# The words of rows, as hashes of their stems.


_MAX_TERMS = 16_384
"""Terms of a row that are looked at: those beyond them, in texts of some hundred thousand characters, go unnoticed."""


class RowTerms(NamedTuple):
    """`starts` and `lengths` have an entry for each row that was asked for: which of the hashes are its own."""

    hashes: NDArray[np.uint32]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, partition: Partition, rows: NDArray[np.intp]) -> RowTerms:
        lengths = np.minimum(partition.columns["length"].take(rows).astype(np.int64), _MAX_TERMS)
        offsets, terms = partition.columns["offset"].take(rows), partition.terms["term"]
        bounds = zip(offsets.tolist(), (offsets + lengths).tolist(), strict=True)
        own = [terms[start:end] for start, end in bounds]
        return cls(np.concatenate(own) if own else terms[:0], lengths.cumsum() - lengths, lengths)

    def owners(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Returns which of the rows each hash belongs to, by its place among all."""
        return self.starts.searchsorted(places, "right") - 1


# How well a text's words match the query's words or words of similar meaning. The score is Σ over the query's words of
# (idf share · best cosine with a word of the text), with cosine 1 for an equal stem; it lies in [0, 1].


def soft_scores(terms: Terms, texts: RowTerms, held: NDArray[np.bool_], vectors: WordVectors) -> NDArray[np.float32]:
    """Returns the score of each row of `texts`. `held`, shape (rows, terms), says which of them hold which term. NaN for every
    row where no word of the query has a vector, as it is in scripts that the vectors don't cover: then nothing is known but
    equal stems, which BM25 counts."""
    scores = np.zeros(len(texts.lengths), np.float32)
    if not terms:
        scores[:] = np.nan
    if not terms or not len(texts.hashes):
        return scores
    cosines = vectors.cosines(texts.hashes, [term.word for term in terms])
    unknown = np.isnan(cosines[0])
    if unknown.all():
        scores[:] = np.nan
        return scores
    if unknown.any():
        cosines[:, unknown] = 0.0
    rows = texts.lengths.nonzero()[0]
    share = np.array([term.share for term in terms], np.float32)
    best = np.maximum.reduceat(cosines, texts.starts[rows], axis=0)
    best[held[rows]] = 1.0
    scores[rows] = np.minimum(np.maximum(best, 0.0, out=best), 1.0, out=best) @ share
    return scores


# Where the query's words stand close together in a unit's text.


_MAX_GAP = 4


def phrase_scores(terms: Terms, texts: RowTerms) -> NDArray[np.float32]:
    """Returns one number a row, in [0, 1]: how well neighbouring words of the query are neighbours in the row's text.

    The score is Σ over pairs of neighbouring terms of half their idf shares where the two are adjacent in this order, or of a
    quarter where they are at most four words apart. `terms` must be in the order of the query.
    """
    words = texts.hashes
    scores = np.zeros(len(texts.lengths), np.float32)
    if len(terms) < 2 or not len(words):
        return scores
    positions = [np.flatnonzero(_among(words, term.hashes)) for term in terms]
    for (first, here), (second, there) in pairwise(zip(terms, positions, strict=True)):
        if not (len(here) and len(there)):
            continue
        gap = np.append(there, len(words) + _MAX_GAP)[np.searchsorted(there, here, "right")] - here
        here, gap = here[gap <= _MAX_GAP], gap[gap <= _MAX_GAP]
        owner = texts.owners(here)
        same_text = owner == texts.owners(here + gap)
        owner, gap = owner[same_text], gap[same_text]
        best = np.zeros(len(scores), np.float32)
        best[owner] = 0.25
        best[owner[gap == 1]] = 0.5
        scores += best * np.float32(first.share + second.share)
    return np.minimum(scores, 1.0)


def _among(words: NDArray[np.uint32], hashes: Sequence[int]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = words == np.uint32(hashes[0])
    for other in hashes[1:]:
        found |= words == np.uint32(other)
    return found


# Whether a unit was created at or near the days that the query names.


_DAY = 86400.0


def date_nearness(days: Sequence[Days], created: NDArray[np.float64], zone: tzinfo = UTC) -> tuple[Floats, Floats]:
    """Returns (`month`, `day`), each of shape (len(created),); `created` is in seconds since the epoch, days are days of
    `zone`.

    `month` is 1 for units within a named week, month or year. `day` is 2 within a day of a named day, and 1 from then to ten
    days after it, as people tell of a day later; else 0.
    """
    month, day = np.zeros(len(created), np.float32), np.zeros(len(created), np.float32)
    for stretch in days:
        first = datetime.combine(stretch.first, time(), zone).timestamp()
        last = datetime.combine(stretch.last, time(), zone).timestamp() + _DAY
        if stretch.grain == "day":
            near = (created >= first - _DAY) & (created < last + 10 * _DAY)
            close = (created >= first - _DAY) & (created < last + _DAY)
            day = np.maximum(day, near.astype(np.float32) + close.astype(np.float32))
        else:
            month = np.maximum(month, ((created >= first) & (created < last)).astype(np.float32))
    return month, day
