"""Amount: the tokens that the strategy adds of its own accord, without `max_tokens`, and the evidence in them (AMOUNT-1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from germane.catalog.prices import Price
from germane.evaluate.answered import Answered, Unlimited
from germane.evaluate.interval import intervals, resampling_groups
from germane.evaluate.recall import every_within, fraction_within, touched_within

__all__ = ["REQUESTS", "Amount", "amounts"]

REQUESTS = 1000
"""Prices are for so many requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Means over `count` questions that were asked without `max_tokens`. `low` and `high` bound the middle 95 % of the
    resampled means, and are None where there are too few questions."""

    effort: str
    """A word or a number; empty for the strategy's own effort."""
    category: str
    """Empty for all questions."""
    count: int
    tokens: float
    """Tokens of all the added text, wrapper included."""
    tokens_low: float | None
    tokens_high: float | None
    fraction: float
    """The share of a question's evidence that is shown, [0, 1]."""
    low: float | None
    high: float | None
    every: float
    """The share of the questions of which all the evidence is shown, whole."""
    touched: float = 0.0
    """The share of a question's evidence messages of which any part is shown."""
    dollars: float | None = None
    """US dollars that the added tokens of a thousand requests cost where no cache helps; None where no price is known."""


def amounts(answered: Sequence[Answered], *, price: Price | None, whole: bool, seed: int = 0) -> tuple[Amount, ...]:
    """The amount for each effort: over all questions first, then for each category. `whole` draws whole conversations for the
    intervals, else questions."""
    asked = [(answer, unlimited) for answer in answered for unlimited in answer.unlimited]
    found = []
    for effort in dict.fromkeys(unlimited.effort for _, unlimited in asked):
        with_effort = [(answer, unlimited) for answer, unlimited in asked if unlimited.effort == effort]
        categories = sorted({answer.category for answer, _ in with_effort if answer.category})
        for category in ["", *(categories if len(categories) > 1 else ())]:
            chosen = [pair for pair in with_effort if category in ("", pair[0].category)]
            found.append(_amount(effort, category, chosen, price, whole, seed))
    return tuple(found)


def _amount(
    effort: str, category: str, asked: list[tuple[Answered, Unlimited]], price: Price | None, whole: bool, seed: int
) -> Amount:
    rows = [(one.tokens, *(by(one.shares) for by in (fraction_within, every_within, touched_within))) for _, one in asked]
    drawn = resampling_groups([answer.conversation for answer, _ in asked], whole=whole)
    tokens, fraction, every, touched = intervals(np.array(rows, dtype=np.float64), drawn, seed)
    return Amount(
        effort=effort,
        category=category,
        count=tokens.count,
        tokens=tokens.mean,
        tokens_low=tokens.low,
        tokens_high=tokens.high,
        fraction=fraction.mean,
        low=fraction.low,
        high=fraction.high,
        every=every.mean,
        touched=touched.mean,
        dollars=None if price is None else REQUESTS * price.cost(sum(one.tokens for _, one in asked)) / len(asked),
    )
