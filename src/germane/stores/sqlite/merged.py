"""Merged: rows of all partitions that a scope sees, in one order, each partition's read in the order of its index.

One statement for two partitions sorts the rows of both, however few of them are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from typing import Any

from germane.stores.sqlite.rows import Row
from germane.stores.sqlite.visible_partitions import VisiblePartition

__all__ = ["merged"]


def merged(
    visible: tuple[VisiblePartition, ...],
    rows_of: Callable[[VisiblePartition], Iterator[Row]],
    key: Callable[[Row], Any],
    *,
    descending: bool = False,
) -> Iterator[Row]:
    """Yields the rows of all partitions by `key`, by which `rows_of` returns those of each already in order."""
    return merge(*map(rows_of, visible), key=key, reverse=descending)
