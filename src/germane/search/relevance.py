"""Relevance: the model that turns evidence into P(relevant | evidence), comparable across sources (SCORE-2).

It is a logistic regression, P = σ(intercept + w · x), over features and products of two features (`products.py`), with four
columns of coefficients: for conversations between people and for those with an assistant, each with vectors and without. The
coefficients are data (`relevance.toml`) that say on which data they were fitted. An item may also be relevant for a reason
other than its likeness to the query: it was asked for by key, said in this session, lately or on the day asked about, or is a
line of the outline that an overview asks for. Each reason has a probability of its own, and all are combined by noisy-or: 1 −
Π (1 − p).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.search.need import NEED_COLUMNS, NeedModel
from germane.search.products import COEFFICIENTS, design
from germane.search.sigmoid import sigmoid
from germane.types.evidence import FEATURES, REASONS, Evidence

__all__ = ["Relevance", "matrix", "shipped"]

_COLUMNS = ("people", "people_lexical", "assistant", "assistant_lexical")
_KINDS = len(_COLUMNS) // 2
_OWN, _COS_OWN, _COS_WINDOW, _SOFT, _LENGTH, _ASSISTANT = (
    FEATURES.index(name) for name in ("own", "cos_own", "cos_window", "soft", "length", "assistant")
)
_BESIDES = [FEATURES.index(name) for name in REASONS]


@dataclass(frozen=True, slots=True)
class Relevance:
    """The model's coefficients.

    `weights`, shape (4, len(COEFFICIENTS)), has a row for each column of the model (people, people_lexical, assistant,
    assistant_lexical); `intercepts` has shape (4,). `reasons`, shape (5,), holds the probability that each reason
    (structured, history, recent, day_asked, outline) gives at full strength. `need` tells whether anything of what was
    found is needed at all.
    """

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    reasons: NDArray[np.float64]
    need: NeedModel

    @classmethod
    def parse(cls, table: Mapping[str, Mapping[str, float]]) -> Relevance:
        """Reads the model from TOML tables, one for each column of the model; without a table `need`, P(need) is the shipped
        model's. Raises `InvalidInput` for a missing column, an unknown feature or reason, and a reason outside [0, 1]."""
        weights, intercepts = np.zeros((len(_COLUMNS), len(COEFFICIENTS))), np.zeros(len(_COLUMNS))
        for row, column in enumerate(_COLUMNS):
            if column not in table:
                raise InvalidInput(f"relevance model: the column {column!r} is missing")
            entries = dict(table[column])
            intercepts[row] = entries.pop("intercept", 0.0)
            for feature, weight in entries.items():
                if feature not in COEFFICIENTS:
                    raise InvalidInput(f"relevance model: {column} names the unknown feature {feature!r}")
                weights[row, COEFFICIENTS.index(feature)] = weight
        reasons = table.get("reasons", {})
        for reason, probability in reasons.items():
            if reason not in REASONS or not 0 <= probability <= 1:
                raise InvalidInput(f"relevance model: {reason!r} = {probability} isn't one of {', '.join(REASONS)} in [0, 1]")
        need = NeedModel.parse(table) if NEED_COLUMNS[0] in table else shipped().need
        return cls(weights, intercepts, np.array([reasons.get(name, 0.0) for name in REASONS]), need)

    def log_odds(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the log-odds of relevance, shape (len(table),); P is their σ. `table` has one row for each item, in the form
        that `matrix` returns."""
        missing = np.isnan(table)
        row = np.where(table[:, _ASSISTANT] > 0, _KINDS, 0) + missing[:, _COS_WINDOW]
        terms = design(_complete(table, missing))
        likeness: NDArray[np.float64] = np.einsum("nc,nc->n", terms, self.weights[row]) + self.intercepts[row]
        reasons = table[:, _BESIDES]
        if not reasons.any():
            return likeness
        besides = 1 - np.prod(1 - reasons**2 * self.reasons, axis=1)
        alike = sigmoid(likeness)
        neither = np.maximum((1 - alike) * (1 - besides), 1e-12)
        odds: NDArray[np.float64] = np.where(besides > 0, np.log(alike + (1 - alike) * besides) - np.log(neither), likeness)
        return odds


def _complete(table: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Fills in missing features with neutral values: 0 for a cosine; for `soft` the value that a regression on BM25, length and
    cosine predicts (it explains 83 % of the variance)."""
    filled = np.where(missing, 0.0, table)
    unread = np.flatnonzero(missing[:, _SOFT])
    if len(unread):
        cosine = np.where(missing[unread, _COS_OWN], 0.2, table[unread, _COS_OWN])
        guess = 0.09 + 0.65 * filled[unread, _OWN] + 0.057 * filled[unread, _LENGTH] + 0.15 * cosine
        filled[unread, _SOFT] = np.clip(guess, 0.0, 1.0)
    return filled


def matrix(evidence: Sequence[Evidence]) -> NDArray[np.float64]:
    """Returns the evidence as a table, shape (len(evidence), len(FEATURES)); a missing feature is NaN."""
    values = np.fromiter(chain.from_iterable(evidence), np.float64, len(evidence) * len(FEATURES))
    return values.reshape(len(evidence), len(FEATURES))


@cache
def shipped(*, contextual: bool = False) -> Relevance:
    """Returns the model that comes with germane. The default one was fitted with the default embedder. The `contextual` one was
    fitted with MiniLM, for embedders that read a text as a whole, whose cosines are distributed alike."""
    name = "relevance_contextual.toml" if contextual else "relevance.toml"
    text = files("germane.search").joinpath(name).read_text("utf-8")
    table = {name: part for name, part in tomllib.loads(text).items() if name in (*_COLUMNS, "reasons", *NEED_COLUMNS)}
    return Relevance.parse(table)
