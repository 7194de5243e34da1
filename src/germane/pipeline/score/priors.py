"""Priors: joins what the graph and the days asked about say of a candidate with what its evidence says (SCORE-2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from germane.search.sigmoid import sigmoid
from germane.types.candidate import Candidate
from germane.types.query import Query

__all__ = ["less_on_other_days", "with_priors"]

_MAX_PRIOR = 0.999
_OTHER_DAY, _EVIDENT = 2.0, 0.45
"""By how many log-odds something of another day is less probable where the day's own messages were found, and
from which evidence they count as such. Set by hand: few labelled questions name a day."""


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


def less_on_other_days(odds: NDArray[np.float64], candidates: Sequence[Candidate], query: Query | None) -> NDArray[np.float64]:
    """The log-odds, lower for what isn't of the days where the request asks about past days and messages of
    them are among the candidates (PERSON-5). The same array where that isn't so; shape (candidates,)."""
    if query is None or query.asked_day is None:
        return odds
    asked = np.fromiter((candidate.evidence.day_asked for candidate in candidates), np.float64, len(candidates))
    return np.where(asked > 0, odds, odds - _OTHER_DAY) if asked.max(initial=0.0) >= _EVIDENT else odds
