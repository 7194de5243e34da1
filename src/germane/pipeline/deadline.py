"""Deadline: when the answer is due, and how long gathering may take of it (ENGINE-2, GATHER-2)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ANSWER", "Deadline"]

ANSWER = 0.048
GATHERING = 0.040
MARGIN = 0.008
"""Seconds that scoring, packing and writing are given after gathering."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """Points on the clock's steady scale; None: there is no hurry."""

    answer: float | None
    gathered: float | None

    @classmethod
    def of(cls, began: float, seconds: float | None) -> Deadline:
        """Due `seconds` after `began`, but never later than 48 ms; gathering ends at 40 ms, or 8 ms before the answer."""
        if seconds is None:
            return cls(None, None)
        due = min(ANSWER, max(0.0, seconds))
        return cls(began + due, began + max(0.0, min(GATHERING, due - MARGIN)))

    def left(self, now: float) -> float | None:
        """Seconds until the answer is due, at least 0."""
        return None if self.answer is None else max(0.0, self.answer - now)

    def missed(self, now: float) -> bool:
        return self.answer is not None and now > self.answer
