"""Recency: the part of a score that halves with each half-life of an item's age (SCORE-3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from germane.types.candidate import Candidate
from germane.types.strategy import HALF_LIVES

__all__ = ["recency"]

_SECONDS_PER_DAY = 86400.0


def recency(candidates: Sequence[Candidate], at: datetime, half_lives: Mapping[str, float]) -> NDArray[np.float64]:
    """The recency of each candidate at time `at`, in (0, 1], shape (candidates,). Half-lives are in days, by kind.

    The recency is 0.5 ^ (age / half-life). A time in the future counts as now. A candidate of several kinds has the shortest
    of their half-lives, but something done that of its event type, where that is listed. A candidate of no listed kind has the
    longest of all. An empty mapping stands for `HALF_LIVES`.
    """
    half_lives = half_lives or HALF_LIVES
    now = at.timestamp()
    ages = np.fromiter((now - candidate.created_at.timestamp() for candidate in candidates), np.float64, len(candidates))
    sorts = [(candidate.event_type,) if candidate.event_type in half_lives else candidate.kinds for candidate in candidates]
    known = {kinds: _half_life(kinds, half_lives) for kinds in set(sorts)}
    lives = np.fromiter((known[kinds] for kinds in sorts), np.float64, len(candidates))
    return np.exp2(-np.maximum(ages, 0.0) / (lives * _SECONDS_PER_DAY))


def _half_life(kinds: tuple[str, ...], half_lives: Mapping[str, float]) -> float:
    known = [half_lives[kind] for kind in kinds if kind in half_lives]
    return min(known) if known else max(half_lives.values())
