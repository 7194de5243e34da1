"""Observe: one partition under one query. A rough sum for every row, all the evidence for a few."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.clock import zone
from germane.search.bm25 import Lexical, Terms
from germane.search.cosine import Cosines, windows
from germane.search.dated import dated
from germane.search.partition import Partition
from germane.search.phrase import phrase
from germane.search.snapshot import Snapshot
from germane.search.unit import CAPITALS, QUESTION, TEMPORAL, USER
from germane.types.evidence import FEATURES
from germane.types.query import Query

__all__ = ["FeatureExtractor"]

Floats = NDArray[np.float32]
_FEW, _USUAL = 30, 500
_PLACES = {name: place for place, name in enumerate(FEATURES)}
_UNKNOWN = [_PLACES[name] for name in ("cos_own", "cos_window", "soft")]


class FeatureExtractor(NamedTuple):
    """What was measured of a partition. `named` is the hash of the one participant the query names, `units` how many are
    searched in all partitions."""

    partition: Partition
    seen: Snapshot
    query: Query
    terms: Terms
    lexical: Lexical
    near: Cosines | None
    named: int | None
    units: int

    def rough(self) -> Floats:
        """Only what matches anything: a row without a word or a meaning in common stays at −∞. Windows' vectors are taken to
        be 1.3 long, as most are."""
        rows = self.seen.rows
        score = np.float32(1.8) * self.lexical.window
        score += np.float32(0.7) * self.lexical.own
        score += np.float32(1.5) * self.lexical.block
        worth = score > 0
        if self.near is not None:
            score += np.float32(3.6) * self.near.sums
            score += np.float32(0.7) * self.near.own
            worth |= self.near.sums > np.float32(0.065)
        if self.named is not None:
            score += np.float32(1.6) * (self.partition.columns["speaker"][:rows] == self.named)
        if self.query.days:
            month, day = self._dated(self.partition.columns["created_at"][:rows])
            score += np.float32(2.5) * month + np.float32(2.0) * day
        score[~worth] = -np.inf
        return score

    def table(self, best: NDArray[np.intp]) -> NDArray[np.float64]:
        """All the evidence for these rows, in their order: shape (len(best), len(FEATURES)); NaN for a missing cosine, and
        for what only the text can tell."""
        columns, query = self.partition.columns, self.query
        table = np.zeros((len(best), len(FEATURES)))
        table[:, _UNKNOWN] = np.nan
        flags = columns["flags"][best]
        before, after = self.seen.before[best], self.seen.after[best]
        earlier, later = self._at(self.seen.before, before, self.seen.rows), self._at(self.seen.after, after, self.seen.rows)
        sessions, assisted = columns["session"][best].tolist(), self.partition.assisted
        assistant = np.fromiter((session in assisted for session in sessions), np.bool_, len(sessions))
        month, day = self._dated(columns["created_at"][best])
        named = columns["speaker"][best] == self.named if self.named is not None else np.zeros(len(best))
        length = np.log1p(columns["words"][best]) - 2.5
        features: dict[str, NDArray[Any]] = {
            "own": self.lexical.own[best],
            "window": self.lexical.window[best],
            "session": self.lexical.block[best],
            "before": self._at(self.lexical.own, earlier),
            "after": self._at(self.lexical.own, after),
            "phrase": phrase(self.partition, self.terms, best),
            "speaker": named,
            "month": month,
            "day": day,
            "temporal": ((flags & TEMPORAL) > 0) * query.asks_when,
            "capitals": (flags >> CAPITALS & 3) / 3 * query.asks_name,
            "opening": (earlier >= self.seen.rows) & (columns["kind"][best] == 0),
            "answers": (self._at(columns["flags"], before) & QUESTION) > 0,
            "question": (flags & QUESTION) > 0,
            "user": assistant & ((flags & USER) > 0),
            "assistant": assistant,
            "length": length,
            "crowd": np.full(len(best), log(max(self.units, _FEW) / _USUAL)),
        }
        if self.near is not None:
            unseen = columns["scale"][best] == 0
            features["cos_own"] = np.where(unseen, np.nan, self.near.own[best])
            features["around"] = self._around(self.near.sums, earlier, later)
            features["cos_window"] = np.where(unseen, np.nan, windows(self.partition, self.near, self.seen, best))
        for name, values in features.items():
            table[:, _PLACES[name]] = values
        return table

    def _around(self, sums: Floats, earlier: NDArray[np.int32], later: NDArray[np.int32]) -> Floats:
        """The mean over the units two to five steps before and after."""
        steps = []
        for rows, links in ((earlier, self.seen.before), (later, self.seen.after)):
            steps.append(rows)
            for _ in range(3):
                rows = self._at(links, rows, self.seen.rows)
                steps.append(rows)
        total: Floats = self._at(sums, np.array(steps)).sum(axis=0)
        return total / np.float32(len(steps))

    def _dated(self, created: NDArray[np.float64]) -> tuple[Floats, Floats]:
        return dated(self.query.days, created, zone(self.query.zone))

    def _at(self, values: NDArray[np.generic], rows: NDArray[np.int32], default: int = 0) -> NDArray[np.int32]:
        """`values` of these rows; `default` where there is no such row."""
        return np.where(rows < self.seen.rows, values.take(rows, mode="clip"), default)
