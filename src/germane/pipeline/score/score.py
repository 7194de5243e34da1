"""Score: computes one comparable score per candidate from five parts, in one of two forms (SCORE-1, SCORE-4)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from germane.pipeline.score.boosts import boosted
from germane.pipeline.score.floor import HIGH_LOG_ODDS, LOW_LOG_ODDS
from germane.pipeline.score.priors import less_on_other_days, with_priors
from germane.pipeline.score.recency import recency
from germane.search.relevance import Relevance, matrix
from germane.search.sigmoid import sigmoid
from germane.types.candidate import Breakdown, Candidate, Scored
from germane.types.query import Query
from germane.types.strategy import Strategy

__all__ = ["frequency", "message_spread", "score", "usefulness"]

_FULL_FREQUENCY = 50
"""Retrievals at which `frequency` reaches 1."""


def score(
    candidates: Sequence[Candidate], strategy: Strategy, at: datetime, relevance: Relevance, query: Query | None = None
) -> tuple[Scored, ...]:
    """The candidates in score order: highest score first, then the newer, then by id. `rank` counts from 1.

    The log-odds form is σ(logit P + Σ wᵢ · (xᵢ − ½)), where P is the probability of being relevant and xᵢ are the other parts,
    in [0, 1]: they move the odds a little, but can't outweigh relevance. The linear form is Σ wᵢ · xᵢ, with relevance rescaled
    to [0, 1] in log-odds, and boosted by the words of the `query` as the strategy says.
    """
    if not candidates:
        return ()
    odds = with_priors(relevance.log_odds(matrix([candidate.evidence for candidate in candidates])), candidates)
    odds = less_on_other_days(odds, candidates, query)
    relevant = sigmoid(odds)
    if strategy.form == "linear":
        scaled = np.clip((odds - LOW_LOG_ODDS) / (HIGH_LOG_ODDS - LOW_LOG_ODDS), 0.0, 1.0)
        relevant = boosted(scaled, candidates, strategy, at, query)
    parts = np.column_stack(  # in the order of `Breakdown`
        [
            relevant,
            recency(candidates, at, strategy.half_lives),
            [_usefulness(candidate) for candidate in candidates],
            np.clip([candidate.confidence for candidate in candidates], 0.0, 1.0),
            [frequency(candidate.retrievals) for candidate in candidates],
        ]
    )
    weights = strategy.weights
    vector = np.array([weights.relevance, weights.recency, weights.usefulness, weights.confidence, weights.frequency])
    if strategy.form == "linear":
        scores = parts @ vector
        odds = np.log(np.maximum(scores, 1e-12))
    else:
        odds = odds + (parts[:, 1:] - 0.5) @ vector[1:]
        scores = sigmoid(odds)
    rows = zip(candidates, scores.tolist(), odds.tolist(), parts.tolist(), strict=True)
    order = sorted(rows, key=lambda row: row[0].id)
    order.sort(key=lambda row: (row[2], row[0].created_at), reverse=True)
    return tuple(
        Scored(candidate, value, log_odds, Breakdown(*row), rank)
        for rank, (candidate, value, log_odds, row) in enumerate(order, start=1)
    )


def message_spread(strategy: Strategy) -> float | None:
    """By how many log-odds `score` may move one message against another, of which it knows nothing but their relevance and how
    recent they are. None in the linear form, where relevance may weigh as little as the others."""
    return strategy.weights.recency if strategy.form == "log-odds" else None


def usefulness(helpful: int, harmful: int) -> float:
    """Laplace's rule of succession, (helpful + 1) / (helpful + harmful + 2): ½ without any feedback."""
    return (helpful + 1) / (helpful + harmful + 2)


def _usefulness(candidate: Candidate) -> float:
    return usefulness(candidate.helpful, candidate.harmful) if candidate.graph is None else candidate.graph.salience


def frequency(retrievals: int) -> float:
    """How often an item was injected, in [0, 1]; 1 from 50 retrievals on."""
    return min(1.0, retrievals / _FULL_FREQUENCY)
