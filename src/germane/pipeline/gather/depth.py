"""Depth: how far down a search has to look, as a budget or the limit of a recall could use it, and no deeper (AMOUNT-3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from germane.types.amount import price_asked
from germane.types.candidate import Candidate
from germane.types.limits import COUNT
from germane.types.query import Query
from germane.types.unread import Unread

__all__ = ["EVERYTHING", "SHALLOW_ITEMS", "SearchDepth", "recall_depth", "search_depth"]

_MIN_TOKENS = 12
"""Tokens that hardly any message costs less than, as written."""
_USUAL_TOKENS = 32
"""Tokens that most messages cost at least. Measured on LoCoMo: with 24, 32, 40 and 56 the default shows 87.3, 87.4, 87.2 and
87.2 % of the evidence in 748, 737, 730 and 714 tokens."""
_MIN_ITEMS = 64
"""More than the candidates that count as possibly relevant (`COUNTED_ITEMS`): with fewer, each would look more probable."""
_SPARE = 16
"""Messages that a recall reads beyond its limit: they may stand for a memory among the best that was extracted from them. With
0 a recall of 10 has to search again for 51 of BEAM's 179 questions, with 16 for 33, with 32 for 25; each message takes some 40
microseconds."""


_SEARCHING = frozenset({"archive", "memories", "messages", "semantic"})
"""Sources that look as far as the depth says."""
SHALLOW_ITEMS = 16
"""Results of a shallow search. Measured on LoCoMo with the default: 16 show 84.0 % of the evidence in 604 tokens where a full
search shows 87.4 in 736; 12 show 81.0, 24 show 85.8."""


class SearchDepth(NamedTuple):
    """At most `max_items` messages and `max_stated` of what is stated on purpose (memories, archival entries); no message less
    probably relevant than `min_relevance`; and of those that can't be worth their tokens at `price`, no text. Messages are read
    down to the best `leading` and those within `spread` log-odds of the last of them. `blocks` says that blocks of every type
    are searched, and not only archival ones."""

    max_items: int = COUNT.maximum
    min_relevance: float = 0.0
    price: float = 0.0
    leading: int = COUNT.maximum
    spread: float = 0.0
    blocks: bool = False
    max_stated: int = COUNT.maximum

    def shallow(self) -> SearchDepth:
        """The depth of a search for which there is little time."""
        return self._replace(max_items=min(self.max_items, SHALLOW_ITEMS), max_stated=min(self.max_stated, SHALLOW_ITEMS))

    def reached(self, found: Sequence[Candidate], unread: Sequence[Unread]) -> bool:
        """Whether a source that looks as far as the depth says found as many as it looked for, so that there may be more."""
        counts = Counter(one.source for one in found if one.source in _SEARCHING)
        return max(counts.values(), default=0) + len(unread) >= min(self.max_items, self.max_stated)

    def unlimited(self) -> SearchDepth:
        """The depth at which every message found is read."""
        return self._replace(leading=COUNT.maximum)

    def of_stated(self, query: Query) -> Query:
        """The query with the price, the only limit of what is stated on purpose: the search doesn't know that it is, so its
        log-odds say too little of it. An exact match of an identifier or a quoted phrase shows only in a text, so a query that
        has any is searched without limits."""
        if query.identifiers or query.phrases:
            return query
        return replace(query, price=price_asked(self.price, asks=query.asks, broad=query.broad))

    def of_messages(self, query: Query) -> Query:
        """The query with all limits, under the same condition. Results that are excluded by name are known by their texts, and
        the next ones take their place, so such a query reads everything."""
        if query.identifiers or query.phrases:
            return query
        leading = COUNT.maximum if query.filters.exclude else self.leading
        return replace(self.of_stated(query), min_relevance=self.min_relevance, leading=leading, spread=self.spread)


EVERYTHING = SearchDepth()


def search_depth(available: int, price: float | None, min_relevance: float) -> SearchDepth:
    """The depth for a budget of `available` tokens at this price (a share per token; None where the budget is used up). All
    shares together are 1, so at a price no more than 1 / price tokens can be worth it."""
    most = available // _MIN_TOKENS
    if price is not None:
        most = min(most, int(1 / (price * _USUAL_TOKENS)))
    return SearchDepth(max(_MIN_ITEMS, most), min_relevance, price or 0.0)


def recall_depth(limit: int, spread: float | None, min_relevance: float) -> SearchDepth:
    """The depth for the best `limit` results. Scoring moves one message against another by at most `spread` log-odds; None is
    no bound, and every message found is read."""
    everything = SearchDepth(min_relevance=min_relevance, blocks=True)
    return everything if spread is None else everything._replace(leading=limit + _SPARE, spread=spread)
