"""Telling: the clauses of a message that may stand in the person's profile, each with how much it tells (PERSON-1).

A clause tells something where it demands something lasting (`rule`), or says what matters about the person (`matters`). It
takes the clauses beside it along where they go on with it: the rest of its sentence, and what tells something itself.

How probable that is say three logistic regressions over the clause's cues, its shape and its words; each in two passes, as
a clause says more beside one that tells something: the second pass sees the log-odds of the clauses before and behind. The
coefficients are data (`worth.toml`), the same for all languages, and say on what they were fitted.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import exp, log1p, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from germane.text.clauses import KINDS, WIDE, Span, clauses, lower_words, only_always, read_cues, sentences
from germane.text.own_words.own_words import own_words

TELLING_VERSION = 1
"""Rises whenever the same text would tell something else: stored clauses of another version are made anew."""
MIN_TELLING = 0.12
"""The least probability of a clause that is kept."""
_MAX_READ = 20_000
"""Characters of a message that are read."""
_MAX_LINES = 12
"""Lines of one message."""
_MAX_LINE = 260
"""Characters of a line that was grown from one clause."""
_MAX_QUOTED = 48
"""Characters of somebody else's words in a clause."""
_BESIDE, _SAME_SENTENCE = 0.12, 0.018
"""The least probability of a clause beside a telling one that goes with it, and of one of the same sentence."""


class TellingClause(NamedTuple):
    """A line of a person's own words: its place in the message's text in characters, and the probabilities that it is a
    standing instruction, and that it says what matters for requests that don't ask for it."""

    start: int
    end: int
    rule: float
    matters: float


def telling_clauses(text: str) -> tuple[TellingClause, ...]:
    """Returns the telling clauses of a message that a person wrote, in order: of the person's own words, so that nothing which
    was pasted, quoted or forwarded tells anything. Pure and linear."""
    hidden = own_words(text[:_MAX_READ])
    spans = [span for span in clauses(hidden) if _own(hidden[slice(*span)])]
    return lines_of(hidden, spans, judge_clauses(hidden, spans))


def _own(clause: str) -> bool:
    """Whether a clause is the writer's, but for a few words that it quotes ("never write “dear all”")."""
    quoted = clause.count("\0")
    return quoted <= _MAX_QUOTED and 2 * quoted <= len(clause)


def lines_of(text: str, spans: Sequence[Span], worths: Sequence[ClauseWorth]) -> tuple[TellingClause, ...]:
    """Returns the lines made of these clauses, in order; no two overlap."""
    telling = [max(worth.rule, worth.matters) for worth in worths]
    order = sorted(range(len(spans)), key=lambda place: (-telling[place], place))
    starts = [start for start, _ in sentences(text)]
    taken, lines = set[int](), list[TellingClause]()
    for place in order:
        if telling[place] < MIN_TELLING or len(lines) == _MAX_LINES:
            break
        if place in taken:
            continue
        first, last = _grown(place, spans, worths, starts, taken)
        while only_always(text[spans[first][0] : spans[last][1]]) and first > 0 and first - 1 not in taken:
            first -= 1  # "every time" belongs to what was said before
        if only_always(text[spans[first][0] : spans[last][1]]):
            continue
        taken.update(range(first, last + 1))
        inside = worths[first : last + 1]
        line = TellingClause(
            spans[first][0], spans[last][1], max(one.rule for one in inside), max(one.matters for one in inside)
        )
        lines.append(line)
    return tuple(sorted(lines))


def _grown(
    place: int, spans: Sequence[Span], worths: Sequence[ClauseWorth], starts: Sequence[int], taken: set[int]
) -> tuple[int, int]:
    """The first and the last clause of the line that grows from this one."""
    rules = worths[place].rule >= worths[place].matters
    sentence = bisect_right(starts, spans[place][0])
    first = last = place

    def goes_on(beside: int) -> bool:
        if not 0 <= beside < len(spans) or beside in taken:
            return False
        size = max(spans[last][1], spans[beside][1]) - min(spans[first][0], spans[beside][0])
        worth = worths[beside]
        likely, other = (worth.rule, worth.matters) if rules else (worth.matters, worth.rule)
        if bisect_right(starts, spans[beside][0]) == sentence:
            return size <= _MAX_LINE and likely >= _SAME_SENTENCE
        return size <= _MAX_LINE and likely >= max(_BESIDE, other)

    while True:
        if goes_on(last + 1):
            last += 1
        elif goes_on(first - 1):
            first -= 1
        else:
            return first, last


# Words: each counts by itself, by its first five letters and with the word before it; of scripts without spaces one to
# three characters do. Each has a weight for each model: the logarithm of how much more often it stands in clauses of
# which the model says yes, shrunk towards 0 where it is rare (naive Bayes). The weights are data (`telling_words.tsv`),
# and say on what they were counted. What stands in no list says nothing: the cues (`text/cues.py`) know kinds of words
# in all languages alike.


MODELS = ("rule", "lasting", "matters")
EVIDENCE = tuple(f"{part}:{model}" for model in MODELS for part in ("words", "most", "least"))
"""For each model the sum of the weights over the square root of their number and one, the highest of them, at least 0, and the
lowest, at most 0."""
WEIGHT_SCALE = 20
"""Weights are stored as whole numbers, so many times as great."""
_PREFIX_LENGTH = 5
_MAX_RUN = 3
_UNSPACED_RUN = re.compile(f"{WIDE.pattern}+")

WordWeights = Mapping[str, tuple[float, ...]]
"""The weights of a token, one for each of `MODELS`."""


def word_tokens(clause: str) -> set[str]:
    """Returns what a clause is judged by: its words, their beginnings (`begin*`), and pairs (`one_other`), also with the
    clause's begin (`^`) and end (`$`). Linear."""
    words = lower_words(clause)
    found = {*words, *(f"{one}_{other}" for one, other in zip(("^", *words), (*words, "$"), strict=True))}
    found.update(f"{word[:_PREFIX_LENGTH]}*" for word in words if len(word) > _PREFIX_LENGTH)
    if not clause.isascii():
        for run in _UNSPACED_RUN.findall(clause):
            found.update(run[at : at + size] for size in range(1, _MAX_RUN + 1) for at in range(len(run) - size + 1))
    return found


def word_evidence(tokens: Collection[str], weights: WordWeights | None = None) -> list[float]:
    """Returns the features of a clause with these tokens, in the order of `EVIDENCE`. Default: the shipped weights."""
    table = _shipped() if weights is None else weights
    known = [row for token in tokens if (row := table.get(token)) is not None]
    if not known:
        return [0.0] * len(EVIDENCE)
    root, features = sqrt(1 + len(known)), list[float]()
    for column in zip(*known, strict=True):
        features += (sum(column) / root, max(0.0, *column), min(0.0, *column))
    return features


@cache
def _shipped() -> WordWeights:
    lines = files("germane.kinds.profile").joinpath("telling_words.tsv").read_text("utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {token: tuple(int(weight) / WEIGHT_SCALE for weight in weights) for token, *weights in rows}


# The worth of a clause: the probabilities that it is a standing instruction, says something lasting, or says what
# matters.


Floats = NDArray[np.float64]
_OPENS = ("i", "mine", "you", "always", "never", "please", "case", "asking", "answering", "empty")
"""Kinds for which it matters that the first word is one."""
_CUE_PAIRS = (
    *(("never", "shape"), ("always", "you"), ("never", "you"), ("case", "i"), ("never", "answering"), ("shape", "answering")),
    *(("please", "always"), ("always", "answering"), ("always", "shape"), ("case", "you"), ("i", "change"), ("i", "never")),
    *(("mine", "people"), ("i", "body"), ("people", "body"), ("people", "taste"), ("never", "taste"), ("shape", "limit")),
    *(("you", "shape"), ("mine", "life"), ("i", "life"), ("i", "taste"), ("mine", "change"), ("please", "shape")),
    *(("please", "never"), ("never", "limit"), ("please", "limit"), ("always", "case"), ("never", "case"), ("always", "never")),
)
_SHAPE = ("number", "names", "question", "exclaims", "words", "words_squared", "ends_in_colon", "clauses", "share")
FEATURES = (
    *KINDS,
    *(f"much:{kind}" for kind in KINDS),
    *(f"opens:{kind}" for kind in _OPENS),
    *(f"{one}:{other}" for one, other in _CUE_PAIRS),
    *_SHAPE,
    *EVIDENCE,
)
"""Each kind as 0 or 1; `much:` its words over half of all, at most 1; `opens:` that the first word is of the kind; pairs of
kinds; and the clause's shape: a number in it, names (0 to 3), ends in a question mark, has an exclamation mark, ln(1 + words)
and its square, whether it ends in a colon, ln(1 + the message's clauses), and its share of the message's characters; and what
its words say (`telling_words.py`). Its place in the message is none: it would tell how the sample was written."""
NEIGHBOURS = ("before", "behind")
_INDEX = {kind: index for index, kind in enumerate(KINDS)}
_NAME = re.compile(r"(?<=[\w,;:)'’\"”] )[A-ZÀ-ÖØ-ÞΑ-ΩА-Я]\w")
_DIGIT = re.compile(r"\d")
_NO_NEIGHBOUR = -4.0
"""The log-odds of a neighbour that there isn't."""


class ClauseWorth(NamedTuple):
    """The probabilities that a clause is a standing instruction; that it says something about the person that may be asked for
    later; and that this matters for other requests, though they don't ask for it: an allergy, a budget, working nights."""

    rule: float
    lasting: float
    matters: float


class _Model(NamedTuple):
    alone: Floats
    beside: Floats
    """Coefficients of the first pass and of the second; the last one is the intercept."""


def judge_clauses(text: str, spans: Sequence[Span]) -> list[ClauseWorth]:
    """Judges each clause of a message. Linear."""
    if not spans:
        return []
    table = clause_features(text, spans)
    odds = (_log_odds(model, table) for model in _models())
    return [ClauseWorth(*map(_probability, row)) for row in zip(*odds, strict=True)]


def clause_features(text: str, spans: Sequence[Span], weights: WordWeights | None = None) -> Floats:
    """Returns the features of the clauses, shape (len(spans), len(FEATURES)). `weights` of words; default: the shipped ones."""
    message = log1p(len(spans)), max(1, len(text))
    return np.array([_features(text[slice(*span)], *message, weights) for span in spans], np.float64)


def with_neighbours(table: Floats, odds: Floats) -> Floats:
    """Returns the table with the log-odds of the clauses before and behind, for the second pass."""
    before, behind = np.concatenate(([_NO_NEIGHBOUR], odds[:-1])), np.concatenate((odds[1:], [_NO_NEIGHBOUR]))
    return np.column_stack((table, before, behind))


def has_number(clause: str) -> bool:
    return _DIGIT.search(clause) is not None


def names_in(clause: str) -> int:
    """Returns how many capitalised words stand inside the clause, at most 3."""
    return min(3, len(_NAME.findall(clause)))


def _log_odds(model: _Model, table: Floats) -> list[float]:
    alone = np.clip(table @ model.alone[:-1] + model.alone[-1], -8, 8)
    beside = with_neighbours(table, alone)
    odds: list[float] = (beside @ model.beside[:-1] + model.beside[-1]).tolist()
    return odds


def _probability(odds: float) -> float:
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))


def _features(clause: str, clauses: float, size_of_all: int, weights: WordWeights | None) -> list[float]:
    cues = read_cues(clause)
    has = [float(number > 0) for number in cues.counts]
    size = max(1, cues.words)
    return [
        *has,
        *(min(1.0, 2.0 * number / size) for number in cues.counts),
        *(float(_INDEX[kind] in cues.first) for kind in _OPENS),
        *(has[_INDEX[one]] * has[_INDEX[other]] for one, other in _CUE_PAIRS),
        *_shape(clause, log1p(size)),
        clauses,
        len(clause) / size_of_all,
        *word_evidence(word_tokens(clause), weights),
    ]


def _shape(clause: str, words: float) -> tuple[float, ...]:
    exclaims = "!" in clause or "！" in clause
    asks, opens = clause.endswith(("?", "？")), clause.endswith((":", "："))
    return (
        float(has_number(clause)),
        float(names_in(clause)),
        float(asks),
        float(exclaims),
        words,
        words * words,
        float(opens),
    )


@cache
def _models() -> tuple[_Model, ...]:
    tables = tomllib.loads(files("germane.kinds.profile").joinpath("worth.toml").read_text("utf-8"))
    return tuple(_Model(_row(tables[name]["alone"]), _row(tables[name]["beside"], NEIGHBOURS)) for name in MODELS)


def _row(table: Mapping[str, float], also: Sequence[str] = ()) -> Floats:
    return np.array([*(table.get(name, 0.0) for name in (*FEATURES, *also)), table["intercept"]])
