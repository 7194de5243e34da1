"""Answered: the result for one question at one clock: ranks of its evidence, what each budget and each effort showed of it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Answered", "MissedEvidence", "Shown", "Unlimited"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedEvidence:
    """An evidence message that wasn't shown: its id, its text (empty where it can't be read), and the best items that stood
    there instead. Long texts are cut."""

    id: str
    text: str
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What one assembly showed of the evidence within `budget` tokens."""

    budget: int
    tokens: int
    """Tokens of all the added text, wrapper included; at most `budget`."""
    items: int
    """Number of items in the added text."""
    shares: tuple[float, ...]
    """The shown share of each evidence message, [0, 1], in the order of the sorted ids."""
    contained: bool | None = None
    """Whether the added text contains the answer word for word; None for a question without an answer."""
    words: float | None = None
    """The share of the answer's content words in the added text, [0, 1]; None for a question without an answer."""
    redundancy: float | None = None
    """The share of shown items that nearly repeat an earlier one, [0, 1]; None where no item is shown."""
    stale: bool | None = None
    """Whether a superseded message is shown without its replacement; None where no message is superseded."""
    current: bool | None = None
    """Whether what replaced a superseded message is shown; None where no message is superseded."""
    unmarked: bool | None = None
    """Whether a superseded message is shown without a mark that it is outdated; None where no message is superseded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlimited:
    """What one assembly without `max_tokens` added."""

    effort: str
    """A word or a number; empty for the strategy's own effort."""
    tokens: int
    """Tokens of all the added text, wrapper included."""
    items: int
    shares: tuple[float, ...]
    """The shown share of each evidence message, [0, 1], in the order of the sorted ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The result for one question at one clock."""

    conversation: str
    id: str
    question: str
    category: str
    clock: str
    ranks: tuple[int | None, ...]
    """The rank of each evidence message among all ranked messages, counted from 1, in the order of the sorted ids; None for a
    message that no source found."""
    shown: tuple[Shown, ...]
    """One entry for each budget, ascending."""
    unlimited: tuple[Unlimited, ...] = ()
    """One entry for each effort, at the first clock only."""
    missed: tuple[MissedEvidence, ...] = ()
    """What wasn't shown within the budget nearest to 1,000 tokens."""
    fault: str = ""
    """Why germane fell back to a lower degradation level; empty where it didn't. `shown` describes the fallback then."""
