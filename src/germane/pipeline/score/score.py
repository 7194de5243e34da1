"""Score: one comparable number an item, from five parts, in one of two forms (SCORE-1)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from germane.pipeline.score.floor import FAINT, SURE
from germane.pipeline.score.recency import recency
from germane.pipeline.score.usefulness import frequency, usefulness
from germane.search.relevance import Relevance, matrix
from germane.types.candidate import Breakdown, Candidate, Scored
from germane.types.strategy import Strategy

__all__ = ["score"]

Floats = NDArray[np.float64]


def score(candidates: Sequence[Candidate], strategy: Strategy, at: datetime, relevance: Relevance) -> tuple[Scored, ...]:
    """In score order: score descending, then the newer, then by id; `rank` counts from 1.

    log-odds form: σ(logit P + Σ wᵢ · (xᵢ − ½)): priors move the odds a little and can't bury relevance.
    linear form: Σ wᵢ · xᵢ, with relevance rescaled to spread over [0, 1].
    """
    if not candidates:
        return ()
    odds = relevance.log_odds(matrix([one.evidence for one in candidates]))
    likely = _sigmoid(odds)
    if strategy.form == "linear":
        likely = np.clip((odds - FAINT) / (SURE - FAINT), 0.0, 1.0)
    parts = np.column_stack(
        [
            likely,
            recency(candidates, at, strategy.half_lives),
            [usefulness(one.helpful, one.harmful) for one in candidates],
            [min(1.0, max(0.0, one.confidence)) for one in candidates],
            [frequency(one.retrievals) for one in candidates],
        ]
    )
    weights = strategy.weights
    weigh = np.array([weights.relevance, weights.recency, weights.usefulness, weights.confidence, weights.frequency])
    if strategy.form == "linear":
        scores = parts @ weigh
        odds = np.log(np.maximum(scores, 1e-12))
    else:
        odds = odds + (parts[:, 1:] - 0.5) @ weigh[1:]
        scores = _sigmoid(odds)
    rows = zip(candidates, scores.tolist(), odds.tolist(), parts.tolist(), strict=True)
    order = sorted(rows, key=lambda row: row[0].id)
    order.sort(key=lambda row: (row[2], row[0].created_at), reverse=True)
    return tuple(
        Scored(candidate=candidate, score=value, log_odds=log_odds, breakdown=_breakdown(row), rank=rank)
        for rank, (candidate, value, log_odds, row) in enumerate(order, start=1)
    )


def _sigmoid(x: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-np.clip(x, -60, 60)))


def _breakdown(row: list[float]) -> Breakdown:
    return Breakdown(relevance=row[0], recency=row[1], usefulness=row[2], confidence=row[3], frequency=row[4])
