"""Telling words: what the words of a clause say about whether it is a standing instruction, lasts, or matters.

A word counts by itself, by its first five letters and with the word before it; of scripts without spaces one to three
characters do. Each of these has a weight for each model: the logarithm of how much more often it stands in clauses of which
the model says yes, shrunk towards 0 where it is rare (naive Bayes). The weights are data (`telling_words.tsv`), and say on what
they were counted. What stands in no list says nothing: the cues (`text/cues.py`) know kinds of words in all languages alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from math import sqrt

from germane.text.cues import lower_words

__all__ = ["EVIDENCE", "MODELS", "SCALE", "WordWeights", "word_evidence", "word_tokens"]

MODELS = ("rule", "lasting", "matters")
EVIDENCE = tuple(f"{part}:{model}" for model in MODELS for part in ("words", "most", "least"))
"""For each model the sum of the weights over the square root of their number and one, the highest of them, at least 0, and the
lowest, at most 0."""
SCALE = 20
"""Weights are stored as whole numbers, so many times as great."""
_BEGINNING = 5
_LONGEST = 3
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")

WordWeights = Mapping[str, tuple[float, ...]]
"""The weights of a token, one for each of `MODELS`."""


def word_tokens(clause: str) -> set[str]:
    """Returns what a clause is judged by: its words, their beginnings (`begin*`), and pairs (`one_other`), also with the
    clause's begin (`^`) and end (`$`). Linear."""
    words = lower_words(clause)
    found = {*words, *(f"{one}_{other}" for one, other in zip(("^", *words), (*words, "$"), strict=True))}
    found.update(f"{word[:_BEGINNING]}*" for word in words if len(word) > _BEGINNING)
    if not clause.isascii():
        for run in _UNSPACED.findall(clause):
            found.update(run[at : at + size] for size in range(1, _LONGEST + 1) for at in range(len(run) - size + 1))
    return found


def word_evidence(tokens: Collection[str], weights: WordWeights | None = None) -> list[float]:
    """Returns the features of a clause with these tokens, in the order of `EVIDENCE`. Default: the shipped weights."""
    table = _shipped() if weights is None else weights
    known = [row for token in tokens if (row := table.get(token)) is not None]
    if not known:
        return [0.0] * len(EVIDENCE)
    root, features = sqrt(1 + len(known)), list[float]()
    for column in zip(*known, strict=True):
        features += (sum(column) / root, max(0.0, *column), min(0.0, *column))
    return features


@cache
def _shipped() -> WordWeights:
    lines = files("germane.profile").joinpath("telling_words.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {token: tuple(int(weight) / SCALE for weight in weights) for token, *weights in rows}
