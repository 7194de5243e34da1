"""Deadline: when the answer is due, and when gathering ends before that (ENGINE-2, ENGINE-10, GATHER-2)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MARGIN", "Deadline"]

MARGIN = 0.008
"""Seconds left for scoring, packing and writing after gathering."""
_MARGIN_SHARE = 0.4
"""The share of a deadline below 20 ms that is left for that instead."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """Points in time on the steady clock, in seconds. Both are None where the caller set no deadline."""

    answer: float | None
    gathered: float | None

    @classmethod
    def of(cls, began: float, seconds: float | None) -> Deadline:
        """Due `seconds` after `began`. Gathering ends 8 ms before, or after three fifths of the time where that is later."""
        if seconds is None:
            return cls(None, None)
        due = max(0.0, seconds)
        return cls(began + due, began + due - min(MARGIN, _MARGIN_SHARE * due))

    def left(self, now: float) -> float | None:
        """Seconds until the answer is due, at least 0; None without a deadline."""
        return None if self.answer is None else max(0.0, self.answer - now)

    def closer(self, now: float, share: float) -> bool:
        """Whether less time is left than this share of the time after gathering."""
        return (
            self.answer is not None and self.gathered is not None and self.answer - now < share * (self.answer - self.gathered)
        )

    def missed(self, now: float) -> bool:
        """Whether the answer is overdue."""
        return self.answer is not None and now > self.answer
