"""The strategy of an archetype: weights, depth and shares of its own."""

from __future__ import annotations

from typing import Any

import pytest

from germane.api.archetype_strategy import SHARED, archetype_strategy
from germane.api.strategies import derive
from germane.errors import InvalidInput
from germane.types.strategy import Strategy

CODING: dict[str, Any] = {"recency": 0.3, "relevance": 0.5, "salience": 0.2, "depth": 2}
SHARES = {"recent": 20, "semantic": 35, "entities": 20, "relations": 20, "patterns": 5}


def made(**changes: Any) -> Strategy:
    return archetype_strategy("coding", **CODING | {"shares": SHARES} | changes)


@pytest.mark.requirement("GRAPH-5", "BUD-6")
def test_an_archetype_is_a_linear_strategy_with_its_weights_and_shares() -> None:
    """What a search finds shares one percentage; patterns have one of their own."""
    strategy = made()
    assert (strategy.form, strategy.packer, strategy.format, strategy.depth) == ("linear", "rank", "markdown", 2)
    weights = strategy.weights
    assert (weights.recency, weights.relevance, weights.usefulness) == (0.3, 0.5, 0.2)
    assert strategy.shares.sources == {"events": 20, "messages": 35, "entities": 20, "relations": 20, "patterns": 5}
    assert strategy.shares.source_pools == {"memories": "messages", "archive": "messages"}
    assert (strategy.word_boost, strategy.day_boost) == (0.1, 1.2)
    assert made(half_lives={"event": 3.0}).half_lives["event"] == 3.0


@pytest.mark.requirement("GRAPH-5")
def test_what_doesnt_fit_is_refused() -> None:
    """Shares over 100, weights that don't sum to 1, a part that there isn't."""
    for changes in ({"shares": {**SHARES, "recent": 30}}, {"recency": 0.5}, {"shares": {"recents": 20}}, {"depth": 11}):
        with pytest.raises(InvalidInput):
            made(**changes)
    assert set(SHARES) == set(SHARED)


@pytest.mark.requirement("BUD-6")
def test_a_source_that_gets_a_share_of_its_own_leaves_its_pool() -> None:
    """As a kind does."""
    changed = derive(made(), {"shares": {"sources": {"messages": 25, "memories": 10}}})
    assert changed.shares.source_pools == {"archive": "messages"}
    with pytest.raises(InvalidInput, match="source_pools"):
        derive(made(), {"shares": {"source_pools": {"recent": "nothing"}}})
