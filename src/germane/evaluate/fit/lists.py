"""Lists: `Candidates`, what a search found for one question: evidence, relevance and token costs as arrays.

A fit sees nothing else: no text and no store. `collect.py` makes such lists from a data set, and `kept.py` keeps them in a
file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Candidates", "take_rows"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The n candidates of one question, in the order they were found. Each array has one row for each candidate."""

    dataset: str = ""
    conversation: str
    """The conversation in its data set. Cross-validation never splits its questions."""
    question: str
    category: str = ""
    wanted: int
    """Number of messages that hold the answer, found or not."""
    units: int
    """Number of messages and memories that were searched."""
    table: Floats
    """The evidence, shape (n, len(FEATURES)); a missing cosine is NaN."""
    relevant: NDArray[np.bool_]
    """Whether the candidate is, or is a part of, a message that holds the answer."""
    message: NDArray[np.int32]
    """Number of the message that the candidate is, or is a part of."""
    share: Floats
    """The share of that message's characters that the candidate holds, [0, 1]."""
    cost: NDArray[np.int32]
    """Tokens of the candidate's rendered line."""
    group: NDArray[np.int32]
    """Number of the header that the candidate is rendered under."""
    header: NDArray[np.int32]
    """Tokens of that header."""
    session: NDArray[np.int64]
    """Number of the session it was said in; −1 for what has no place in a session."""
    position: NDArray[np.int64]
    """Its place in that session, from 0."""
    keywords: bool = False
    """Whether keywords alone found the candidates."""
    fixed: int = 0
    """Tokens of the wrapper around all items."""
    created: Floats
    """Time of each candidate, in seconds since the epoch."""
    needed: bool = True
    """False for a request that needs no memory: such a list has nothing relevant in it."""
    shipped: bool = False
    """Whether it is one of the turns without need that come with germane, not a question of the data set."""
    terms: int = 0
    """Content words of the question itself."""
    words: int = 0
    """All its words."""
    asks: bool = False
    """Whether it asks something."""
    personal: bool = False
    """Whether it speaks of the user's own affairs."""
    at: float
    """Time of the question, in seconds since the epoch."""

    def __len__(self) -> int:
        return len(self.relevant)

    def __repr__(self) -> str:
        return f"<Candidates {self.conversation}/{self.question} {int(self.relevant.sum())} of {len(self)}>"


_ROWS = ("table", "relevant", "message", "share", "cost", "group", "header", "session", "position", "created")


def take_rows(one: Candidates, rows: NDArray[Any] | Sequence[int]) -> Candidates:
    """`one` with only these rows, given as a mask or as indices."""
    return replace(one, **{name: getattr(one, name)[rows] for name in _ROWS})
