"""FeatureExtractor: evidence for the rows of a partition, a rough score for all, all features for the best."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.clock import zone
from germane.ports.word_vectors import WordVectors
from germane.search.bm25 import LexicalScores, Terms, held_by
from germane.search.cosine import Cosines, windows
from germane.search.date_nearness import dated
from germane.search.partition import Partition
from germane.search.proximity import phrase
from germane.search.row_terms import RowTerms
from germane.search.snapshot import Snapshot
from germane.search.soft_match import soft
from germane.search.unit import CAPITALS, QUESTION, TEMPORAL, USER
from germane.types.evidence import FEATURES
from germane.types.query import Query

__all__ = ["STEPS", "FeatureExtractor"]

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
            "phrase": phrase(self.terms, texts),
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
            features["soft"] = soft(self.terms, texts, held_by(self.terms, best, self.number), self.words)
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
        return dated(self.query.days, created, zone(self.query.zone))

    def _value_at(self, values: NDArray[np.generic], rows: NDArray[np.int32]) -> NDArray[Any]:
        """Returns `values` at these rows; 0 where a row doesn't exist."""
        return np.where(rows < self.snapshot.rows, values.take(rows, mode="clip"), 0)
