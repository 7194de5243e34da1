"""Quantiles of measured values."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

__all__ = ["quantile"]


def quantile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank quantile: the smallest value that at least `percent` of the values don't exceed."""
    ranked = sorted(values)
    return ranked[max(0, ceil(len(ranked) * percent / 100) - 1)]
