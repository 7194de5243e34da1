"""Beside: puts the clause of a later message that makes an earlier clause outdated, or may, beside that clause (PERSON-4).

Which messages are linked was found when the later one was recorded, and many links say only that the two have rare words in
common. Which of their clauses belong together is told here: those that share a word. Where one ended the other for certain, the
clause that speaks of a change does without.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.types.candidate import Candidate

__all__ = ["LinkedClause", "newer_clauses_beside"]

_TELLS_CHANGE = 1.5
"""By how many log-odds a clause that says what changed is preferred among those of a message that makes another one
outdated."""
_ABOVE, _BELOW = 0.5, 0.2
"""By how many log-odds the clause stands above the outdated one, and below it where it only may be about the same."""
_LOOKED_AT = 16
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
    told = {place: odds[place] + (_TELLS_CHANGE if clauses[place].changes else 0.0) for place in newer}
    older, newer = nlargest(_LOOKED_AT, older, raised.__getitem__), nlargest(_LOOKED_AT, newer, told.__getitem__)
    shared: Mapping[tuple[int, int], int] = {
        (one, other): common for one in older for other in newer if (common := len(clauses[one].stems & clauses[other].stems))
    }
    if ends:
        best = max(raised[place] for place in older)
        fits = {place: told[place] + sum(shared.get((one, place), 0) for one in older) for place in newer}
        place = max(newer, key=lambda place: (fits[place], -place))
        raised[place] = max(raised[place], best + _ABOVE)
    elif shared:
        one, place = max(shared, key=lambda pair: (raised[pair[0]] + shared[pair], told[pair[1]], pair))
        raised[place] = max(raised[place], raised[one] - _BELOW)
