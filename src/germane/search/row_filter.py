"""Row filter: the rows of a partition that a query's filters let through (GATHER-4, GATHER-5, GATHER-6)."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
from numpy.typing import NDArray

from germane.search.partition import Partition
from germane.search.unit import KIND_CODES, SENSITIVITY_CODES
from germane.types.query import Query

__all__ = ["allowed_rows"]


def allowed_rows(partition: Partition, rows: int, query: Query, at: float, allowed: Set[int] | None) -> NDArray[np.bool_]:
    """Returns a mask of shape (rows,) over the first `rows` rows. `at` is the time asked about, in seconds since the epoch.
    `allowed` restricts the rows to those with these keys; None doesn't."""
    columns, filters = partition.columns, query.filters
    may = columns["alive"][:rows].copy()
    codes = [SENSITIVITY_CODES[name] for name in filters.sensitivities if name in SENSITIVITY_CODES]
    if partition.sensitivities - set(codes):
        may &= _table(codes)[columns["sensitivity"][:rows]]
    if partition.has_validity and not filters.with_history:
        may &= (columns["valid_from"][:rows] <= at) & (at < columns["valid_to"][:rows])
    if filters.since is not None:
        may &= columns["created_at"][:rows] >= filters.since.timestamp()
    if filters.until is not None:
        may &= columns["created_at"][:rows] <= filters.until.timestamp()
    if filters.kinds is not None:
        may &= _table([KIND_CODES[kind] for kind in filters.kinds if kind in KIND_CODES])[columns["kind"][:rows]]
    if allowed is not None:
        may &= np.isin(columns["key"][:rows], np.fromiter(allowed, np.int64, len(allowed)))
    return may


def _table(codes: Sequence[int]) -> NDArray[np.bool_]:
    """Returns a lookup table of shape (128,): true at each of `codes`."""
    table = np.zeros(128, np.bool_)
    table[list(codes)] = True
    return table
