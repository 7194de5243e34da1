"""Telling: the clauses of a message that may stand in the person's profile, each with how much it tells (PERSON-1).

A clause tells something where it demands something lasting (`rule`), or says something lasting about the person (`lasting`).
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["VERSION", "TellingClause", "telling_clauses"]

VERSION = 1
"""Rises whenever the same text would tell something else: stored clauses of another version are made anew."""


class TellingClause(NamedTuple):
    """A clause of a person's own words: its place in the message's text in characters, and the probabilities that it is a standing
    instruction, and that it says something lasting."""

    start: int
    end: int
    rule: float
    lasting: float


def telling_clauses(text: str) -> tuple[TellingClause, ...]:
    """Returns the telling clauses of a message that a person wrote, in order. Pure and linear."""
    raise NotImplementedError
