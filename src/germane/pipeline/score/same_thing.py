"""Same thing: a message and what was extracted from it are one thing, of which one form is shown (GATHER-3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.types.candidate import Candidate, LeftOut, Scored

__all__ = ["once"]

_LONGER, _SPARE = 2, 80
"""A message of at most so many times the characters of the memory, and so many more, is shown in the memory's place."""


def once(ranked: Sequence[Scored]) -> tuple[tuple[Scored, ...], tuple[LeftOut, ...]]:
    """The items with each thing once, in the given order by score, and the forms that were left out.

    A message stands for what was extracted from it, with the higher of the two scores: it holds the statement in its own words,
    with its day. Of a message that is much longer than the statement, the more probable of the two forms stays.
    """
    messages = {item.id: item for item in ranked}
    better: dict[str, Scored] = {}
    gone: dict[str, Scored] = {}
    for item in ranked:
        said = next((messages[id] for id in _sources(item.candidate) if id in messages), None)
        if said is None or item.candidate.required:
            continue
        if _stands_for(said.candidate, item.candidate):
            gone[item.id] = item
            best = better.get(said.id, said)
            if item.log_odds > best.log_odds:
                relevance = max(item.breakdown.relevance, best.breakdown.relevance)
                better[said.id] = replace(
                    best,
                    score=item.score,
                    log_odds=item.log_odds,
                    breakdown=replace(best.breakdown, relevance=relevance),
                )
        elif item.log_odds >= said.log_odds and not said.candidate.required:
            gone[said.id] = said
        else:
            gone[item.id] = item
    if not gone:
        return tuple(ranked), ()
    kept = [better.get(item.id, item) for item in ranked if item.id not in gone]
    if better:
        kept.sort(key=lambda item: (-item.log_odds, item.rank))
        kept = [replace(item, rank=rank) for rank, item in enumerate(kept, start=1)]
    return tuple(kept), tuple(LeftOut(scored=item, reason="duplicate") for item in gone.values())


def _sources(candidate: Candidate) -> tuple[str, ...]:
    return candidate.provenance.refs if "extracted" in candidate.provenance.metadata else ()


def _stands_for(said: Candidate, memory: Candidate) -> bool:
    return said.passage is None and len(said.text) <= _LONGER * len(memory.text) + _SPARE
