"""Boosts: raises the relevance of what a search found by the query's words in it, and for being new (GRAPH-6).

A detail of the linear form, for archetypes. The log-odds form has no boosts: there the words are evidence already, weighed by
how rare they are, and recency is a part of the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from germane.text.normal import fold
from germane.types.candidate import Candidate
from germane.types.query import Query
from germane.types.strategy import Strategy

__all__ = ["boosted"]

_SEARCHED = frozenset({"archive", "memories", "messages", "semantic"})
_NEW = timedelta(days=1)
_EDGES = str.maketrans(dict.fromkeys(".,;:!?()[]{}<>\"'`*", " "))


def boosted(
    relevance: NDArray[np.float64], candidates: Sequence[Candidate], strategy: Strategy, at: datetime, query: Query | None
) -> NDArray[np.float64]:
    """The relevance of each candidate that a search found, times 1 + `word_boost` × the number of the query's words that stand
    in its text as whole words, times `day_boost` where it is younger than a day; clamped to 1. The same array where the
    strategy boosts nothing. A word that stands there twice counts once."""
    if not strategy.word_boost and strategy.day_boost == 1:
        return relevance
    wanted = frozenset(term.word for term in query.terms) if query is not None else frozenset[str]()
    factors = np.ones(len(candidates))
    for index, candidate in enumerate(candidates):
        if _SEARCHED.isdisjoint((candidate.source, *candidate.also)):
            continue
        factors[index] += strategy.word_boost * len(wanted.intersection(fold(candidate.text).translate(_EDGES).split()))
        if timedelta() <= at - candidate.created_at < _NEW:
            factors[index] *= strategy.day_boost
    return np.minimum(1.0, relevance * factors)
