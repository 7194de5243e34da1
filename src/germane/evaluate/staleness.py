"""Staleness: something is shown as if it still held, although it was replaced."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["stale"]


def stale(shown: Collection[str], *, superseded: Collection[str], evidence: Collection[str]) -> bool | None:
    """Whether a superseded message is among the shown ones and none of those that replaced it (the evidence that isn't itself
    superseded); None where nothing was superseded."""
    if not superseded:
        return None
    current = set(evidence) - set(superseded)
    return not set(shown).isdisjoint(superseded) and current.isdisjoint(shown)
