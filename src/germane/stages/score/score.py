"""Score: computes one comparable score per candidate, the floor under it, and P(need) of the request.

A score has five parts, in one of two forms (SCORE-1, SCORE-4). Candidates below the floor aren't worth any tokens (SCORE-5).
P(need) is assessed from the candidates that the search found and from the request's words (NEED-1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from math import exp, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.kinds.conversations.outline import OUTLINE
from germane.search.relevance import NEED_BEST, NEED_ROWS, Asked, Relevance, matrix, need_features, sigmoid
from germane.text.normal import fold
from germane.types.budget import Need
from germane.types.candidate import Breakdown, Candidate, Scored
from germane.types.evidence import FEATURES, Unread
from germane.types.query import Query
from germane.types.strategy import HALF_LIVES, Strategy

_FULL_FREQUENCY = 50
"""Retrievals at which `frequency` reaches 1."""


def score(
    candidates: Sequence[Candidate], strategy: Strategy, at: datetime, relevance: Relevance, query: Query | None = None
) -> tuple[Scored, ...]:
    """The candidates in score order: highest score first, then the newer, then by id. `rank` counts from 1.

    The log-odds form is σ(logit P + Σ wᵢ · (xᵢ − ½)), where P is the probability of being relevant and xᵢ are the other parts,
    in [0, 1]: they move the odds a little, but can't outweigh relevance. The linear form is Σ wᵢ · xᵢ, with relevance rescaled
    to [0, 1] in log-odds, and boosted by the words of the `query` as the strategy says.
    """
    if not candidates:
        return ()
    odds = with_priors(relevance.log_odds(matrix([candidate.evidence for candidate in candidates])), candidates)
    odds = less_on_other_days(odds, candidates, query)
    relevant = sigmoid(odds)
    if strategy.form == "linear":
        scaled = np.clip((odds - LOW_LOG_ODDS) / (HIGH_LOG_ODDS - LOW_LOG_ODDS), 0.0, 1.0)
        relevant = boosted(scaled, candidates, strategy, at, query)
    parts = np.column_stack(  # in the order of `Breakdown`
        [
            relevant,
            recency(candidates, at, strategy.half_lives),
            [_usefulness(candidate) for candidate in candidates],
            np.clip([candidate.confidence for candidate in candidates], 0.0, 1.0),
            [frequency(candidate.retrievals) for candidate in candidates],
        ]
    )
    weights = strategy.weights
    vector = np.array([weights.relevance, weights.recency, weights.usefulness, weights.confidence, weights.frequency])
    if strategy.form == "linear":
        scores = parts @ vector
        odds = np.log(np.maximum(scores, 1e-12))
    else:
        odds = odds + (parts[:, 1:] - 0.5) @ vector[1:]
        scores = sigmoid(odds)
    rows = zip(candidates, scores.tolist(), odds.tolist(), parts.tolist(), strict=True)
    order = sorted(rows, key=lambda row: row[0].id)
    order.sort(key=lambda row: (row[2], row[0].created_at), reverse=True)
    return tuple(
        Scored(candidate, value, log_odds, Breakdown(*row), rank)
        for rank, (candidate, value, log_odds, row) in enumerate(order, start=1)
    )


def message_spread(strategy: Strategy) -> float | None:
    """By how many log-odds `score` may move one message against another, of which it knows nothing but their relevance and how
    recent they are. None in the linear form, where relevance may weigh as little as the others."""
    return strategy.weights.recency if strategy.form == "log-odds" else None


def usefulness(helpful: int, harmful: int) -> float:
    """Laplace's rule of succession, (helpful + 1) / (helpful + harmful + 2): ½ without any feedback."""
    return (helpful + 1) / (helpful + harmful + 2)


def _usefulness(candidate: Candidate) -> float:
    return usefulness(candidate.helpful, candidate.harmful) if candidate.graph is None else candidate.graph.salience


def frequency(retrievals: int) -> float:
    """How often an item was injected, in [0, 1]; 1 from 50 retrievals on."""
    return min(1.0, retrievals / _FULL_FREQUENCY)


# What the graph and the days asked about say of a candidate, joined with what its evidence says (SCORE-2).


_MAX_PRIOR = 0.999
_OTHER_DAY, _EVIDENT = 2.0, 0.45
"""By how many log-odds something of another day is less probable where the day's own messages were found, and
from which evidence they count as such. Set by hand: few labelled questions name a day."""


def with_priors(odds: NDArray[np.float64], candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """The log-odds of relevance with each candidate's prior, by noisy-or: 1 − (1 − P) (1 − prior). The same array where no
    candidate has a prior; shape (candidates,)."""
    if all(candidate.graph is None for candidate in candidates):
        return odds
    given = (0.0 if candidate.graph is None else candidate.graph.prior for candidate in candidates)
    priors = np.clip(np.fromiter(given, np.float64, len(candidates)), 0.0, _MAX_PRIOR)
    alike = sigmoid(odds)
    either = alike + (1 - alike) * priors
    return np.where(priors > 0, np.log(np.maximum(either, 1e-12)) - np.log(np.maximum(1 - either, 1e-12)), odds)


def less_on_other_days(odds: NDArray[np.float64], candidates: Sequence[Candidate], query: Query | None) -> NDArray[np.float64]:
    """The log-odds, lower for what isn't of the days where the request asks about past days and messages of
    them are among the candidates (PERSON-5). The same array where that isn't so; shape (candidates,)."""
    if query is None or query.asked_day is None:
        return odds
    asked = np.fromiter((candidate.evidence.day_asked for candidate in candidates), np.float64, len(candidates))
    return np.where(asked > 0, odds, odds - _OTHER_DAY) if asked.max(initial=0.0) >= _EVIDENT else odds


# The part of a score that halves with each half-life of an item's age (SCORE-3).


_SECONDS_PER_DAY = 86400.0


def recency(candidates: Sequence[Candidate], at: datetime, half_lives: Mapping[str, float]) -> NDArray[np.float64]:
    """The recency of each candidate at time `at`, in (0, 1], shape (candidates,). Half-lives are in days, by kind.

    The recency is 0.5 ^ (age / half-life). A time in the future counts as now. A candidate of several kinds has the shortest
    of their half-lives, but something done that of its event type, where that is listed. A candidate of no listed kind has the
    longest of all. An empty mapping stands for `HALF_LIVES`.
    """
    half_lives = half_lives or HALF_LIVES
    now = at.timestamp()
    ages = np.fromiter((now - candidate.created_at.timestamp() for candidate in candidates), np.float64, len(candidates))
    sorts = [(candidate.event_type,) if candidate.event_type in half_lives else candidate.kinds for candidate in candidates]
    known = {kinds: _half_life(kinds, half_lives) for kinds in set(sorts)}
    lives = np.fromiter((known[kinds] for kinds in sorts), np.float64, len(candidates))
    return np.exp2(-np.maximum(ages, 0.0) / (lives * _SECONDS_PER_DAY))


def _half_life(kinds: tuple[str, ...], half_lives: Mapping[str, float]) -> float:
    known = [half_lives[kind] for kind in kinds if kind in half_lives]
    return min(known) if known else max(half_lives.values())


# Boosts raise the relevance of what a search found by the query's words in it, and for being new (GRAPH-6). They belong
# to the linear form, for archetypes. The log-odds form has none: there the words are evidence already, weighed by how
# rare they are, and recency is a part of the score.


_NEW_AGE = timedelta(days=1)
_BLANKED_EDGES = str.maketrans(dict.fromkeys(".,;:!?()[]{}<>\"'`*", " "))


def boosted(
    relevance: NDArray[np.float64], candidates: Sequence[Candidate], strategy: Strategy, at: datetime, query: Query | None
) -> NDArray[np.float64]:
    """The relevance of each candidate that a search found, times 1 + `word_boost` × the number of the query's words that stand
    in its text as whole words, times `day_boost` where it is younger than a day; clamped to 1. The same array where the
    strategy boosts nothing. A word that stands there twice counts once."""
    if not strategy.word_boost and strategy.day_boost == 1:
        return relevance
    wanted = frozenset(term.word for term in query.terms) if query is not None else frozenset[str]()
    factors = np.ones(len(candidates))
    for index, candidate in enumerate(candidates):
        if not candidate.evidence.compared:
            continue
        factors[index] += strategy.word_boost * len(wanted.intersection(fold(candidate.text).translate(_BLANKED_EDGES).split()))
        if timedelta() <= at - candidate.created_at < _NEW_AGE:
            factors[index] *= strategy.day_boost
    return np.minimum(1.0, relevance * factors)


# The floor (SCORE-5).


LOW_LOG_ODDS, HIGH_LOG_ODDS = log(0.001 / 0.999), log(0.9 / 0.1)
"""The linear form's relevance runs from 0 at P = 0.001 to 1 at P = 0.9, linearly in log-odds; fixed, whatever the
candidates."""


def min_relevance(strategy: Strategy) -> float:
    """The strategy's floor as a probability P(relevant), in [0, 1]."""
    if strategy.form != "linear" or not strategy.floor:
        return strategy.floor
    return 1 / (1 + exp(-(LOW_LOG_ODDS + strategy.floor * (HIGH_LOG_ODDS - LOW_LOG_ODDS))))


def split_at_floor(ranked: Iterable[Scored], floor: float) -> tuple[tuple[Scored, ...], tuple[Scored, ...]]:
    """Items to keep and items to drop, each in the given order.

    The floor is compared with the relevance part (calibrated P, or the linear form's scaled relevance), not with the score:
    being new doesn't make an item relevant. Required items are always kept.
    """
    kept: list[Scored] = []
    dropped: list[Scored] = []
    for item in ranked:
        (kept if item.candidate.required or item.breakdown.relevance >= floor else dropped).append(item)
    return tuple(kept), tuple(dropped)


# P(need) of a request (NEED-1).


_OVERVIEW_NEED = 0.9
"""P(need) at least, where an overview of the user's own affairs is asked for and there is an outline: its words needn't be like
anything stored ("summarise what we discussed"). Set by hand: of 880 labelled turns without need none asks for that."""
_CURATED_FEATURE = FEATURES.index("curated")
_RECENT_FEATURES = [FEATURES.index(name) for name in ("history", "recent")]


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
    table[:, _RECENT_FEATURES] = 0.0
    table[["extracted" in candidate.provenance.metadata for candidate in found], _CURATED_FEATURE] = 0.0
    odds = relevance.log_odds(table)
    order = np.argsort(-odds, kind="stable")
    rest = np.array([item.log_odds for item in unread])
    best, others = odds[order[:NEED_BEST]], np.concatenate((odds[order[NEED_BEST:]], rest))
    odds = np.concatenate((best, np.sort(others)[::-1]))[:NEED_ROWS]
    asked = Asked.of(query)
    probability = relevance.need.probability(table[order], odds, asked)
    if query.broad and query.personal and any(item.candidate.source == OUTLINE for item in ranked):
        probability = max(probability, _OVERVIEW_NEED)
    return Assessed(Need(probability, threshold), need_features(table[order], odds, asked) if found else None)


def best_searched(ranked: Sequence[Scored]) -> float:
    """The probability of the best that a search found, whole or clause by clause: the request needs something at least as
    probably. `ranked` must stand in score order."""
    return next((item.score for item in ranked if _is_searched(item.candidate)), 0.0)


def _is_searched(candidate: Candidate) -> bool:
    return not candidate.required and candidate.evidence.searched


# Candidates in their sources' own order, for when there is no time to score them (ENGINE-12).


_NO_BREAKDOWN = Breakdown(relevance=0.0, recency=0.0, usefulness=0.0, confidence=0.0, frequency=0.0)
_LOWEST_LOG_ODDS = -60.0


def in_source_order(candidates: Sequence[Candidate]) -> tuple[Scored, ...]:
    """The candidates, required ones first, then the first of each source, the second of each, and so on. Each source's best
    must come first. The scores are 0."""
    places, seen = list[tuple[bool, int]](), Counter[str]()
    for candidate in candidates:
        places.append((not candidate.required, seen[candidate.source]))
        seen[candidate.source] += 1
    order = sorted(range(len(candidates)), key=places.__getitem__)
    return tuple(
        Scored(candidate=candidates[index], score=0.0, log_odds=_LOWEST_LOG_ODDS, breakdown=_NO_BREAKDOWN, rank=rank)
        for rank, index in enumerate(order, start=1)
    )
