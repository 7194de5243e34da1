"""Columns: which of the model's columns of coefficients a candidate is scored by, and what a model's file says of each.

The columns and the rule that chooses among them are the model's own (`search/relevance.py`): they are asked of it, not
written down a second time.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.lists import Candidates, part
from germane.search.relevance import Relevance
from germane.types.evidence import FEATURES

__all__ = ["JUDGED", "Columns", "Part", "Tables", "model_tables", "shipped_tables"]

Tables = Mapping[str, Mapping[str, float]]
"""A model's file: the coefficients of each column, and the reasons."""

JUDGED = ("crowd", "identifier", "curated", "structured", "history", "recent", "assistant")
"""Features whose weight is set by judgement, or that are no likeness at all: what is fitted stands beside them."""

_REASONS = "reasons"


def shipped_tables(*, contextual: bool = False) -> Tables:
    """The file that comes with germane, for the default embedder or for those that read a text as a whole."""
    name = "relevance_contextual.toml" if contextual else "relevance.toml"
    return model_tables(tomllib.loads(files("germane.search").joinpath(name).read_text("utf-8")))


def model_tables(document: Mapping[str, object]) -> Tables:
    """Without what a file says of its origin."""
    return {
        name: {key: float(value) for key, value in table.items()}
        for name, table in document.items()
        if isinstance(table, Mapping) and all(isinstance(value, int | float) for value in table.values())
    }


class Part(NamedTuple):
    """The rows of list number `whole` that one column scores."""

    whole: int
    rows: NDArray[np.intp]
    candidates: Candidates


class Columns:
    """The columns of one model, by name."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.names = tuple(name for name in tables if name != _REASONS)
        self._which = Relevance.parse({name: {"intercept": float(number)} for number, name in enumerate(self.names)})

    @property
    def relevance(self) -> Relevance:
        return Relevance.parse(self.tables)

    def of(self, table: NDArray[np.float64]) -> NDArray[np.intp]:
        """For each row the number of its column, as an index into `names`."""
        return np.rint(self._which.log_odds(_without_reasons(table))).astype(np.intp)

    def split(self, lists: Sequence[Candidates]) -> dict[str, list[Part]]:
        """What each column scores; a list whose candidates are of several columns gives each its part."""
        found: dict[str, list[Part]] = {name: [] for name in self.names}
        for number, one in enumerate(lists):
            column = self.of(one.table)
            for chosen in np.unique(column).tolist():
                rows = np.flatnonzero(column == chosen)
                found[self.names[chosen]].append(Part(number, rows, one if len(rows) == len(one) else part(one, rows)))
        return {name: parts for name, parts in found.items() if parts}

    def weights(self, column: str) -> NDArray[np.float64]:
        """In the order of `FEATURES`."""
        return np.array([self.tables[column].get(feature, 0.0) for feature in FEATURES])


def _without_reasons(table: NDArray[np.float64]) -> NDArray[np.float64]:
    plain = table.copy()
    plain[:, [FEATURES.index(name) for name in ("structured", "history", "recent")]] = 0.0
    return plain
