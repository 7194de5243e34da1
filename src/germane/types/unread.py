"""Unread: a search result whose text wasn't read, as it can't be worth its tokens, or as the caller needs none."""

from __future__ import annotations

from math import exp
from typing import Literal, NamedTuple

__all__ = ["Unread"]


class Unread(NamedTuple):
    """`log_odds` are those of being relevant, as far as the search can tell without the text; `tokens` the fewest that it takes
    to show."""

    id: str
    domain: Literal["events", "memories", "blocks"]
    log_odds: float
    tokens: int

    @property
    def probability(self) -> float:
        return 1 / (1 + exp(min(60.0, -self.log_odds)))
