"""Columns: the coefficient tables of a relevance model, and which of them scores which candidate.

The rule that chooses the column of a candidate belongs to `search/relevance.py`. It is called here, not repeated.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.evaluate.fit.lists import Candidates, take_rows
from germane.ports.embedder import STATIC_EMBEDDERS
from germane.search.need import NEED_COLUMNS
from germane.search.products import COEFFICIENTS
from germane.search.relevance import Relevance
from germane.types.evidence import FEATURES, REASONS

__all__ = [
    "BESIDES",
    "COEFFICIENTS",
    "JUDGED",
    "NEED_COLUMNS",
    "ColumnPart",
    "ModelColumns",
    "Tables",
    "model_tables",
    "shipped_tables",
]

Tables = Mapping[str, Mapping[str, float]]
"""A model's file: name of a column → name of a feature, or of a product of two → coefficient. `BESIDES` names the
tables that are no columns of the relevance model: `reasons` holds the probabilities of candidates that are found for another
reason than likeness, `need` and `need_lexical` hold the model of P(need)."""

JUDGED = ("crowd", "identifier", "curated", "assistant", *REASONS)
"""Features whose weights are set by hand. A fit leaves them as they are."""

BESIDES = ("reasons", *NEED_COLUMNS)


def shipped_tables(embedder: str = "distilled") -> Tables:
    """The model that comes with germane for the embedder of this name."""
    name = "relevance.toml" if embedder in STATIC_EMBEDDERS else "relevance_contextual.toml"
    return model_tables(tomllib.loads(files("germane.search").joinpath(name).read_text("utf-8")))


def model_tables(document: Mapping[str, object]) -> Tables:
    """The tables of numbers in a model's file; its `[provenance]` is left out."""
    return {
        name: {key: float(value) for key, value in table.items()}
        for name, table in document.items()
        if isinstance(table, Mapping) and all(isinstance(value, int | float) for value in table.values())
    }


class ColumnPart(NamedTuple):
    """The rows of list number `whole` that one column scores, and their candidates."""

    whole: int
    rows: NDArray[np.intp]
    candidates: Candidates


class ModelColumns:
    """The columns of one model, by name; `names` fixes their order."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.names = tuple(name for name in tables if name not in BESIDES)
        self._which = Relevance.parse({name: {"intercept": float(number)} for number, name in enumerate(self.names)})

    @property
    def relevance(self) -> Relevance:
        return Relevance.parse(self.tables)

    def of(self, table: NDArray[np.float64]) -> NDArray[np.intp]:
        """The column of each row of `table`, shape (rows, features), as an index into `names`, shape (rows,)."""
        # Each column of `_which` is only an intercept: its own number. So the log-odds of a row name its column.
        return np.rint(self._which.log_odds(_without_reasons(table))).astype(np.intp)

    def split(self, lists: Sequence[Candidates]) -> dict[str, list[ColumnPart]]:
        """The candidates of each column. A list whose candidates belong to several columns is divided between them; columns
        without candidates are left out."""
        found: dict[str, list[ColumnPart]] = {name: [] for name in self.names}
        for number, candidates in enumerate(lists):
            column = self.of(candidates.table)
            for chosen in np.unique(column).tolist():
                rows = np.flatnonzero(column == chosen)
                part = candidates if len(rows) == len(candidates) else take_rows(candidates, rows)
                found[self.names[chosen]].append(ColumnPart(number, rows, part))
        return {name: parts for name, parts in found.items() if parts}

    def weights(self, column: str) -> NDArray[np.float64]:
        """The weights of a column, in the order of `COEFFICIENTS`."""
        return np.array([self.tables[column].get(name, 0.0) for name in COEFFICIENTS])


def _without_reasons(table: NDArray[np.float64]) -> NDArray[np.float64]:
    plain = table.copy()
    plain[:, [FEATURES.index(name) for name in REASONS]] = 0.0
    return plain
