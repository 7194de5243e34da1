"""Clause relevance: how probable it is that one clause of a message holds what a request needs, given the message's log-odds.

A message of a chat says several things, of which a request needs one. The model is a logistic regression over the message's
log-odds of relevance, the query's words in the clause, and what kind of clause it is. Its coefficients are data
(`clause_relevance.toml`) that say on what they were fitted.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from math import log, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.search.need import NEED_FEATURES
from germane.search.sigmoid import sigmoid
from germane.text.cues import KINDS, read_cues
from germane.types.query import Query

__all__ = [
    "CLAUSE_FEATURES",
    "CLAUSE_NEED",
    "ClauseTraits",
    "MessageFacts",
    "clause_log_odds",
    "clause_need",
    "clause_need_row",
    "clause_row",
]

CLAUSE_FEATURES = (
    *("message", "gap", "rank", "matched", "weight", "user", "words", "number", "names", "question", "first"),
    *("lasting", "rule", "late", "own_words_asked", "answer_asked"),
)
"""`message` is the message's log-odds, `gap` how far that is below the best message's, `rank` ln(1 + its place among the
messages). `weight` is the weight (idf) of the query's terms that stand in the clause, an eighth of their sum, and `matched` is
its share of the weight of all terms that stand anywhere. `user` is 1 for a user's message; `words` is ln(1 + words); `number`,
`names` (0 to 3), `question` and `first` describe the clause; `lasting` and `rule` are the log-odds that it says something
lasting, and demands it (`profile/worth.py`); `late` is the share of the messages that are older. `answer_asked` is 1 for an
assistant's message where the request speaks of "you", `own_words_asked` for a user's where it doesn't. How many clauses the
message has isn't among them: it means another thing in every collection."""


_KINDS = tuple(f"has:{kind}" for kind in KINDS) + tuple(f"much:{kind}" for kind in KINDS)
CLAUSE_NEED = (*NEED_FEATURES, "clause_best", "clause_five", "clause_all", "clause_gap", *_KINDS, "length", "dated", "named")
"""Features of P(need) where clauses are shown: those of `search/need.py`; ln P of the best clause, ln Σ P of the best five and
of all, and how far the fifth is below the best; the cues of the request, each as 0 or 1 and as its share of the words; ln(1 +
words), whether it names a day, and how many names (0 to 3)."""
_FIVE = 5


class ClauseTraits(NamedTuple):
    """What a clause is like, whatever the query."""

    words: int
    number: bool
    names: int
    question: bool
    first: bool
    lasting: float
    rule: float
    changes: bool = False
    """Whether it says that something changed or ended. No feature: it tells which clause stands beside what it makes
    outdated."""


class MessageFacts(NamedTuple):
    """What all clauses of one message have in common in one request; see `CLAUSE_FEATURES`."""

    log_odds: float
    gap: float
    place: int
    late: float
    user: bool
    addresses: bool
    """Whether the request speaks of "you"."""


def clause_row(traits: ClauseTraits, message: MessageFacts, *, weight: float, all_weight: float) -> tuple[float, ...]:
    """Returns the features of a clause, in the order of `CLAUSE_FEATURES`. `weight` is that of the query's terms in the clause,
    `all_weight` that of all its terms that stand anywhere."""
    return (
        message.log_odds,
        message.gap,
        log1p(message.place),
        weight / all_weight if all_weight else 0.0,
        weight / 8,
        float(message.user),
        log1p(traits.words),
        float(traits.number),
        float(traits.names),
        float(traits.question),
        float(traits.first),
        traits.lasting,
        traits.rule,
        message.late,
        float(message.user and not message.addresses),
        float(message.addresses and not message.user),
    )


def clause_log_odds(rows: Sequence[tuple[float, ...]]) -> NDArray[np.float64]:
    """Returns the log-odds of clauses with these features, shape (len(rows),)."""
    weights = _weights("clause", CLAUSE_FEATURES)
    odds: NDArray[np.float64] = np.array(rows, np.float64).reshape(len(rows), len(CLAUSE_FEATURES)) @ weights[:-1] + weights[-1]
    return odds


def clause_need_row(found: NDArray[np.float64], chances: NDArray[np.float64], query: Query) -> NDArray[np.float64]:
    """Returns the features of P(need), in the order of `CLAUSE_NEED`. `found` are those of `search.need.need_features`;
    `chances` the probabilities of the clauses, in any order, at least one."""
    best = np.sort(chances)[::-1]
    cues = read_cues(query.text)
    size = max(1, cues.words)
    return np.array(
        [
            *found,
            log(best[0]),
            log(best[:_FIVE].sum()),
            log(best.sum()),
            log(best[0] / best[min(_FIVE, len(best)) - 1]),
            *(float(count > 0) for count in cues.counts),
            *(min(1.0, 2.0 * count / size) for count in cues.counts),
            log1p(cues.words),
            float(len(query.days) > 0),
            float(min(3, len(query.names))),
        ]
    )


def clause_need(row: NDArray[np.float64]) -> float:
    """Returns P(need) for such features."""
    weights = _weights("need", CLAUSE_NEED)
    return float(sigmoid(np.array([row @ weights[:-1] + weights[-1]]))[0])


@cache
def _weights(name: str, features: tuple[str, ...]) -> NDArray[np.float64]:
    table = tomllib.loads(files("germane.search").joinpath("clause_relevance.toml").read_text("utf-8"))[name]
    return np.array([*(table.get(feature, 0.0) for feature in features), table["intercept"]])
