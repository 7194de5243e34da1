"""Together: which ranges of a conversation belong together, by links between their messages."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

__all__ = ["holder", "together"]

Span = tuple[int, int]


def together(spans: Sequence[Span], links: Iterable[tuple[int, int]]) -> list[list[Span]]:
    """Returns the spans, which are in their order, as sets without a link between two of them, each in its order, the set with
    the earliest span first. A link names two messages; one with a message in no span links nothing."""
    links = list(links)
    if not links:
        return [[span] for span in spans]
    roots = list(range(len(spans)))

    def root(place: int) -> int:
        while roots[place] != place:
            roots[place] = place = roots[roots[place]]
        return place

    for one, other in links:
        first, second = holder(spans, one), holder(spans, other)
        if first is not None and second is not None and (first := root(first)) != (second := root(second)):
            roots[max(first, second)] = min(first, second)
    found: dict[int, list[Span]] = {}
    for place, span in enumerate(spans):
        found.setdefault(root(place), []).append(span)
    return list(found.values())


def holder(spans: Sequence[Span], index: int) -> int | None:
    """Returns the number of the span that holds the message."""
    place = bisect_right(spans, index, key=_start) - 1
    return place if place >= 0 and index < spans[place][1] else None


def _start(span: Span) -> int:
    return span[0]
