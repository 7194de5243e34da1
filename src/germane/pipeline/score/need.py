"""Need: P(need) of a request, from the candidates that the search found and from the request's words (NEED-1)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.compaction.shown_line import OUTLINE
from germane.search.need import NEED_BEST, NEED_ROWS, Asked, need_features
from germane.search.relevance import Relevance, matrix
from germane.types.amount import Need
from germane.types.candidate import Candidate, Scored
from germane.types.evidence import FEATURES
from germane.types.query import Query
from germane.types.unread import Unread

__all__ = ["Assessed", "assess_need", "best_searched"]

_UNSEARCHED = frozenset(
    (
        *("blocks", "continuity", "entities", "events", "history", "outline", "patterns", "profile", "recent"),
        *("relations", "structured", "tasks"),
    )
)
"""Sources that search no text of their own, most of which offer the same whatever the question is."""
_OF_WHAT_WAS_SAID = 0.9
"""P(need) at least, where an overview of the user's own affairs is asked for and there is an outline: its words needn't be like
anything stored ("summarise what we discussed"). Set by hand: of 880 labelled turns without need none asks for that."""
_CURATED = FEATURES.index("curated")
_RECENT = [FEATURES.index(name) for name in ("history", "recent")]


class Assessed(NamedTuple):
    """P(need), and the features that it was judged by; None where nothing was found."""

    need: Need
    features: NDArray[np.float64] | None = None


def assess_need(
    ranked: Sequence[Scored], query: Query, relevance: Relevance, threshold: float, unread: Sequence[Unread] = ()
) -> Assessed:
    """The probability that anything stored helps. `ranked` must stand in score order; `unread` is less probable than the best
    of it. What no search found isn't looked at, as what is brought beside another item, nor what is required and goes in
    anyway, nor that a message is recent or that rules extracted something: none of it says that the request needs more. A
    threshold of 0 is always met and costs no work."""
    if not threshold:
        return Assessed(Need(1.0, 0.0))
    found = list(islice((item.candidate for item in ranked if _is_searched(item.candidate)), NEED_ROWS))
    table = matrix([candidate.evidence for candidate in found])
    table[:, _RECENT] = 0.0
    table[["extracted" in candidate.provenance.metadata for candidate in found], _CURATED] = 0.0
    odds = relevance.log_odds(table)
    order = np.argsort(-odds, kind="stable")
    rest = np.array([item.log_odds for item in unread])
    best, others = odds[order[:NEED_BEST]], np.concatenate((odds[order[NEED_BEST:]], rest))
    odds = np.concatenate((best, np.sort(others)[::-1]))[:NEED_ROWS]
    asked = Asked.of(query)
    probability = relevance.need.probability(table[order], odds, asked)
    if query.broad and query.personal and any(item.candidate.source == OUTLINE for item in ranked):
        probability = max(probability, _OF_WHAT_WAS_SAID)
    return Assessed(Need(probability, threshold), need_features(table[order], odds, asked) if found else None)


def best_searched(ranked: Sequence[Scored]) -> float:
    """The probability of the best that a search found, whole or clause by clause: the request needs something at least as
    probably. `ranked` must stand in score order."""
    return next((item.score for item in ranked if _is_searched(item.candidate)), 0.0)


def _is_searched(candidate: Candidate) -> bool:
    return not (candidate.required or candidate.only_from(_UNSEARCHED)) and candidate.evidence.searched
