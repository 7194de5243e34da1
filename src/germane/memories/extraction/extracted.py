"""Extracted: one thing that a rule found in a message: its kind, its text, and the rule."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["VERSION", "Extracted"]

VERSION = 1
"""Of the rules, written into each memory's provenance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """`kind` is behavior, preference, fact or episode. `text` is the message's own words or, of a fact, its value; `key` is a
    fact's name. `share` is the fraction of the message's characters that the statement takes."""

    kind: str
    text: str
    rule: str
    confidence: float
    key: str = ""
    share: float = 1.0
    condition: bool = False
    """Whether an instruction holds only in some case, such as "when I ask about dates"."""
