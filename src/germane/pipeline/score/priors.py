"""Priors: joins what the graph says of a candidate with what its evidence says (SCORE-2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from germane.search.sigmoid import sigmoid
from germane.types.candidate import Candidate

__all__ = ["with_priors"]

_MAX_PRIOR = 0.999


def with_priors(odds: NDArray[np.float64], candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """The log-odds of relevance with each candidate's prior, by noisy-or: 1 − (1 − P) (1 − prior). The same array where no
    candidate has a prior; shape (candidates,)."""
    if all(candidate.graph is None for candidate in candidates):
        return odds
    given = (0.0 if candidate.graph is None else candidate.graph.prior for candidate in candidates)
    priors = np.clip(np.fromiter(given, np.float64, len(candidates)), 0.0, _MAX_PRIOR)
    alike = sigmoid(odds)
    either = alike + (1 - alike) * priors
    return np.where(priors > 0, np.log(np.maximum(either, 1e-12)) - np.log(np.maximum(1 - either, 1e-12)), odds)
