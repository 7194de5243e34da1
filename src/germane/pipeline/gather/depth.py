"""Depth: how far down a search has to look: as deep as the budget could use, and no deeper (AMOUNT-3)."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from germane.types.amount import price_asked
from germane.types.limits import COUNT
from germane.types.query import Query

__all__ = ["EVERYTHING", "SearchDepth", "search_depth"]

_MIN_TOKENS = 12
"""Tokens that hardly any message costs less than, as written."""
_USUAL_TOKENS = 32
"""Tokens that most messages cost at least. Measured on LoCoMo: with 24, 32, 40 and 56 the default shows 87.3, 87.4, 87.2 and
87.2 % of the evidence in 748, 737, 730 and 714 tokens."""
_MIN_ITEMS = 64
"""More than the candidates that count as possibly relevant (`COUNTED_ITEMS`): with fewer, each would look more probable."""


class SearchDepth(NamedTuple):
    """At most `max_items` results; none less probably relevant than `min_relevance`; and of those that can't be worth their
    tokens at `price`, no text. `blocks` says that blocks of every type are searched, and not only archival ones."""

    max_items: int = COUNT.maximum
    min_relevance: float = 0.0
    price: float = 0.0
    blocks: bool = False

    def within(self, query: Query) -> Query:
        """The query with these limits. An exact match of an identifier or a quoted phrase shows only in a text, so a query that
        has any is searched without."""
        if query.identifiers or query.phrases:
            return query
        asked = price_asked(self.price, asks=query.asks, broad=query.broad)
        return replace(query, min_relevance=self.min_relevance, price=asked)


EVERYTHING = SearchDepth()


def search_depth(available: int, price: float | None, min_relevance: float) -> SearchDepth:
    """The depth for a budget of `available` tokens at this price (a share per token; None where the budget is used up). All
    shares together are 1, so at a price no more than 1 / price tokens can be worth it."""
    most = available // _MIN_TOKENS
    if price is not None:
        most = min(most, int(1 / (price * _USUAL_TOKENS)))
    return SearchDepth(max(_MIN_ITEMS, most), min_relevance, price or 0.0)
