"""Score stage: ranks what was gathered; where time is short, the candidates keep the order of their sources (ENGINE-12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from germane.pipeline.assembly_state import Assembly
from germane.pipeline.deadline import Deadline
from germane.pipeline.gather.gather import Gathered
from germane.pipeline.gather.profile import PROFILE
from germane.pipeline.score.divide import ClauseReader, divide
from germane.pipeline.score.floor import split_at_floor
from germane.pipeline.score.need import assess_need, best_searched
from germane.pipeline.score.newer import newer_beside
from germane.pipeline.score.same_thing import once
from germane.pipeline.score.score import score
from germane.pipeline.score.unscored import in_source_order
from germane.profile.shown_clause import stored_clause
from germane.search.relevance import Relevance
from germane.types.amount import Need
from germane.types.candidate import Candidate, Scored

__all__ = ["Ranked", "rank_candidates"]

_SHARE = 0.6
"""The share of the time after gathering (8 to 50 ms) that scoring and packing need; with less, nothing is scored."""


class Ranked(NamedTuple):
    """The candidates above the floor, the best first; those below it; and P(need), None where there was no time to score."""

    kept: Sequence[Scored]
    dropped: Sequence[Scored]
    need: Need | None
    divided: bool = False
    """Whether clauses stand in the place of messages, whose probabilities are those of being needed themselves."""


def rank_candidates(
    assembly: Assembly,
    gathered: Gathered,
    candidates: Sequence[Candidate],
    relevance: Relevance,
    reader: ClauseReader,
    deadline: Deadline,
    now: float,
) -> Ranked:
    """Scores the candidates, each thing once. `now` is on the clock's steady scale."""
    if deadline.closer(now, _SHARE):
        assembly.hurried = True
        return Ranked(once(in_source_order(candidates)), (), None)
    request, strategy, query = assembly.request, assembly.strategy, gathered.query
    scored = newer_beside(score(candidates, strategy, request.at, relevance, query), clauses=strategy.clauses)
    kept, dropped = split_at_floor(scored, strategy.floor)
    need, found = assess_need(kept, query, relevance, strategy.need, gathered.unread)
    others, lines = _lines_apart(kept)
    kept = once(others)
    divided = divide(kept, query, reader, found, assembly.price) if strategy.clauses else None
    if divided is None:
        return Ranked((*kept, *lines), dropped, need)
    if divided.need is not None and query.asked_day is None:
        need = Need(
            max(divided.need, best_searched([one for one in divided.items if stored_clause(one.id) is None])), need.threshold
        )
    return Ranked((*divided.items, *lines), dropped, need, True)


def _lines_apart(ranked: Sequence[Scored]) -> tuple[list[Scored], list[Scored]]:
    """What competes by its relevance, and the lines that may stand in the profile. A memory that a search found too is both:
    `profile_stage.py` decides which."""
    others, lines = list[Scored](), list[Scored]()
    for item in ranked:
        candidate = item.candidate
        if candidate.line is None or candidate.required:
            others.append(item if candidate.line is None else item._replace(candidate=candidate._replace(line=None)))
            continue
        lines.append(item._replace(candidate=candidate._replace(source=PROFILE, also=())))
        sources = [source for source in (candidate.source, *candidate.also) if source != PROFILE]
        if sources:
            found = candidate._replace(line=None, source=sources[0], also=tuple(sources[1:]))
            others.append(item._replace(candidate=found))
    return others, lines
