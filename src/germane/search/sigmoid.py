"""Sigmoid: from log-odds to probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["sigmoid"]

_MAX_LOG_ODDS = 60.0
"""Log-odds beyond this hardly change the probability; beyond 709 the exponential would overflow."""


def sigmoid(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns σ(x) = 1 / (1 + e⁻ˣ), of the argument's shape."""
    return 1 / (1 + np.exp(-np.maximum(np.minimum(log_odds, _MAX_LOG_ODDS), -_MAX_LOG_ODDS)))
