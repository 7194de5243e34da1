"""Unscored: candidates in their sources' own order, for when there is no time to score them (ENGINE-12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from germane.types.candidate import Breakdown, Candidate, Scored

__all__ = ["in_source_order"]

_NOTHING = Breakdown(relevance=0.0, recency=0.0, usefulness=0.0, confidence=0.0, frequency=0.0)
_LOWEST = -60.0


def in_source_order(candidates: Sequence[Candidate]) -> tuple[Scored, ...]:
    """The candidates, required ones first, then the first of each source, the second of each, and so on. Each source's best
    must come first. The scores are 0."""
    places, seen = list[tuple[bool, int]](), Counter[str]()
    for candidate in candidates:
        places.append((not candidate.required, seen[candidate.source]))
        seen[candidate.source] += 1
    order = sorted(range(len(candidates)), key=places.__getitem__)
    return tuple(
        Scored(candidate=candidates[index], score=0.0, log_odds=_LOWEST, breakdown=_NOTHING, rank=rank)
        for rank, index in enumerate(order, start=1)
    )
