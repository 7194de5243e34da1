"""Deadline: when the answer is due, and how long gathering may take of that time (ENGINE-2, GATHER-2)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ANSWER", "Deadline"]

ANSWER = 0.048
"""Seconds: no deadline is later."""
GATHERING = 0.040
"""Seconds that gathering may take at most."""
MARGIN = 0.008
"""Seconds left for scoring, packing and writing after gathering."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """Points in time on the steady clock, in seconds. Both are None where the caller set no deadline."""

    answer: float | None
    gathered: float | None

    @classmethod
    def of(cls, began: float, seconds: float | None) -> Deadline:
        """Due `seconds` after `began`, 48 ms at most. Gathering ends after 40 ms, or 8 ms before the answer is due."""
        if seconds is None:
            return cls(None, None)
        due = min(ANSWER, max(0.0, seconds))
        return cls(began + due, began + max(0.0, min(GATHERING, due - MARGIN)))

    def left(self, now: float) -> float | None:
        """Seconds until the answer is due, at least 0; None without a deadline."""
        return None if self.answer is None else max(0.0, self.answer - now)

    def missed(self, now: float) -> bool:
        """Whether the answer is overdue."""
        return self.answer is not None and now > self.answer
