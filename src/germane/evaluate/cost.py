"""Cost: what the input tokens of a thousand calls cost, with and without germane's text and the provider's prompt cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from germane.catalog.prices import Price
from germane.evaluate.amount import REQUESTS
from germane.evaluate.prefix import ReplayedCall

__all__ = ["Cost", "cost"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """US dollars for the prompts of a thousand calls, by the mean of `calls` replayed calls. `own` are the prompts without
    germane's text, `whole` with it. `own_cached` and `whole_cached` are the same where the provider's cache holds everything
    that the previous call of the session began with, and the rest is written to the cache."""

    calls: int
    own: float
    own_cached: float
    whole: float
    whole_cached: float
    dated: str
    """The day of the price (ISO 8601); empty where unknown."""


def cost(calls: Sequence[ReplayedCall], price: Price | None) -> Cost | None:
    """The cost by these calls; None where there are none, or where no price is known. Each call follows another in its session:
    the first call of a session, which no cache helps, isn't among them."""
    if not calls or price is None:
        return None
    own, whole = sum(call.own for call in calls), sum(call.prompt for call in calls)
    own_common = sum(min(call.own_common, call.own) for call in calls)
    common = sum(min(call.common, call.prompt) for call in calls)
    each = REQUESTS / len(calls)
    return Cost(
        calls=len(calls),
        own=each * price.cost(own),
        own_cached=each * price.cost(own, own_common, own - own_common),
        whole=each * price.cost(whole),
        whole_cached=each * price.cost(whole, common, whole - common),
        dated=price.dated,
    )
