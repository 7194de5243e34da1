"""Newer: what makes a message outdated is worth at least as much as the message, so that the two are shown together.

Links that say only that a later message may be about the same count where messages are shown by clauses, of which `beside.py`
then tells the right one. Whole messages are too dear for a guess: of LoCoMo such links cost a point of the evidence, of BEAM
two.
"""

from __future__ import annotations

from collections.abc import Sequence

from germane.types.candidate import Scored

__all__ = ["newer_beside"]


_NEAR = 1.0
"""Log-odds within which a later message that may only be about the same counts as asked for too."""


def newer_beside(ranked: Sequence[Scored], *, clauses: bool) -> tuple[Scored, ...]:
    """The items in score order, each that makes another one outdated no lower than that one; ranked anew. With `clauses`, what
    only may make a message of a chat with an assistant outdated is raised where the request finds it nearly as relevant."""
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
            may = clauses and older.candidate.evidence.assistant > 0 and newer.log_odds >= older.log_odds - _NEAR
            if ends or may:
                relevance = max(newer.breakdown.relevance, older.breakdown.relevance)
                parts = newer.breakdown._replace(relevance=relevance)
                now[id] = newer._replace(score=older.score, log_odds=older.log_odds, breakdown=parts)
    order = sorted(now.values(), key=lambda item: (-item.log_odds, -item.candidate.created_at.timestamp(), item.rank))
    return tuple(item._replace(rank=rank) for rank, item in enumerate(order, start=1))
