"""Pattern: an action that was tried in a kind of situation, and how often it worked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from germane.types.candidate import Sensitivity

__all__ = ["Pattern"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """`keywords`, `intent` and `entity_types` say when the pattern applies: those that are given must match the request.
    `action` is what to do. `applications` counts how often it was tried, `successes` how often that worked."""

    id: str
    action: str
    keywords: tuple[str, ...] = ()
    intent: str | None = None
    entity_types: tuple[str, ...] = ()
    user: str | None = None
    successes: int = 0
    applications: int = 0
    sensitivity: Sensitivity = "private"
    created_at: datetime
    updated_at: datetime

    @property
    def success_rate(self) -> float:
        """(successes + 1) / (applications + 2), in (0, 1): a pattern that was never tried has 0.5 (SCORE-4)."""
        return (self.successes + 1) / (self.applications + 2)

    def __repr__(self) -> str:
        return f"<Pattern {self.id} {self.successes}/{self.applications}>"
