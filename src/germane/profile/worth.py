"""Worth: how probable it is that a clause of a person's own words demands something lasting, or says something lasting.

Two logistic regressions over the clause's cues, its shape and its place; each in two passes, as a clause says more beside one
that tells something: the second pass sees the log-odds of the clauses before and behind. The coefficients are data
(`worth.toml`), the same for all languages, and say on what they were fitted.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import exp, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.text.clauses import Span
from germane.text.cues import KINDS, read_cues

__all__ = [
    "FEATURES",
    "MODELS",
    "NEIGHBOURS",
    "ClauseWorth",
    "clause_features",
    "has_number",
    "judge_clauses",
    "names_in",
    "with_neighbours",
]

Floats = NDArray[np.float64]
MODELS = ("rule", "lasting")
_OPENS = ("i", "mine", "you", "always", "never", "please", "case", "asking", "answering", "empty")
"""Kinds for which it matters that the first word is one."""
_PAIRS = (
    *(("never", "shape"), ("always", "you"), ("never", "you"), ("case", "i"), ("never", "answering"), ("shape", "answering")),
    *(("please", "always"), ("always", "answering"), ("always", "shape"), ("case", "you"), ("i", "change"), ("i", "never")),
    *(("mine", "people"), ("i", "body"), ("people", "body"), ("people", "taste"), ("never", "taste"), ("shape", "limit")),
    *(("you", "shape"), ("mine", "life"), ("i", "life"), ("i", "taste"), ("mine", "change"), ("please", "shape")),
    *(("please", "never"), ("never", "limit"), ("please", "limit"), ("always", "case"), ("never", "case"), ("always", "never")),
)
_SHAPE = ("number", "names", "question", "exclaims", "words", "words_squared", "ends_in_colon")
FEATURES = (
    *KINDS,
    *(f"much:{kind}" for kind in KINDS),
    *(f"opens:{kind}" for kind in _OPENS),
    *(f"{one}:{other}" for one, other in _PAIRS),
    *_SHAPE,
)
"""Each kind as 0 or 1; `much:` its words over half of all, at most 1; `opens:` that the first word is of the kind; pairs of
kinds; and the clause's shape: a number in it, names (0 to 3), ends in a question mark, has an exclamation mark, ln(1 + words)
and its square, and whether it ends in a colon. Its place in the message is none: it would tell how the sample was written."""
NEIGHBOURS = ("before", "behind")
_INDEX = {kind: index for index, kind in enumerate(KINDS)}
_NAME = re.compile(r"(?<=[\w,;:)'’\"”] )[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]\w")
_DIGIT = re.compile(r"\d")
_FAR = -4.0
"""The log-odds of a neighbour that there isn't."""


class ClauseWorth(NamedTuple):
    """The probabilities that a clause is a standing instruction, and that it says something lasting."""

    rule: float
    lasting: float


class _Model(NamedTuple):
    alone: Floats
    beside: Floats
    """Coefficients of the first pass and of the second; the last one is the intercept."""


def judge_clauses(text: str, spans: Sequence[Span]) -> list[ClauseWorth]:
    """Judges each clause of a message. Linear."""
    if not spans:
        return []
    table = clause_features(text, spans)
    rule, lasting = (_log_odds(model, table, spans) for model in _models())
    return [ClauseWorth(_probability(one), _probability(other)) for one, other in zip(rule, lasting, strict=True)]


def clause_features(text: str, spans: Sequence[Span]) -> Floats:
    """Returns the features of the clauses, shape (len(spans), len(FEATURES))."""
    return np.array([_features(text[slice(*span)]) for span in spans], np.float64)


def with_neighbours(table: Floats, odds: Floats) -> Floats:
    """Returns the table with the log-odds of the clauses before and behind, for the second pass."""
    before, behind = np.concatenate(([_FAR], odds[:-1])), np.concatenate((odds[1:], [_FAR]))
    return np.column_stack((table, before, behind))


def has_number(clause: str) -> bool:
    return _DIGIT.search(clause) is not None


def names_in(clause: str) -> int:
    """Returns how many capitalised words stand inside the clause, at most 3."""
    return min(3, len(_NAME.findall(clause)))


def _log_odds(model: _Model, table: Floats, spans: Sequence[Span]) -> list[float]:
    alone = np.clip(table @ model.alone[:-1] + model.alone[-1], -8, 8)
    beside = with_neighbours(table, alone)
    odds: list[float] = (beside @ model.beside[:-1] + model.beside[-1]).tolist()
    return odds


def _probability(odds: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))


def _features(clause: str) -> list[float]:
    cues = read_cues(clause)
    has = [float(number > 0) for number in cues.counts]
    size = max(1, cues.words)
    return [
        *has,
        *(min(1.0, 2.0 * number / size) for number in cues.counts),
        *(float(_INDEX[kind] in cues.first) for kind in _OPENS),
        *(has[_INDEX[one]] * has[_INDEX[other]] for one, other in _PAIRS),
        *_shape(clause, log1p(size)),
    ]


def _shape(clause: str, words: float) -> tuple[float, ...]:
    exclaims = "!" in clause or "！" in clause
    asks, opens = clause.endswith(("?", "？")), clause.endswith((":", "："))
    return (
        float(has_number(clause)),
        float(names_in(clause)),
        float(asks),
        float(exclaims),
        words,
        words * words,
        float(opens),
    )


@cache
def _models() -> tuple[_Model, ...]:
    tables = tomllib.loads(files("germane.profile").joinpath("worth.toml").read_text("utf-8"))
    return tuple(_Model(_row(tables[name]["alone"]), _row(tables[name]["beside"], NEIGHBOURS)) for name in MODELS)


def _row(table: Mapping[str, float], also: Sequence[str] = ()) -> Floats:
    return np.array([*(table.get(name, 0.0) for name in (*FEATURES, *also)), table["intercept"]])
