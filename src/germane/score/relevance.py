"""Relevance: typed evidence to P(relevant | evidence), one number that means the same for every source (SCORE-2).

A logistic model, P = σ(intercept + w · x), with a column of coefficients for conversations between people and one for those
with an assistant, each once with vectors and once without. The coefficients are data (`relevance.toml`) and carry where
they were fitted. `reasons` other than likeness (asked for by key, said in this session, recent) add log-odds of their own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.evidence import FEATURES, Evidence

__all__ = ["Relevance", "shipped"]

_COLUMNS = ("people", "people_lexical", "assistant", "assistant_lexical")
_KINDS = len(_COLUMNS) // 2


@dataclass(frozen=True, slots=True)
class Relevance:
    """`weights` has a row a column of the model (people, people_lexical, assistant, assistant_lexical) and a column a
    feature of `Evidence`; `intercepts` one a row."""

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]

    @classmethod
    def parse(cls, table: Mapping[str, Mapping[str, float]]) -> Relevance:
        """From TOML's tables, one a column. Raises `InvalidInput` for a missing column or an unknown feature."""
        weights, intercepts = np.zeros((len(_COLUMNS), len(FEATURES))), np.zeros(len(_COLUMNS))
        for row, column in enumerate(_COLUMNS):
            if column not in table:
                raise InvalidInput(f"relevance model: the column {column!r} is missing")
            entries = dict(table[column])
            intercepts[row] = entries.pop("intercept", 0.0)
            for feature, weight in entries.items():
                if feature not in FEATURES:
                    raise InvalidInput(f"relevance model: {column} names the unknown feature {feature!r}")
                weights[row, FEATURES.index(feature)] = weight
        return cls(weights, intercepts)

    def log_odds(self, evidence: Sequence[Evidence]) -> NDArray[np.float64]:
        """Shape (len(evidence),); P is σ of it."""
        table = matrix(evidence)
        dense = ~np.isnan(table[:, FEATURES.index("cos_window")])
        row = np.where(table[:, FEATURES.index("assistant")] > 0, _KINDS, 0) + np.where(dense, 0, 1)
        odds: NDArray[np.float64] = (np.nan_to_num(table) * self.weights[row]).sum(axis=1) + self.intercepts[row]
        return odds


def matrix(evidence: Sequence[Evidence]) -> NDArray[np.float64]:
    """Shape (len(evidence), len(FEATURES)); a missing cosine is NaN."""
    rows = [[getattr(one, name) for name in FEATURES] for one in evidence]
    return np.array(rows, dtype=np.float64).reshape(len(evidence), len(FEATURES))


@cache
def shipped() -> Relevance:
    """The coefficients that come with germane."""
    text = files("germane.score").joinpath("relevance.toml").read_text("utf-8")
    table = {name: part for name, part in tomllib.loads(text).items() if name in _COLUMNS}
    return Relevance.parse(table)
