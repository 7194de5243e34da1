"""Depth: how far down a search has to look: as deep as the budget could use, and no deeper (AMOUNT-3)."""

from __future__ import annotations

from typing import NamedTuple

from germane.types.limits import COUNT

__all__ = ["EVERYTHING", "SearchDepth", "search_depth"]

_MIN_TOKENS = 12
"""Tokens that hardly any message costs less than, as written."""
_USUAL_TOKENS = 24
"""Tokens that most messages cost at least."""
_MARGIN = 3
"""By how much the score may still rise once the text is read."""
_MIN_ITEMS = 32


class SearchDepth(NamedTuple):
    """At most `max_items` results; none less probably relevant than `min_relevance`, and none that is expected to bring less
    than `min_share` of the relevant items. The last one compares the results of one search with one another."""

    max_items: int = COUNT.maximum
    min_relevance: float = 0.0
    min_share: float = 0.0


EVERYTHING = SearchDepth()


def search_depth(available: int, price: float | None, min_relevance: float) -> SearchDepth:
    """The depth for a budget of `available` tokens at this price (a share per token; None where the budget is used up). All
    shares together are 1, so at a price no more than 1 / price tokens can be worth it."""
    most, min_share = available // _MIN_TOKENS, 0.0
    if price is not None:
        most = min(most, int(1 / (price * _USUAL_TOKENS)))
        min_share = price * _MIN_TOKENS / _MARGIN
    return SearchDepth(max(_MIN_ITEMS, most), min_relevance, min_share)
