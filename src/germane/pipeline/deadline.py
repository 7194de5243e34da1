"""Deadline: when the answer is due, and when gathering ends before that (ENGINE-2, ENGINE-10, GATHER-2)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MARGIN", "Deadline"]

MARGIN = 0.008
"""Seconds left for scoring, packing and writing after gathering, by deadlines of 20 to 80 ms."""
_SHORT_SHARE = 0.4
"""The share of a shorter deadline that is left for that."""
_LONG_SHARE, _MAX_MARGIN = 0.1, 0.050
"""The share of a longer deadline, and the most seconds: a source that hangs then costs no more than its own results, also on a
busy machine."""
_CLOSING = 0.002
"""Seconds before the answer is due at which no call is awaited any more: writing the directive alone takes that long."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """Points in time on the steady clock, in seconds. Both are None where the caller set no deadline."""

    answer: float | None
    gathered: float | None

    @classmethod
    def of(cls, began: float, seconds: float | None) -> Deadline:
        """Due `seconds` after `began`. Gathering ends a tenth of the time before, but 8 ms at least and 50 ms at most, and not
        before three fifths of the time."""
        if seconds is None:
            return cls(None, None)
        due = max(0.0, seconds)
        margin = min(_SHORT_SHARE * due, max(MARGIN, min(_MAX_MARGIN, _LONG_SHARE * due)))
        return cls(began + due, began + due - margin)

    def patience(self, now: float) -> float | None:
        """Seconds that a call may take whose answer is still to be written, at least 0; None without a deadline."""
        return None if self.answer is None else max(0.0, self.answer - _CLOSING - now)

    def gathering(self, now: float, share: float) -> float | None:
        """Seconds that are this share of the time left for gathering; None without a deadline."""
        return None if self.gathered is None else max(0.0, self.gathered - now) * share

    def closer(self, now: float, share: float) -> bool:
        """Whether less time is left than this share of the time after gathering."""
        return (
            self.answer is not None and self.gathered is not None and self.answer - now < share * (self.answer - self.gathered)
        )

    def missed(self, now: float) -> bool:
        """Whether the answer is overdue."""
        return self.answer is not None and now > self.answer
