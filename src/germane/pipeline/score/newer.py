"""Newer: what makes a message outdated is worth at least as much as the message, so that the two are shown together."""

from __future__ import annotations

from collections.abc import Sequence

from germane.types.candidate import Scored

__all__ = ["newer_beside"]

_NEAR = 1.0
"""Log-odds within which a later message that may only be about the same counts as asked for too."""


def newer_beside(ranked: Sequence[Scored]) -> tuple[Scored, ...]:
    """The items in score order, each that makes another one outdated no lower than that one; ranked anew. What only may make it
    outdated is raised where the request finds it nearly as relevant."""
    linked = sorted((item for item in ranked if item.candidate.replaced_by), key=lambda item: item.candidate.created_at)
    if not linked:
        return tuple(ranked)
    now = {item.id: item for item in ranked}
    for one in linked:
        older = now[one.id]
        for id, ends in older.candidate.replaced_by:
            newer = now.get(id)
            if newer is None or newer.log_odds >= older.log_odds:
                continue
            if ends or newer.log_odds >= older.log_odds - _NEAR:
                relevance = max(newer.breakdown.relevance, older.breakdown.relevance)
                parts = newer.breakdown._replace(relevance=relevance)
                now[id] = newer._replace(score=older.score, log_odds=older.log_odds, breakdown=parts)
    order = sorted(now.values(), key=lambda item: (-item.log_odds, -item.candidate.created_at.timestamp(), item.rank))
    return tuple(item._replace(rank=rank) for rank, item in enumerate(order, start=1))
