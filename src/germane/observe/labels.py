"""Labels: the series of one metric, looked up by label values and limited in number."""

from __future__ import annotations

from typing import Generic, Protocol, Self, TypeVar

__all__ = ["Labels"]

OTHER = "other"


class _Labelled(Protocol):
    def labels(self, *values: str) -> Self: ...


T = TypeVar("T", bound=_Labelled)


class Labels(Generic[T]):
    """Caches the series of `metric`. Unlimited label values would fill the memory of this process and of Prometheus: once
    `max_series` are known, every further one is counted in the series whose labels are all `other`."""

    def __init__(self, metric: T, max_series: int = 256) -> None:
        self._metric, self._max_series = metric, max_series
        self._known: dict[tuple[str, ...], T] = {}

    def series(self, *values: str) -> T:
        """The series with these label values; without values, the metric itself."""
        found = self._known.get(values)
        if found is None:
            if not values:
                return self._known.setdefault((), self._metric)
            if len(self._known) >= self._max_series:
                return self._metric.labels(*(OTHER for _ in values))
            found = self._known[values] = self._metric.labels(*values)
        return found
