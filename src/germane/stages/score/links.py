"""Links: candidates that belong together: a message and what was extracted from it, or what makes it outdated.

A message and what was extracted from it are one thing, of which one form is shown (GATHER-3). What makes a message, or a
clause of it, outdated is worth at least as much as that message or clause, so that the two are shown together (PERSON-4).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.kinds.conversations.outline import OUTLINE
from germane.types.candidate import Candidate, Scored

_MAX_LONGER, _SPARE_CHARS = 2, 80
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
    return (
        said.passage is None and memory.category != OUTLINE and len(said.text) <= _MAX_LONGER * len(memory.text) + _SPARE_CHARS
    )


def _joined(kept: Scored, other: Scored) -> Scored:
    sources = dict.fromkeys((*kept.candidate.also, other.candidate.source, *other.candidate.also))
    sources.pop(kept.candidate.source, None)
    joined = kept._replace(candidate=kept.candidate._replace(also=tuple(sources)))
    if other.log_odds <= kept.log_odds:
        return joined
    relevance = max(kept.breakdown.relevance, other.breakdown.relevance)
    parts = kept.breakdown._replace(relevance=relevance)
    return joined._replace(score=other.score, log_odds=other.log_odds, breakdown=parts)


# Links that say only that a later message may be about the same count if messages are shown by clauses: then
# `newer_clauses_beside` tells the right clause. Whole messages are too dear for a guess: of LoCoMo such links cost a
# point of the evidence, of BEAM two.


_NEAR_LOG_ODDS = 1.0
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
            may = clauses and older.candidate.evidence.assistant > 0 and newer.log_odds >= older.log_odds - _NEAR_LOG_ODDS
            if ends or may:
                relevance = max(newer.breakdown.relevance, older.breakdown.relevance)
                parts = newer.breakdown._replace(relevance=relevance)
                now[id] = newer._replace(score=older.score, log_odds=older.log_odds, breakdown=parts)
    order = sorted(now.values(), key=lambda item: (-item.log_odds, -item.candidate.created_at.timestamp(), item.rank))
    return tuple(item._replace(rank=rank) for rank, item in enumerate(order, start=1))


# Which messages are linked was found when the later one was recorded, and many links say only that the two have rare
# words in common. Which of their clauses belong together is told here: those that share a word. If one message ended
# the other for certain, the clause that speaks of a change needs no shared word.


_CHANGE_LOG_ODDS = 1.5
"""By how many log-odds a clause that says what changed is preferred among those of a message that makes another one
outdated."""
_ABOVE_LOG_ODDS, _BELOW_LOG_ODDS = 0.5, 0.2
"""By how many log-odds the clause stands above the outdated one, and below it where it only may be about the same."""
_MAX_COMPARED = 16
"""Clauses of a message that are compared with those of another one."""


class LinkedClause(NamedTuple):
    """A clause of a message, with its stems (`text.analyse.stem_set`). `changes` tells whether it says that something changed
    or ended."""

    message: Candidate
    stems: frozenset[int]
    changes: bool


def newer_clauses_beside(
    odds: NDArray[np.float64], clauses: Sequence[LinkedClause], older: Collection[str]
) -> NDArray[np.float64]:
    """Returns the log-odds of the clauses, raised where a clause belongs beside one that it makes outdated: of the messages
    with the ids `older`, and of those that make these outdated in turn."""
    places: dict[str, list[int]] = {}
    for place, clause in enumerate(clauses):
        places.setdefault(clause.message.id, []).append(place)
    messages = {one.message.id: one.message for one in clauses}
    asked = {*older, *(id for one in older if one in messages for id, _ in messages[one].replaced_by)}
    raised = odds.copy()
    for message in sorted((messages[id] for id in asked if id in messages), key=lambda one: (one.created_at, one.id)):
        for id, ends in message.replaced_by:
            if id in places:
                _raise(raised, odds, clauses, places[message.id], places[id], ends)
    return raised


def _raise(
    raised: NDArray[np.float64],
    odds: NDArray[np.float64],
    clauses: Sequence[LinkedClause],
    older: Sequence[int],
    newer: Sequence[int],
    ends: bool,
) -> None:
    """Raises one clause of the newer message. Of each message the most probable clauses are looked at."""
    told = {place: odds[place] + (_CHANGE_LOG_ODDS if clauses[place].changes else 0.0) for place in newer}
    older, newer = nlargest(_MAX_COMPARED, older, raised.__getitem__), nlargest(_MAX_COMPARED, newer, told.__getitem__)
    shared: Mapping[tuple[int, int], int] = {
        (one, other): common for one in older for other in newer if (common := len(clauses[one].stems & clauses[other].stems))
    }
    if ends:
        best = max(raised[place] for place in older)
        fits = {place: told[place] + sum(shared.get((one, place), 0) for one in older) for place in newer}
        place = max(newer, key=lambda place: (fits[place], -place))
        raised[place] = max(raised[place], best + _ABOVE_LOG_ODDS)
    elif shared:
        one, place = max(shared, key=lambda pair: (raised[pair[0]] + shared[pair], told[pair[1]], pair))
        raised[place] = max(raised[place], raised[one] - _BELOW_LOG_ODDS)
