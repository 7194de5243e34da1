"""Dated: how near a unit's time lies to the days that the query names."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, time, tzinfo

import numpy as np
from numpy.typing import NDArray

from germane.types.query import Days

__all__ = ["dated"]

Floats = NDArray[np.float32]
_DAY = 86400.0


def dated(days: Sequence[Days], created: NDArray[np.float64], zone: tzinfo = UTC) -> tuple[Floats, Floats]:
    """Of units created at these seconds since the epoch; a day is one of `zone`. `month` is 1 within a named week, month or
    year; `day` 1 from a day before a named day to ten days after it (it is told of later), 2 within a day of it."""
    month, day = np.zeros(len(created), np.float32), np.zeros(len(created), np.float32)
    for stretch in days:
        first = datetime.combine(stretch.first, time(), zone).timestamp()
        last = datetime.combine(stretch.last, time(), zone).timestamp() + _DAY
        if stretch.grain == "day":
            told = (created >= first - _DAY) & (created < last + 10 * _DAY)
            close = (created >= first - _DAY) & (created < last + _DAY)
            day = np.maximum(day, told.astype(np.float32) + close.astype(np.float32))
        else:
            month = np.maximum(month, ((created >= first) & (created < last)).astype(np.float32))
    return month, day
