"""Date nearness: evidence from dates, whether a unit was created at or near the days that the query names."""

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
    """Returns (`month`, `day`), each of shape (len(created),); `created` is in seconds since the epoch, days are days of
    `zone`.

    `month` is 1 for units within a named week, month or year. `day` is 2 within a day of a named day, and 1 from then to ten
    days after it, as people tell of a day later; else 0.
    """
    month, day = np.zeros(len(created), np.float32), np.zeros(len(created), np.float32)
    for stretch in days:
        first = datetime.combine(stretch.first, time(), zone).timestamp()
        last = datetime.combine(stretch.last, time(), zone).timestamp() + _DAY
        if stretch.grain == "day":
            near = (created >= first - _DAY) & (created < last + 10 * _DAY)
            close = (created >= first - _DAY) & (created < last + _DAY)
            day = np.maximum(day, near.astype(np.float32) + close.astype(np.float32))
        else:
            month = np.maximum(month, ((created >= first) & (created < last)).astype(np.float32))
    return month, day
