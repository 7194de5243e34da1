"""Need: the model of P(need), the probability that anything stored helps with a request (NEED-1).

It is a logistic regression over what the search found and over the request itself, with two columns of coefficients: with
vectors and without. At least it is the probability of the best item: P(need) = 1 − (1 − σ(w · x)) · (1 − P(best)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.search.sigmoid import sigmoid
from germane.types.evidence import FEATURES
from germane.types.query import Query

__all__ = ["NEED_BEST", "NEED_COLUMNS", "NEED_FEATURES", "NEED_ROWS", "Asked", "NeedModel", "need_features"]

Floats = NDArray[np.float64]

NEED_COLUMNS = ("need", "need_lexical")
NEED_ROWS = 50
"""The best candidates that are looked at."""
NEED_BEST = 10
"""Candidates over which the best value of a feature is taken."""
_OF_THE_BEST = ("own", "window", "session", "soft", "cos_own", "cos_window", "speaker")
NEED_FEATURES = ("best", "total", "gap", "assistant", "terms", "long", "question", "personal", *_OF_THE_BEST)
"""`best` is the log-odds of the best candidate, `total` ln Σ P over the best 50, `gap` the log-odds between the best and the
tenth. `assistant` says that the best was said in a chat with an assistant. `terms` is ln(1 + content words of the request), and
`long` ln(1 + words) above 3.5, of requests that bring their own text; `question` says that it asks something, `personal` that
it speaks of the user's own affairs. The others are the highest values among the best ten."""
_COLUMNS = [FEATURES.index(name) for name in _OF_THE_BEST]
_ASSISTANT, _COS_WINDOW = FEATURES.index("assistant"), FEATURES.index("cos_window")
_LONG = 3.5


class Asked(NamedTuple):
    """What the model looks at of the request itself: its content words, all its words, whether it asks something, and whether
    it is personal."""

    terms: int
    words: int
    asks: bool
    personal: bool

    @classmethod
    def of(cls, query: Query) -> Asked:
        """What the question itself says; terms borrowed from the turns before don't count."""
        return cls(len(query.terms) - query.borrowed, query.words, query.question, query.personal)


def need_features(table: Floats, odds: Floats, asked: Asked) -> Floats:
    """Returns the features of one request, shape (len(NEED_FEATURES),). `table` and `odds` are evidence and log-odds of at
    least one candidate, the best `NEED_ROWS` of them, best first; of those beyond the best `NEED_BEST` the log-odds do."""
    best = np.nan_to_num(table[:NEED_BEST])
    total = np.log(np.sum(sigmoid(odds)))
    gap = odds[0] - odds[min(NEED_BEST, len(odds)) - 1]
    request = (best[0, _ASSISTANT], log1p(asked.terms), max(0.0, log1p(asked.words) - _LONG), asked.asks, asked.personal)
    return np.array([odds[0], total, gap, *request, *best[:, _COLUMNS].max(axis=0)])


@dataclass(frozen=True, slots=True)
class NeedModel:
    """The coefficients: `weights` has shape (2, len(NEED_FEATURES)), `intercepts` shape (2,): with vectors, without."""

    weights: Floats
    intercepts: Floats

    @classmethod
    def parse(cls, tables: Mapping[str, Mapping[str, float]]) -> NeedModel:
        """Reads the tables `need` and `need_lexical`; the first stands for the second where that is missing. Raises
        `InvalidInput` for an unknown feature."""
        weights, intercepts = np.zeros((2, len(NEED_FEATURES))), np.zeros(2)
        for row, column in enumerate(NEED_COLUMNS):
            entries = dict(tables.get(column, tables["need"]))
            intercepts[row] = entries.pop("intercept", 0.0)
            if strangers := sorted(set(entries) - set(NEED_FEATURES)):
                raise InvalidInput(f"relevance model: {column} names the unknown feature {strangers[0]!r}")
            weights[row] = [entries.get(name, 0.0) for name in NEED_FEATURES]
        return cls(weights, intercepts)

    def probability(self, table: Floats, odds: Floats, asked: Asked) -> float:
        """Returns P(need), in [0, 1]; 0 where nothing was found. The arguments are those of `need_features`. Where only the
        log-odds are known of all that was found (`table` is empty), P(need) is the probability of the best."""
        if not len(odds):
            return 0.0
        if not len(table):
            return float(sigmoid(odds[:1])[0])
        column = int(bool(np.isnan(table[0, _COS_WINDOW])))
        features = need_features(table, odds, asked)
        score = float(np.clip(self.weights[column] @ features + self.intercepts[column], -60, 60))
        unlikely = 1 / (1 + np.exp(score)) * (1 / (1 + np.exp(np.clip(odds[0], -60, 60))))
        return float(1 - unlikely)
