"""Worth: how probable it is that a clause of a person's own words is a standing instruction, says something lasting, or says
what matters.

Three logistic regressions over the clause's cues, its shape and its words; each in two passes, as a clause says more beside one
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

from germane.profile.telling_words import EVIDENCE, MODELS, WordWeights, word_evidence, word_tokens
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
_OPENS = ("i", "mine", "you", "always", "never", "please", "case", "asking", "answering", "empty")
"""Kinds for which it matters that the first word is one."""
_PAIRS = (
    *(("never", "shape"), ("always", "you"), ("never", "you"), ("case", "i"), ("never", "answering"), ("shape", "answering")),
    *(("please", "always"), ("always", "answering"), ("always", "shape"), ("case", "you"), ("i", "change"), ("i", "never")),
    *(("mine", "people"), ("i", "body"), ("people", "body"), ("people", "taste"), ("never", "taste"), ("shape", "limit")),
    *(("you", "shape"), ("mine", "life"), ("i", "life"), ("i", "taste"), ("mine", "change"), ("please", "shape")),
    *(("please", "never"), ("never", "limit"), ("please", "limit"), ("always", "case"), ("never", "case"), ("always", "never")),
)
_SHAPE = ("number", "names", "question", "exclaims", "words", "words_squared", "ends_in_colon", "clauses", "share")
FEATURES = (
    *KINDS,
    *(f"much:{kind}" for kind in KINDS),
    *(f"opens:{kind}" for kind in _OPENS),
    *(f"{one}:{other}" for one, other in _PAIRS),
    *_SHAPE,
    *EVIDENCE,
)
"""Each kind as 0 or 1; `much:` its words over half of all, at most 1; `opens:` that the first word is of the kind; pairs of
kinds; and the clause's shape: a number in it, names (0 to 3), ends in a question mark, has an exclamation mark, ln(1 + words)
and its square, whether it ends in a colon, ln(1 + the message's clauses), and its share of the message's characters; and what
its words say (`telling_words.py`). Its place in the message is none: it would tell how the sample was written."""
NEIGHBOURS = ("before", "behind")
_INDEX = {kind: index for index, kind in enumerate(KINDS)}
_NAME = re.compile(r"(?<=[\w,;:)'’\"”] )[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]\w")
_DIGIT = re.compile(r"\d")
_FAR = -4.0
"""The log-odds of a neighbour that there isn't."""


class ClauseWorth(NamedTuple):
    """The probabilities that a clause is a standing instruction; that it says something about the person that may be asked for
    later; and that this matters for other requests, though they don't ask for it: an allergy, a budget, working nights."""

    rule: float
    lasting: float
    matters: float


class _Model(NamedTuple):
    alone: Floats
    beside: Floats
    """Coefficients of the first pass and of the second; the last one is the intercept."""


def judge_clauses(text: str, spans: Sequence[Span]) -> list[ClauseWorth]:
    """Judges each clause of a message. Linear."""
    if not spans:
        return []
    table = clause_features(text, spans)
    odds = (_log_odds(model, table) for model in _models())
    return [ClauseWorth(*map(_probability, row)) for row in zip(*odds, strict=True)]


def clause_features(text: str, spans: Sequence[Span], weights: WordWeights | None = None) -> Floats:
    """Returns the features of the clauses, shape (len(spans), len(FEATURES)). `weights` of words; default: the shipped ones."""
    message = log1p(len(spans)), max(1, len(text))
    return np.array([_features(text[slice(*span)], *message, weights) for span in spans], np.float64)


def with_neighbours(table: Floats, odds: Floats) -> Floats:
    """Returns the table with the log-odds of the clauses before and behind, for the second pass."""
    before, behind = np.concatenate(([_FAR], odds[:-1])), np.concatenate((odds[1:], [_FAR]))
    return np.column_stack((table, before, behind))


def has_number(clause: str) -> bool:
    return _DIGIT.search(clause) is not None


def names_in(clause: str) -> int:
    """Returns how many capitalised words stand inside the clause, at most 3."""
    return min(3, len(_NAME.findall(clause)))


def _log_odds(model: _Model, table: Floats) -> list[float]:
    alone = np.clip(table @ model.alone[:-1] + model.alone[-1], -8, 8)
    beside = with_neighbours(table, alone)
    odds: list[float] = (beside @ model.beside[:-1] + model.beside[-1]).tolist()
    return odds


def _probability(odds: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))


def _features(clause: str, clauses: float, size_of_all: int, weights: WordWeights | None) -> list[float]:
    cues = read_cues(clause)
    has = [float(number > 0) for number in cues.counts]
    size = max(1, cues.words)
    return [
        *has,
        *(min(1.0, 2.0 * number / size) for number in cues.counts),
        *(float(_INDEX[kind] in cues.first) for kind in _OPENS),
        *(has[_INDEX[one]] * has[_INDEX[other]] for one, other in _PAIRS),
        *_shape(clause, log1p(size)),
        clauses,
        len(clause) / size_of_all,
        *word_evidence(word_tokens(clause), weights),
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
