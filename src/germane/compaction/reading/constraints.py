"""Constraints: the demands of a user's own words, as the notes of an exchange hold them (HIST-5)."""

from __future__ import annotations

from germane.compaction.notes import Constraint
from germane.text.demands.demands_in import demands_in, demands_of
from germane.text.own.own_words import OwnSentence

__all__ = ["constraints_in", "constraints_of"]


def constraints_in(text: str) -> tuple[Constraint, ...]:
    """Returns the constraints of one message of a user, in order, each once, at most 40. Linear; reads 20,000 characters."""
    return tuple(Constraint(text=one) for one in demands_in(text))


def constraints_of(sentences: list[OwnSentence]) -> tuple[Constraint, ...]:
    """As `constraints_in`, of sentences that were read before."""
    return tuple(Constraint(text=one) for one in demands_of(sentences))
