"""Relevance: P(relevant) of what a search found, comparable across sources (SCORE-2), of clauses, and P(need)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import chain
from math import log, log1p
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.text.clauses import KINDS, read_cues
from germane.types.evidence import FEATURES, REASONS, Evidence
from germane.types.query import Query

_MODEL_COLUMNS = ("people", "people_lexical", "assistant", "assistant_lexical")
_KINDS = len(_MODEL_COLUMNS) // 2
_OWN, _COS_OWN, _COS_WINDOW, _SOFT, _LENGTH, _ASSISTANT = (
    FEATURES.index(name) for name in ("own", "cos_own", "cos_window", "soft", "length", "assistant")
)
_BESIDES = [FEATURES.index(name) for name in REASONS]


@dataclass(frozen=True, slots=True)
class Relevance:
    """The model's coefficients.

    `weights`, shape (4, len(COEFFICIENTS)), has a row for each column of the model (people, people_lexical, assistant,
    assistant_lexical); `intercepts` has shape (4,). `reasons`, shape (5,), holds the probability that each reason
    (structured, history, recent, day_asked, outline) gives at full strength. `need` tells whether anything of what was
    found is needed at all.
    """

    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    reasons: NDArray[np.float64]
    need: NeedModel

    @classmethod
    def parse(cls, table: Mapping[str, Mapping[str, float]]) -> Relevance:
        """Reads the model from TOML tables, one for each column of the model; without a table `need`, P(need) is the shipped
        model's. Raises `InvalidInput` for a missing column, an unknown feature or reason, and a reason outside [0, 1]."""
        weights, intercepts = np.zeros((len(_MODEL_COLUMNS), len(COEFFICIENTS))), np.zeros(len(_MODEL_COLUMNS))
        for row, column in enumerate(_MODEL_COLUMNS):
            if column not in table:
                raise InvalidInput("relevance model: the column {} is missing", column)
            entries = dict(table[column])
            intercepts[row] = entries.pop("intercept", 0.0)
            for feature, weight in entries.items():
                if feature not in COEFFICIENTS:
                    raise InvalidInput(f"relevance model: {column} names the unknown feature {{}}", feature)
                weights[row, COEFFICIENTS.index(feature)] = weight
        reasons = table.get("reasons", {})
        for reason, probability in reasons.items():
            if reason not in REASONS or not 0 <= probability <= 1:
                raise InvalidInput(f"relevance model: {{}} = {probability} isn't one of {', '.join(REASONS)} in [0, 1]", reason)
        need = NeedModel.parse(table) if NEED_COLUMNS[0] in table else shipped().need
        return cls(weights, intercepts, np.array([reasons.get(name, 0.0) for name in REASONS]), need)

    def log_odds(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the log-odds of relevance, shape (len(table),); P is their σ. `table` has one row for each item, in the form
        that `matrix` returns."""
        missing = np.isnan(table)
        row = np.where(table[:, _ASSISTANT] > 0, _KINDS, 0) + missing[:, _COS_WINDOW]
        terms = design(_complete(table, missing))
        likeness: NDArray[np.float64] = np.einsum("nc,nc->n", terms, self.weights[row]) + self.intercepts[row]
        reasons = table[:, _BESIDES]
        if not reasons.any():
            return likeness
        besides = 1 - np.prod(1 - reasons**2 * self.reasons, axis=1)
        alike = sigmoid(likeness)
        neither = np.maximum((1 - alike) * (1 - besides), 1e-12)
        odds: NDArray[np.float64] = np.where(besides > 0, np.log(alike + (1 - alike) * besides) - np.log(neither), likeness)
        return odds


def _complete(table: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Fills in missing features with neutral values: 0 for a cosine; for `soft` the value that a regression on BM25, length and
    cosine predicts (it explains 83 % of the variance)."""
    filled = np.where(missing, 0.0, table)
    unread = np.flatnonzero(missing[:, _SOFT])
    if len(unread):
        cosine = np.where(missing[unread, _COS_OWN], 0.2, table[unread, _COS_OWN])
        guess = 0.09 + 0.65 * filled[unread, _OWN] + 0.057 * filled[unread, _LENGTH] + 0.15 * cosine
        filled[unread, _SOFT] = np.clip(guess, 0.0, 1.0)
    return filled


def matrix(evidence: Sequence[Evidence]) -> NDArray[np.float64]:
    """Returns the evidence as a table, shape (len(evidence), len(FEATURES)); a missing feature is NaN."""
    values = np.fromiter(chain.from_iterable(evidence), np.float64, len(evidence) * len(FEATURES))
    return values.reshape(len(evidence), len(FEATURES))


@cache
def shipped(*, contextual: bool = False) -> Relevance:
    """Returns the model that comes with germane. The default one was fitted with the default embedder. The `contextual` one was
    fitted with MiniLM, for embedders that read a text as a whole, whose cosines are distributed alike."""
    name = "relevance_contextual.toml" if contextual else "relevance.toml"
    text = files("germane.search").joinpath(name).read_text("utf-8")
    table = {name: part for name, part in tomllib.loads(text).items() if name in (*_MODEL_COLUMNS, "reasons", *NEED_COLUMNS)}
    return Relevance.parse(table)


# The features whose product with the query's length has a coefficient of its own. The same strength of a match says
# something else for a query of four words than for one of twelve. A coefficient's name is the feature's, or for a
# product both names with a colon between, as statistics programs write an interaction: `own:terms`. Squares and
# products of features with one another would fit better and aren't in the model: they bend the probability of near-
# perfect matches down, of which the data have few.


_BY_TERMS = ("own", "window", "session", "before", "after", "cos_window", "soft", "phrase")
_PRODUCTS: Final = tuple((name, "terms") for name in _BY_TERMS)
_ONE, _OTHER = ([FEATURES.index(pair[side]) for pair in _PRODUCTS] for side in (0, 1))

COEFFICIENTS: tuple[str, ...] = (*FEATURES, *(f"{one}:{other}" for one, other in _PRODUCTS))


def design(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns features and products, shape (n, len(COEFFICIENTS)), of a table of features without gaps, shape
    (n, len(FEATURES))."""
    return np.concatenate((table, table[:, _ONE] * table[:, _OTHER]), axis=1)


# The model of P(need), the probability that anything stored helps with a request (NEED-1). It is a logistic regression
# over what the search found and over the request itself, with two columns of coefficients: with vectors and without. It
# is never below the probability of the best item: P(need) = 1 − (1 − σ(w · x)) · (1 − P(best)).


Floats = NDArray[np.float64]

NEED_COLUMNS = ("need", "need_lexical")
NEED_ROWS = 50
"""The best candidates that are looked at."""
NEED_BEST = 10
"""Candidates over which the best value of a feature is taken."""
_OF_THE_BEST = ("own", "window", "session", "soft", "cos_own", "cos_window", "speaker")
NEED_FEATURES = ("best", "total", "gap", "assistant", "terms", "long", "question", "personal", *_OF_THE_BEST)
"""`best` is the log-odds of the best candidate, `total` ln Σ P over the best 50, `gap` the log-odds between the best and the
tenth. `assistant` says that the best was said in a chat with an assistant. `terms` is ln(1 + content words of the request), and
`long` ln(1 + words) above 3.5, of requests that bring their own text; `question` says that it asks something, `personal` that
it speaks of the user's own affairs. The others are the highest values among the best ten."""
_BEST_COLUMNS = [FEATURES.index(name) for name in _OF_THE_BEST]
_ASSISTANT_COLUMN, _COS_WINDOW_COLUMN = FEATURES.index("assistant"), FEATURES.index("cos_window")
_LONG_REQUEST = 3.5


class Asked(NamedTuple):
    """What the model looks at of the request itself: its content words, all its words, whether it asks something, and whether
    it is personal."""

    terms: int
    words: int
    asks: bool
    personal: bool

    @classmethod
    def of(cls, query: Query) -> Asked:
        """What the question itself says; terms borrowed from the turns before don't count."""
        return cls(len(query.terms) - query.borrowed, query.words, query.question, query.personal)


def need_features(table: Floats, odds: Floats, asked: Asked) -> Floats:
    """Returns the features of one request, shape (len(NEED_FEATURES),). `table` and `odds` are evidence and log-odds of at
    least one candidate, the best `NEED_ROWS` of them, best first; of those beyond the best `NEED_BEST` the log-odds do."""
    best = np.nan_to_num(table[:NEED_BEST])
    total = np.log(np.sum(sigmoid(odds)))
    gap = odds[0] - odds[min(NEED_BEST, len(odds)) - 1]
    request = (
        best[0, _ASSISTANT_COLUMN],
        log1p(asked.terms),
        max(0.0, log1p(asked.words) - _LONG_REQUEST),
        asked.asks,
        asked.personal,
    )
    return np.array([odds[0], total, gap, *request, *best[:, _BEST_COLUMNS].max(axis=0)])


@dataclass(frozen=True, slots=True)
class NeedModel:
    """The coefficients: `weights` has shape (2, len(NEED_FEATURES)), `intercepts` shape (2,): with vectors, without."""

    weights: Floats
    intercepts: Floats

    @classmethod
    def parse(cls, tables: Mapping[str, Mapping[str, float]]) -> NeedModel:
        """Reads the tables `need` and `need_lexical`; the first stands for the second where that is missing. Raises
        `InvalidInput` for an unknown feature."""
        weights, intercepts = np.zeros((2, len(NEED_FEATURES))), np.zeros(2)
        for row, column in enumerate(NEED_COLUMNS):
            entries = dict(tables.get(column, tables["need"]))
            intercepts[row] = entries.pop("intercept", 0.0)
            if strangers := sorted(set(entries) - set(NEED_FEATURES)):
                raise InvalidInput(f"relevance model: {column} names the unknown feature {{}}", strangers[0])
            weights[row] = [entries.get(name, 0.0) for name in NEED_FEATURES]
        return cls(weights, intercepts)

    def probability(self, table: Floats, odds: Floats, asked: Asked) -> float:
        """Returns P(need), in [0, 1]; 0 where nothing was found. The arguments are those of `need_features`. Where only the
        log-odds are known of all that was found (`table` is empty), P(need) is the probability of the best."""
        if not len(odds):
            return 0.0
        if not len(table):
            return float(sigmoid(odds[:1])[0])
        column = int(bool(np.isnan(table[0, _COS_WINDOW_COLUMN])))
        features = need_features(table, odds, asked)
        score = float(np.clip(self.weights[column] @ features + self.intercepts[column], -60, 60))
        unlikely = 1 / (1 + np.exp(score)) * (1 / (1 + np.exp(np.clip(odds[0], -60, 60))))
        return float(1 - unlikely)


# The feature of the second pass of a search: how likely the units around a unit are relevant. An answer stands in an
# exchange whose other messages fit the question too. A window's BM25 and vector know the words around a unit; this
# feature knows all other evidence for them as well (who speaks, which day, which words of similar meaning).


_DECAY = np.array([1.0, 0.7, 0.4, 0.2])
NEIGHBOUR_STEPS = len(_DECAY)
_NEGLIGIBLE = 1e-3
"""A sum of probabilities far below this counts next to nothing, so a unit that wasn't looked at may count as irrelevant."""


def neighbours(near: NDArray[np.intp], log_odds: Floats) -> Floats:
    """Returns the feature for n rows, shape (n,). `near`, shape (2, steps, n), has the indices of the units so many steps
    before and after each row, −1 where there is none. `log_odds` come from all other evidence."""
    likely = np.append(sigmoid(log_odds), 0.0)
    around: Floats = np.einsum("s,dsn->n", _DECAY, likely.take(near))
    return np.log1p(around / _NEGLIGIBLE)


def links(walked: NDArray[np.int32], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Returns the argument `near` for some rows of a partition, from what `Snapshot.walk` returns for them: units that aren't
    among `rows` are left out, so a unit that the caller may not see tells nothing."""
    order = rows.argsort()
    ordered = rows.take(order)
    near = walked[:, :NEIGHBOUR_STEPS].astype(np.intp)
    where = ordered.searchsorted(near)
    return np.where(ordered.take(where, mode="clip") == near, order.take(where, mode="clip"), -1)


_MAX_LOG_ODDS = 60.0
"""Log-odds beyond this hardly change the probability; beyond 709 the exponential would overflow."""


def sigmoid(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns σ(x) = 1 / (1 + e⁻ˣ), of the argument's shape."""
    return 1 / (1 + np.exp(-np.maximum(np.minimum(log_odds, _MAX_LOG_ODDS), -_MAX_LOG_ODDS)))


# Clause relevance: how probable it is that one clause of a message holds what a request needs, given the message's log-
# odds. A message of a chat says several things, of which a request needs one. The model is a logistic regression over
# the message's log-odds of relevance, the query's words in the clause, and what kind of clause it is. Its coefficients
# are data (`clause_relevance.toml`) that say on what they were fitted.


CLAUSE_FEATURES = (
    *("message", "gap", "rank", "matched", "weight", "user", "words", "number", "names", "question", "first"),
    *("lasting", "rule", "late", "own_words_asked", "answer_asked"),
)
"""`message` is the message's log-odds, `gap` how far that is below the best message's, `rank` ln(1 + its place among the
messages). `weight` is the weight (idf) of the query's terms that stand in the clause, an eighth of their sum, and `matched` is
its share of the weight of all terms that stand anywhere. `user` is 1 for a user's message; `words` is ln(1 + words); `number`,
`names` (0 to 3), `question` and `first` describe the clause; `lasting` and `rule` are the log-odds that it says something
lasting, and demands it (`kinds/profile/telling.py`); `late` is the share of the messages that are older. `answer_asked` is 1
for an assistant's message where the request speaks of "you", `own_words_asked` for a user's where it doesn't. How many clauses
the message has isn't among them: it means another thing in every collection."""


_CLAUSE_KINDS = tuple(f"has:{kind}" for kind in KINDS) + tuple(f"much:{kind}" for kind in KINDS)
CLAUSE_NEED = (
    *NEED_FEATURES,
    "clause_best",
    "clause_five",
    "clause_all",
    "clause_gap",
    *_CLAUSE_KINDS,
    "length",
    "dated",
    "named",
)
"""Features of P(need) where clauses are shown: those of `search/relevance.py`; ln P of the best clause, ln Σ P of the best five
and of all, and how far the fifth is below the best; the cues of the request, each as 0 or 1 and as its share of the words; ln(1
+ words), whether it names a day, and how many names (0 to 3)."""
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
