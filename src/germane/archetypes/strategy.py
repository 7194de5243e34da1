"""Strategy of an archetype: the strategy of the same name that its weights, shares and half-lives make."""

from __future__ import annotations

from types import MappingProxyType

from germane.archetypes.archetype import Archetype
from germane.types.strategy import HALF_LIVES, Shares, SourcePlan, Strategy, Weights

__all__ = ["strategy_of"]

_FLOOR = 0.15
"""As that of the strategy `composite`, which has the same form."""
_MEMORIES = 0.4
"""The part of the semantic share that memories have; messages and other events found by search have the rest."""
_SOURCES = (
    SourcePlan(name="directive"),
    SourcePlan(name="structured", limit=20),
    SourcePlan(name="blocks", limit=100),
    SourcePlan(name="memories", limit=60),
    SourcePlan(name="archive", limit=20),
    SourcePlan(name="messages", limit=80),
    SourcePlan(name="events", limit=50),
    SourcePlan(name="entities", limit=50),
    SourcePlan(name="relations", limit=100),
    SourcePlan(name="patterns", limit=20),
)


def strategy_of(archetype: Archetype, *, format: str = "markdown") -> Strategy:
    """Returns the strategy of an archetype: the linear form, in which salience takes the place of usefulness and confidence and
    frequency count nothing, packed in score order. Raises `InvalidInput`."""
    shares, weights = archetype.shares, archetype.weights
    semantic = shares.get("semantic", 0.0)
    return Strategy(
        name=archetype.name,
        sources=_SOURCES,
        form="linear",
        weights=Weights(
            relevance=weights.relevance, recency=weights.recency, usefulness=weights.salience, confidence=0.0, frequency=0.0
        ),
        half_lives=MappingProxyType({**HALF_LIVES, **archetype.half_lives}),
        floor=_FLOOR,
        packer="rank",
        format=format,
        shares=Shares(
            sources=MappingProxyType(
                {
                    "events": shares.get("recent", 0.0),
                    "memories": semantic * _MEMORIES,
                    "messages": semantic * (1 - _MEMORIES),
                    **{name: shares.get(name, 0.0) for name in ("entities", "relations", "patterns")},
                }
            )
        ),
    )
