"""Recency: 0.5 ^ (age / half-life). A half-life is the age at which it has fallen to a half (SCORE-3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from germane.types.candidate import Candidate
from germane.types.strategy import HALF_LIVES

__all__ = ["recency"]

_DAY = 86400.0


def recency(candidates: Sequence[Candidate], at: datetime, half_lives: Mapping[str, float]) -> NDArray[np.float64]:
    """One number a candidate in (0, 1]; what lies in the future counts as now. An item of several kinds takes the shortest
    half-life, one of no listed kind the longest; without any list, germane's own stands."""
    half_lives = half_lives or HALF_LIVES
    now = at.timestamp()
    ages = np.fromiter((now - one.created_at.timestamp() for one in candidates), np.float64, len(candidates))
    known = {kinds: _half_life(kinds, half_lives) for kinds in {one.kinds for one in candidates}}
    lives = np.fromiter((known[one.kinds] for one in candidates), np.float64, len(candidates))
    return np.exp2(-np.maximum(ages, 0.0) / (lives * _DAY))


def _half_life(kinds: tuple[str, ...], half_lives: Mapping[str, float]) -> float:
    known = [half_lives[kind] for kind in kinds if kind in half_lives]
    return min(known) if known else max(half_lives.values())
