"""Lists: what a search found for one question, as evidence, with what of it was wanted and what each would cost to show.

This is all that fitting sees: no text, no store. A data set gives such lists (`asking.py`), a file of them is kept
(`kept.py`), and feedback on what was shown gives them too (`feedback.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Candidates", "part"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """One question's candidates, n of them, in the order they were found. Arrays have one row a candidate."""

    dataset: str = ""
    conversation: str
    """What it is cross-validated by, within its data set: no fold has questions of the same one on both sides."""
    question: str
    category: str = ""
    wanted: int
    """How many messages hold the answer, found or not."""
    units: int
    """How many units were searched."""
    table: Floats
    """Shape (n, len(FEATURES)), a missing cosine is NaN."""
    relevant: NDArray[np.bool_]
    message: NDArray[np.int32]
    """Which message it is, or is a part of, by a number of its own."""
    share: Floats
    """The part of that message's characters that it holds, [0, 1]."""
    cost: NDArray[np.int32]
    """Tokens as written in a line of its own."""
    group: NDArray[np.int32]
    """The header it is written under, by a number of its own."""
    header: NDArray[np.int32]
    """Tokens of that header."""
    keywords: bool = False
    """Found by keywords alone."""
    fixed: int = 0
    """Tokens of what stands around everything."""
    created: Floats
    """Seconds since the epoch."""
    at: float
    """When it was asked, seconds since the epoch."""

    def __len__(self) -> int:
        return len(self.relevant)

    def __repr__(self) -> str:
        return f"<Candidates {self.conversation}/{self.question} {int(self.relevant.sum())} of {len(self)}>"


_ROWS = ("table", "relevant", "message", "share", "cost", "group", "header", "created")


def part(one: Candidates, rows: NDArray[Any] | Sequence[int]) -> Candidates:
    """Only these rows, as a mask or by number."""
    return replace(one, **{name: getattr(one, name)[rows] for name in _ROWS})
