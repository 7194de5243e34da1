"""Strategy of an archetype: the strategy of the same name that its weights, shares and half-lives make."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from germane.archetypes.archetype import Archetype
from germane.types.strategy import HALF_LIVES, Shares, SourcePlan, Strategy, Weights

__all__ = ["strategy_of"]

_SOURCES = (
    SourcePlan(name="directive"),
    SourcePlan(name="structured", limit=20),
    SourcePlan(name="blocks", limit=100),
    SourcePlan(name="tasks", limit=100),
    SourcePlan(name="events", limit=90),
    SourcePlan(name="messages", limit=20),
    SourcePlan(name="memories", limit=20),
    SourcePlan(name="archive", limit=20),
    SourcePlan(name="entities", limit=60),
    SourcePlan(name="relations", limit=60),
    SourcePlan(name="patterns", limit=10),
)
_FOUND: Mapping[str, str] = MappingProxyType({"memories": "messages", "archive": "messages"})
"""The sources that share one percentage with the messages: what a search finds."""
_HALF_LIVES: Mapping[str, float] = MappingProxyType({"entity": 30.0, "pattern": 120.0, "relation": 180.0})
"""Days; an entity's is that of its salience."""
_WORD_BOOST, _DAY_BOOST = 0.1, 1.2
"""GRAPH-6."""


def strategy_of(archetype: Archetype, *, format: str = "markdown") -> Strategy:
    """Returns the strategy of an archetype: the linear form, in which salience takes the place of usefulness and confidence and
    frequency count nothing, packed in score order. No floor: the shares decide what goes in, and what is only recent or salient
    has little relevance. Raises `InvalidInput`."""
    shares, weights = archetype.shares, archetype.weights
    return Strategy(
        name=archetype.name,
        sources=_SOURCES,
        form="linear",
        weights=Weights(
            relevance=weights.relevance, recency=weights.recency, usefulness=weights.salience, confidence=0.0, frequency=0.0
        ),
        half_lives=MappingProxyType({**HALF_LIVES, **_HALF_LIVES, **archetype.half_lives}),
        floor=0.0,
        packer="rank",
        format=format,
        shares=Shares(
            sources=MappingProxyType(
                {
                    "events": shares.get("recent", 0.0),
                    "messages": shares.get("semantic", 0.0),
                    **{name: shares.get(name, 0.0) for name in ("entities", "relations", "patterns")},
                }
            ),
            source_pools=_FOUND,
        ),
        depth=archetype.depth,
        entity_types=archetype.entity_types,
        intents=archetype.intents,
        word_boost=_WORD_BOOST,
        day_boost=_DAY_BOOST,
    )
