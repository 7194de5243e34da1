"""Labels: of one metric, the series that are written to, each found once and kept. Bounded: a label that could be anything
would fill the memory of whoever collects it.
"""

from __future__ import annotations

from typing import Generic, Protocol, Self, TypeVar

__all__ = ["Labels"]

OTHER = "other"


class _Labelled(Protocol):
    def labels(self, *values: str) -> Self: ...


T = TypeVar("T", bound=_Labelled)


class Labels(Generic[T]):
    """`of(*values)` is the series; beyond `most` of them it is the one called `other`."""

    def __init__(self, metric: T, most: int = 256) -> None:
        self._metric, self._most = metric, most
        self._known: dict[tuple[str, ...], T] = {}

    def of(self, *values: str) -> T:
        found = self._known.get(values)
        if found is None:
            if not values:
                return self._known.setdefault((), self._metric)
            if len(self._known) >= self._most:
                return self._metric.labels(*(OTHER for _ in values))
            found = self._known[values] = self._metric.labels(*values)
        return found
