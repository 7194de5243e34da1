"""Same thing: a message and what was extracted from it are one thing, of which one form is shown (GATHER-3)."""

from __future__ import annotations

from collections.abc import Sequence

from germane.compaction.shown_line import OUTLINE
from germane.types.candidate import Candidate, Scored

__all__ = ["once", "source_missing"]

_LONGER, _SPARE = 2, 80
"""A message of at most so many times the characters of the memory, and so many more, is shown in the memory's place."""


def once(ranked: Sequence[Scored]) -> tuple[Scored, ...]:
    """The items with each thing once; they must stand in the order of their scores, and do so afterwards.

    A message stands for what was extracted from it, with the higher of the two scores: it holds the statement in its own words,
    with its day. Of a message that is much longer than the statement, and of a message and the line that an outline has of its
    exchange, the more probable of the two forms stays. The form that stays names the sources of both.
    """
    found = {item.id: item for item in ranked}
    for item in ranked:
        said = next((found[id] for id in _sources(item.candidate) if id in found), None)
        if said is None or item.candidate.required:
            continue
        if _stands_for(said.candidate, item.candidate) or item.log_odds < said.log_odds or said.candidate.required:
            found[said.id] = _joined(said, item)
            del found[item.id]
        else:
            found[item.id] = _joined(item, said)
            del found[said.id]
    if len(found) == len(ranked):
        return tuple(ranked)
    kept = sorted(found.values(), key=lambda item: (-item.log_odds, item.rank))
    return tuple(item._replace(rank=rank) for rank, item in enumerate(kept, start=1))


def source_missing(items: Sequence[Scored], ranked: Sequence[Scored]) -> bool:
    """Whether one of the `items` was extracted from a message that isn't among all those `ranked`."""
    wanted = {id for item in items for id in _sources(item.candidate)}
    return bool(wanted) and not wanted.issubset(item.id for item in ranked)


def _sources(candidate: Candidate) -> tuple[str, ...]:
    return candidate.provenance.refs if "extracted" in candidate.provenance.metadata else ()


def _stands_for(said: Candidate, memory: Candidate) -> bool:
    return said.passage is None and memory.category != OUTLINE and len(said.text) <= _LONGER * len(memory.text) + _SPARE


def _joined(kept: Scored, other: Scored) -> Scored:
    sources = dict.fromkeys((*kept.candidate.also, other.candidate.source, *other.candidate.also))
    sources.pop(kept.candidate.source, None)
    joined = kept._replace(candidate=kept.candidate._replace(also=tuple(sources)))
    if other.log_odds <= kept.log_odds:
        return joined
    relevance = max(kept.breakdown.relevance, other.breakdown.relevance)
    parts = kept.breakdown._replace(relevance=relevance)
    return joined._replace(score=other.score, log_odds=other.log_odds, breakdown=parts)
