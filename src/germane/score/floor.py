"""Floor: what scores below it isn't worth its tokens at any price (SCORE-5)."""

from __future__ import annotations

from collections.abc import Iterable

from germane.item import Scored

__all__ = ["above"]


def above(ranked: Iterable[Scored], floor: float) -> tuple[tuple[Scored, ...], tuple[Scored, ...]]:
    """Those to keep and those to drop, in order. It is held against the relevance part (calibrated P, or the linear form's
    scaled relevance), not against the sum: an item isn't relevant for being new. What is required is exempt."""
    kept: list[Scored] = []
    dropped: list[Scored] = []
    for item in ranked:
        (kept if item.candidate.required or item.breakdown.relevance >= floor else dropped).append(item)
    return tuple(kept), tuple(dropped)
