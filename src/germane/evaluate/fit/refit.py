"""Refit: fits all columns of the relevance model, and compares them on held-out conversations with the old model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.evaluate.fit.columns import ModelColumns, Tables
from germane.evaluate.fit.fitting import Column, Options, fit_column
from germane.evaluate.fit.lists import Candidates
from germane.evaluate.fit.reliability import Reliability, reliability
from germane.evaluate.fit.two_pass import rescored
from germane.search.products import COEFFICIENTS

__all__ = ["Judged", "Refit", "refit"]

Floats = NDArray[np.float64]


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
    before = [relevance.log_odds(rescored(one, relevance).table) for one in lists]
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
