"""Made lists: random candidate lists whose true weights are known, for tests of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from germane.types.evidence import FEATURES
from germane_eval.fit.candidates import Candidates

TRUE = {"window": 6.0, "cos_window": 4.0, "speaker": 1.5, "length": -0.8}
"""The weights by which a candidate becomes relevant here; all other features have none."""


def columns_of(**values: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A table of evidence with these features; the others are zero, and cosines that aren't given are missing."""
    many = max(np.size(value) for value in values.values())
    table = np.zeros((many, len(FEATURES)))
    table[:, [FEATURES.index("cos_own"), FEATURES.index("cos_window")]] = np.nan
    for name, value in values.items():
        table[:, FEATURES.index(name)] = value
    return table


def candidates(table: Any, relevant: Any, **given: Any) -> Candidates:
    """A list in which every candidate is a whole message of ten tokens, all under one header of five tokens."""
    many = len(relevant)
    defaults: dict[str, Any] = {
        "dataset": "made",
        "conversation": "c",
        "question": "q",
        "wanted": max(1, int(np.sum(relevant))),
        "units": many,
        "message": np.arange(many, dtype=np.int32),
        "share": np.ones(many),
        "cost": np.full(many, 10, np.int32),
        "group": np.zeros(many, np.int32),
        "header": np.full(many, 5, np.int32),
        "session": np.full(many, -1),
        "position": np.zeros(many, np.int64),
        "created": np.zeros(many),
        "at": 0.0,
    }
    return Candidates(table=np.asarray(table, float), relevant=np.asarray(relevant, bool), **(defaults | given))


def made(
    questions: int = 60, many: int = 40, *, conversations: int = 4, seed: int = 1, assistant: float = 0.0
) -> list[Candidates]:
    """Random lists. One candidate of each is relevant, drawn by the softmax of the true weights."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(questions):
        evidence: dict[str, Any] = {
            "window": random.random(many),
            "cos_window": random.normal(0.2, 0.2, many),
            "cos_own": random.normal(0.2, 0.2, many),
            "speaker": (random.random(many) < 0.5).astype(float),
            "length": random.normal(0, 1, many),
            "assistant": assistant,
        }
        scores = np.sum([weight * evidence[name] for name, weight in TRUE.items()], axis=0)
        odds = np.exp(scores - np.max(scores))
        relevant = np.arange(many) == random.choice(many, p=odds / odds.sum())
        name = f"c{number % conversations}"
        found.append(candidates(columns_of(**evidence), relevant, conversation=name, question=f"q{number}"))
    return found
