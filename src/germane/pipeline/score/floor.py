"""Floor: what scores below it isn't worth its tokens at any price (SCORE-5)."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log

from germane.types.candidate import Scored
from germane.types.strategy import Strategy

__all__ = ["FAINT", "SURE", "above", "min_relevance"]

FAINT, SURE = log(0.001 / 0.999), log(0.9 / 0.1)
"""The linear form's relevance runs from 0 at P = 0.001 to 1 at P = 0.9, evenly in log-odds: fixed, whatever the pool."""


def min_relevance(strategy: Strategy) -> float:
    """The P(relevant) that a strategy's floor comes to."""
    if strategy.form != "linear" or not strategy.floor:
        return strategy.floor
    return 1 / (1 + exp(-(FAINT + strategy.floor * (SURE - FAINT))))


def above(ranked: Iterable[Scored], floor: float) -> tuple[tuple[Scored, ...], tuple[Scored, ...]]:
    """Those to keep and those to drop, in order. It is held against the relevance part (calibrated P, or the linear form's
    scaled relevance), not against the sum: an item isn't relevant for being new. What is required is exempt."""
    kept: list[Scored] = []
    dropped: list[Scored] = []
    for item in ranked:
        (kept if item.candidate.required or item.breakdown.relevance >= floor else dropped).append(item)
    return tuple(kept), tuple(dropped)
