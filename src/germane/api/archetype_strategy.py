"""Archetype strategy: makes the strategy of an archetype from its weights, its depth and its shares (GRAPH-5)."""

from __future__ import annotations

from collections.abc import Mapping

from germane.errors import InvalidInput
from germane.types.limits import shown
from germane.types.strategy import HALF_LIVES, Shares, SourcePlan, Strategy, Weights

__all__ = ["SHARED", "archetype_strategy"]

SHARED = ("recent", "semantic", "entities", "relations", "patterns")
"""What an archetype shares the budget out to: what happened lately, what a search finds, and the three parts of the graph."""
_SOURCES = (
    SourcePlan(name="directive"),
    SourcePlan(name="structured", limit=20),
    SourcePlan(name="blocks", limit=100),
    SourcePlan(name="events", limit=90),
    SourcePlan(name="messages", limit=20),
    SourcePlan(name="memories", limit=20),
    SourcePlan(name="archive", limit=20),
    SourcePlan(name="entities", limit=60),
    SourcePlan(name="relations", limit=60),
    SourcePlan(name="patterns", limit=10),
)
_SEMANTIC = ("memories", "archive")
"""The sources that share one percentage with `messages`."""
_HALF_LIVES = {"entity": 30.0, "relation": 180.0, "pattern": 120.0}
"""Days. An entity's is that of its salience."""
_WORD, _DAY = 0.1, 1.2
"""The boosts of GRAPH-6."""


def archetype_strategy(
    name: str,
    *,
    recency: float,
    relevance: float,
    salience: float,
    depth: int,
    shares: Mapping[str, float],
    half_lives: Mapping[str, float] | None = None,
) -> Strategy:
    """Returns a strategy of the linear form, packed in score order and written as Markdown. `recency`, `relevance` and
    `salience` are weights that sum to 1. `shares` are percentages of the budget by `SHARED`, at most 100 together; what isn't
    named gets none, and what one leaves is used by the others. `half_lives` in days, by kind, replace the usual ones. Raises
    `InvalidInput`."""
    if strangers := sorted(set(shares) - set(SHARED)):
        raise InvalidInput(f"shares of an archetype are {', '.join(SHARED)}, not {shown(strangers[0])}")
    given = {part: shares.get(part, 0) for part in SHARED}
    return Strategy(
        name=name,
        sources=_SOURCES,
        form="linear",
        weights=Weights(relevance=relevance, recency=recency, usefulness=salience, confidence=0.0, frequency=0.0),
        half_lives={**HALF_LIVES, **_HALF_LIVES, **(half_lives or {})},
        floor=0.0,
        packer="rank",
        format="markdown",
        shares=Shares(
            sources={
                "events": given["recent"],
                "messages": given["semantic"],
                "entities": given["entities"],
                "relations": given["relations"],
                "patterns": given["patterns"],
            },
            source_pools=dict.fromkeys(_SEMANTIC, "messages"),
        ),
        depth=depth,
        word_boost=_WORD,
        day_boost=_DAY,
    )
