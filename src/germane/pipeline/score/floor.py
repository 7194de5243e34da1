"""Floor: drops candidates whose relevance is too low to be worth any tokens (SCORE-5)."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp, log

from germane.types.candidate import Scored
from germane.types.strategy import Strategy

__all__ = ["HIGH_LOG_ODDS", "LOW_LOG_ODDS", "min_relevance", "split_at_floor"]

LOW_LOG_ODDS, HIGH_LOG_ODDS = log(0.001 / 0.999), log(0.9 / 0.1)
"""The linear form's relevance runs from 0 at P = 0.001 to 1 at P = 0.9, linearly in log-odds; fixed, whatever the
candidates."""


def min_relevance(strategy: Strategy) -> float:
    """The strategy's floor as a probability P(relevant), in [0, 1]."""
    if strategy.form != "linear" or not strategy.floor:
        return strategy.floor
    return 1 / (1 + exp(-(LOW_LOG_ODDS + strategy.floor * (HIGH_LOG_ODDS - LOW_LOG_ODDS))))


def split_at_floor(ranked: Iterable[Scored], floor: float) -> tuple[tuple[Scored, ...], tuple[Scored, ...]]:
    """Items to keep and items to drop, each in the given order.

    The floor is compared with the relevance part (calibrated P, or the linear form's scaled relevance), not with the score:
    being new doesn't make an item relevant. Required items are always kept.
    """
    kept: list[Scored] = []
    dropped: list[Scored] = []
    for item in ranked:
        (kept if item.candidate.required or item.breakdown.relevance >= floor else dropped).append(item)
    return tuple(kept), tuple(dropped)
