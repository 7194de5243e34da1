"""Answered: what came back for one question at one clock: how the evidence was ranked, and what of it fitted each budget."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Answered", "Shown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one assembly showed within `budget` tokens."""

    budget: int
    tokens: int
    """Of all the text that was added, wrapper included; at most `budget`."""
    items: int
    shares: tuple[float, ...]
    """The share of each evidence message that is shown, [0, 1], in the order of the ids."""
    contained: bool | None = None
    """Whether the answer stands in the added text; None where there is no answer to look for."""
    words: float | None = None
    """The share of the answer's content words that do, [0, 1]."""
    redundancy: float | None = None
    """The share of the shown items that nearly repeat another; None where nothing is shown."""
    stale: bool | None = None
    """Whether something superseded is shown without what replaced it; None where nothing was superseded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One question at one clock. `fault` is why germane fell back, empty when all went well: then `shown` is what it shows."""

    conversation: str
    id: str
    question: str
    category: str
    clock: str
    ranks: tuple[int | None, ...]
    """Of each evidence message among all that was ranked, counted from 1; None where it wasn't found."""
    shown: tuple[Shown, ...]
    """In the order of the budgets."""
    fault: str = ""
