"""Fitting: fits the columns of the relevance model to candidate lists, compares them with the old model; its tables.

The weights of a column are fitted by a listwise loss, which orders candidates; slope and intercept are then fitted to the
scores of held-out conversations. Weights set by hand (`JUDGED`) stay as they are, and so do the weights of features that
never differ between the candidates of a question; both enter as a fixed addition to the log-odds.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.ports.models import STATIC_EMBEDDERS
from germane.search.relevance import COEFFICIENTS, Relevance, design, neighbours
from germane.search.relevance import NEED_COLUMNS as NEED_COLUMNS
from germane.settings.settings import read_toml
from germane.types.evidence import FEATURES, REASONS
from germane_eval.fit.candidates import NEIGHBOURS, Candidates, folds, neighbour_rows, rescore, take_rows
from germane_eval.fit.loss import Calibration, Problem, Reliability, calibrate, logistic, minimise, reliability, softmax

Floats = NDArray[np.float64]
Loss = Literal["softmax", "logistic"]
_TERMS = FEATURES.index("terms")
_PASSES = 2
"""Fits with `neighbours`, each by the probabilities of the fit before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a fit."""

    loss: Loss = "softmax"
    l2: float = 10.0
    """Penalty on the distance of each standardised weight from its start."""
    folds: int | None = None
    """Number of cross-validation folds; None makes one fold of each conversation."""
    keep: bool = False
    """Start from the weights of the current model instead of zero."""
    without: frozenset[str] = frozenset()
    """Features to leave out: their weights become zero."""

    @classmethod
    def of(cls, *, loss: str, l2: float, folds: int | None, without: Iterable[str]) -> Options:
        """Options from a user's input. Raises `InvalidInput` for an unknown loss or feature."""
        chosen: dict[str, Loss] = {"softmax": "softmax", "logistic": "logistic"}
        if loss not in chosen:
            raise InvalidInput(f"loss must be softmax or logistic, not {loss[:40]!r}")
        if strangers := sorted(set(without) - set(COEFFICIENTS)):
            raise InvalidInput(f"there is no feature {strangers[0]!r} to leave out: there are {', '.join(COEFFICIENTS)}")
        return cls(loss=chosen[loss], l2=l2, folds=folds, without=frozenset(without))


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A fitted column of the model."""

    weights: Floats
    """Shape (coefficients,), in the order of `COEFFICIENTS`; the slope of the calibration is multiplied in."""
    intercept: float
    fitted: tuple[str, ...]
    """Names of the features whose weights were fitted."""
    calibration: Calibration
    held_out: Sequence[Floats]
    """Calibrated log-odds of the candidates of each list, by the fold that wasn't fitted on it."""


def fit_column(lists: Sequence[Candidates], start: Floats, options: Options, step: Callable[[], None] = lambda: None) -> Column:
    """Fits a column to `lists`, of which at least one has a relevant candidate. `start` are the current weights, shape
    (coefficients,); `step` is called after each fold and after the final fit.

    The feature `neighbours` comes from the model itself. Each fold therefore fits weights without it, computes it from these
    weights' probabilities, and fits again, twice: as in a search, the first pass has the same weights, with `neighbours` = 0.

    With a single conversation nothing can be held out: the calibration then uses the fitted data, and its probabilities are too
    confident.
    """
    tables = [_plain(one) for one in lists]
    relevant = [one.relevant for one in lists]
    links = [neighbour_rows(one) for one in lists]
    free = _free(tables, links, options)
    beside = np.where(np.isin(COEFFICIENTS, [*free, *options.without, "terms"]), 0.0, start)
    judged = [table @ beside for table in tables]
    where = np.array([COEFFICIENTS.index(name) for name in free], np.intp)
    centre = start[where] if options.keep else np.zeros(len(where))

    def completed(i: int, model: _FirstPass) -> Floats:
        table = tables[i].copy()
        odds = model.calibration.log_odds(table @ model.weights, table[:, _TERMS])
        table[:, NEIGHBOURS] = neighbours(links[i], odds + judged[i])
        return table

    def fitted(chosen: Sequence[int]) -> _FirstPass:
        labels, offset = [relevant[i] for i in chosen], np.concatenate([judged[i] for i in chosen])
        known, model = [tables[i] for i in chosen], _FirstPass(np.zeros(len(COEFFICIENTS)), Calibration())
        for _ in range(1 + _PASSES * ("neighbours" in free)):
            weights = np.zeros(len(COEFFICIENTS))
            weights[where] = _weights(known, labels, where, centre, model.weights[where], options)
            scores, shared = (np.concatenate(parts) for parts in ([t @ weights for t in known], [t[:, _TERMS] for t in known]))
            model = _FirstPass(weights, calibrate(scores, np.concatenate(labels), offset, shared=shared))
            known = [completed(i, model) for i in chosen]
        step()
        return model

    scores: list[Floats] = [np.empty(0)] * len(lists)
    for learnt, held in folds(lists, options.folds):
        model = fitted(learnt.tolist())
        for i in held.tolist():
            scores[i] = completed(i, model) @ model.weights
    model = fitted(range(len(lists)))
    weights = model.weights
    if any(len(score) != len(one) for score, one in zip(scores, lists, strict=True)):
        scores = [completed(i, model) @ weights for i in range(len(lists))]
    terms = [table[:, _TERMS] for table in tables]
    calibration = calibrate(
        np.concatenate(scores), np.concatenate(relevant), np.concatenate(judged), shared=np.concatenate(terms)
    )
    beside = beside + np.where(np.arange(len(COEFFICIENTS)) == _TERMS, calibration.weight, 0.0)
    return Column(
        weights=weights * calibration.slope + beside,
        intercept=calibration.intercept,
        fitted=tuple(free),
        calibration=calibration,
        held_out=[
            calibration.log_odds(score, shared) + more for score, shared, more in zip(scores, terms, judged, strict=True)
        ],
    )


class _FirstPass(NamedTuple):
    """Weights, and how their scores become probabilities."""

    weights: Floats
    calibration: Calibration


def _plain(one: Candidates) -> Floats:
    """Features and products of a list's candidates, with `neighbours` = 0."""
    table = np.nan_to_num(one.table)
    table[:, NEIGHBOURS] = 0.0
    return design(table)


def _free(tables: Sequence[Floats], links: Sequence[NDArray[np.intp]], options: Options) -> list[str]:
    """The coefficients to fit: of what differs between the candidates of at least one list."""
    tells = np.any([np.ptp(table, axis=0) > 1e-9 for table in tables if len(table)], axis=0)
    tells[NEIGHBOURS] = any((one >= 0).any() for one in links)
    kept = {*JUDGED, *options.without}
    return [name for name, varies in zip(COEFFICIENTS, tells.tolist(), strict=True) if varies and name not in kept]


def _weights(
    tables: Sequence[Floats],
    relevant: Sequence[NDArray[np.bool_]],
    where: NDArray[np.intp],
    centre: Floats,
    begin: Floats,
    options: Options,
) -> Floats:
    """Fitted weights of the coefficients `where`, shape (len(where),), searched from `begin`. Lists without a relevant
    candidate teach no order and are left out."""
    useful = [i for i, one in enumerate(relevant) if one.any()]
    if not useful:
        return centre
    rows = np.concatenate([tables[i] for i in useful])
    counts = np.array([len(tables[i]) for i in useful], np.intp)
    features = rows[:, where]
    middle, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread < 1e-9] = 1.0
    features = (features - middle) / spread
    labels = np.concatenate([relevant[i] for i in useful])
    start, first, stiffness = centre * spread, begin * spread, np.full(len(where), options.l2)
    if options.loss == "logistic":
        features = np.column_stack((features, np.ones(len(features))))
        start, first, stiffness = np.append(start, -5.0), np.append(first, -5.0), np.append(stiffness, 1e-6)
    problem = Problem(
        features=features,
        relevant=labels,
        starts=np.cumsum(counts) - counts,
        offset=np.zeros(len(features)),
        centre=start,
        stiffness=stiffness,
    )
    found = minimise((softmax if options.loss == "softmax" else logistic)(problem), first, tolerance=1e-8)
    weights: Floats = found[: len(where)] / spread
    return weights


# Fits all columns of the relevance model, and compares them on held-out conversations with the old model.


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One column: numbers of questions and conversations it was fitted on, and the reliability of its probabilities on held-out
    conversations by the old model (`before`) and by the new one (`after`)."""

    questions: int
    conversations: int
    before: Reliability
    after: Reliability


@dataclass(frozen=True, slots=True, kw_only=True)
class Refit:
    """A new model beside the old one."""

    tables: Tables
    """The whole new model; columns without data are those of the old one."""
    columns: Mapping[str, Column]
    """The fitted columns, by name."""
    judged: Mapping[str, Judged]
    """Reliability of the fitted columns, by name."""
    before: Sequence[Floats]
    """Log-odds of each list's candidates by the old model."""
    after: Sequence[Floats]
    """Log-odds of each list's candidates by the new model, held out."""


def refit(lists: Sequence[Candidates], old: Tables, options: Options, step: Callable[[], None] = lambda: None) -> Refit:
    """Fits every column of the model that scores a relevant candidate; the others stay as in `old`. `step` is called after each
    fold. Raises `InvalidInput` where no list has a relevant candidate."""
    lists = [one for one in lists if one.needed]
    columns = ModelColumns(old)
    relevance = columns.relevance
    before = [relevance.log_odds(rescore(one, relevance).table) for one in lists]
    after = [odds.copy() for odds in before]
    tables: dict[str, dict[str, float]] = {name: dict(table) for name, table in old.items()}
    fitted: dict[str, Column] = {}
    judged: dict[str, Judged] = {}
    for name, parts in columns.split(lists).items():
        chosen = [part.candidates for part in parts]
        if not any(one.relevant.any() for one in chosen):
            continue
        column = fitted[name] = fit_column(chosen, columns.weights(name), options, step)
        for part, odds in zip(parts, column.held_out, strict=True):
            after[part.whole][part.rows] = odds
        tables[name] = {"intercept": column.intercept} | {
            feature: weight for feature, weight in zip(COEFFICIENTS, column.weights.tolist(), strict=True) if weight
        }
        relevant = np.concatenate([one.relevant for one in chosen])
        judged[name] = Judged(
            questions=len({part.whole for part in parts}),
            conversations=len({(one.dataset, one.conversation) for one in chosen}),
            before=reliability(np.concatenate([before[part.whole][part.rows] for part in parts]), relevant),
            after=reliability(np.concatenate(column.held_out), relevant),
        )
    if not fitted:
        raise InvalidInput("no candidate of any question is relevant: there is nothing to fit to")
    return Refit(tables=tables, columns=fitted, judged=judged, before=before, after=after)


# The coefficient tables of a relevance model, and which of them scores which candidate. The rule that chooses the
# column of a candidate belongs to `search/relevance.py`. It is called here, not repeated.


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


# Reads and writes the TOML file of a relevance model, which `search/relevance.py` uses.


_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_INTRODUCTION = (
    "The relevance model: P(relevant | evidence) = sigmoid(intercept + w . evidence), one table a column of the model.",
    "Written by `germane eval fit`; docs/research/relevance.md says how it was fitted and how to fit it anew.",
)


def load_tables(path: Path) -> Tables:
    """The coefficients in a model's file, by column. Raises `InvalidInput` where the file can't be read or has none."""
    tables = model_tables(read_toml(path, "relevance model"))
    if not tables:
        raise InvalidInput(f"relevance model {path}: no table of coefficients in it")
    return tables


def model_toml(tables: Tables, provenance: Mapping[str, Any], at: datetime, notes: Sequence[str] = ()) -> str:
    """The model's file as TOML: comments, `[provenance]`, and each table with coefficients rounded to four decimals. Readers
    take the tables that hold only numbers and skip the others."""
    lines = [f"# {line}" for line in (*_INTRODUCTION, *notes)]
    lines += ["", "[provenance]", f"fitted = {at.date().isoformat()}"]
    lines += [f"{_key(name)} = {_value(value)}" for name, value in provenance.items()]
    for name, table in tables.items():
        lines += ["", f"[{_key(name)}]", *(f"{_key(key)} = {_number(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    text = f"{value:.4f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value) if isinstance(value, int) else f"{value:g}" if value % 1 else f"{value:.1f}"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(key))} = {_value(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(str(value), ensure_ascii=False)
