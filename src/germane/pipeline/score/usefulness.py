"""Usefulness and frequency: what feedback and use say of an item (SCORE-4)."""

from __future__ import annotations

__all__ = ["frequency", "usefulness"]

_OFTEN = 50


def usefulness(helpful: int, harmful: int) -> float:
    """Laplace's rule of succession, (helpful + 1) / (helpful + harmful + 2): ½ while nobody has said anything."""
    return (helpful + 1) / (helpful + harmful + 2)


def frequency(retrievals: int) -> float:
    """How often it was injected, [0, 1], full at 50."""
    return min(1.0, retrievals / _OFTEN)
