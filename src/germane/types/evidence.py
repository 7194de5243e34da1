"""Evidence: the features that speak for the relevance of a search result, not weighed yet; and the results.

Each feature is scaled by fixed references of the query and the corpus (the best BM25 that the query's terms could reach, a
cosine's own range) and never by the other candidates, so it means the same in a store of ten and of a million (SCORE-2).
`search/relevance.py` turns the features into P(relevant). None for a cosine means that there was no vector. `Hit` is a result
with its evidence, `Unread` one whose text wasn't read, as it can't be worth its tokens or as the caller needs none, and
`Found` is all that a search returns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp
from typing import Generic, Literal, NamedTuple, TypeVar


class Evidence(NamedTuple):
    """One number a feature. Pass them by name; only `of`, which makes hundreds, passes them in the order of `FEATURES`. A named
    tuple, because making one takes a tenth of the time of a dataclass."""

    own: float = 0.0
    """BM25 of the unit itself, over the best the query could reach, [0, 1]."""
    window: float = 0.0
    """BM25 of previous + this + next message of the session as one document, [0, 1]."""
    session: float = 0.0
    """BM25 of the whole session (of a block of it when it is long), [0, 1]."""
    before: float = 0.0
    """BM25 of the message two before, [0, 1]."""
    after: float = 0.0
    """BM25 of the next message, [0, 1]."""
    cos_own: float | None = None
    cos_window: float | None = None
    around: float = 0.0
    """Mean likeness of the eight units beyond the neighbours, by their windows' vectors; 0 without vectors."""
    neighbours: float = 0.0
    """How likely the units up to four steps before and after are relevant, each by its own evidence:
    ln(1 + Σ decay · P / 0.001), [0, 8.5]. The decay is 1, 0.7, 0.4, 0.2 by steps; units that the search
    didn't look at count as irrelevant."""
    soft: float | None = None
    """idf-weighted mean over the query's words of the best word-vector cosine in the unit, [0, 1]. None where the text wasn't
    read for it; the relevance model then assumes the usual value at this BM25 and cosine."""
    phrase: float = 0.0
    """Pairs of neighbouring words of the query that are neighbours in the unit, weighted by idf, [0, 1]."""
    speaker: float = 0.0
    """1 when the query names exactly one participant and this unit is theirs."""
    month: float = 0.0
    """1 when the query names the month or year of the unit's session."""
    day: float = 0.0
    """Nearness to a day the query names, [0, 2]."""
    temporal: float = 0.0
    """1 when the query asks when or how long and the unit holds a temporal word."""
    capitals: float = 0.0
    """Capitalised words inside sentences, on who / where / title questions, [0, 1]."""
    opening: float = 0.0
    """1 for the first two units of a session."""
    answers: float = 0.0
    """1 when the unit before is a question."""
    question: float = 0.0
    """1 when the unit is itself a question."""
    user: float = 0.0
    """1 for a user's turn in a conversation with an assistant."""
    length: float = 0.0
    """ln(1 + words) − 2.5."""
    assistant: float = 0.0
    """1 when the unit's conversation has an assistant in it. Chooses the column of coefficients."""
    crowd: float = 0.0
    """ln(max(30, units searched) / 500): in a larger store the same similarity means less."""
    terms: float = 0.0
    """ln(content words of the query / 5), of at least 4 and at most 12: of a longer query a match of the same strength says
    something else. It has coefficients in products with other features, and one that keeps probabilities right."""
    identifier: float = 0.0
    """Share of the query's identifiers, quoted phrases and tags that occur verbatim, [0, 1]."""
    curated: float = 0.0
    """1 for a typed memory, which was stated on purpose."""
    structured: float = 0.0
    """1 when the unit is pinned, or the strategy names its key or tag."""
    history: float = 0.0
    """0.5 ** (turns back in the running session / 8) for a message of it that the request leaves out; else 0."""
    recent: float = 0.0
    """0.5 ** (turns back over all recent sessions / 8) for a unit gathered because it is recent; else 0."""
    day_asked: float = 0.0
    """How strongly the request asks for what was said on this message's day, [0, 1]; 0 where it names no past day."""
    outline: float = 0.0
    """1 for a line of a session's outline, where the question asks for a summary or an order of events; else 0."""

    @classmethod
    def of(cls, values: Iterable[float]) -> Evidence:
        """Makes evidence of one number a feature, in the order of `FEATURES`; NaN where there is none."""
        row = cls._make(values)
        if row[_COS_WINDOW] != row[_COS_WINDOW] or row[_SOFT] != row[_SOFT]:
            return cls._make(None if value != value else value for value in row)
        return row

    @property
    def compared(self) -> bool:
        """Whether a search compared the item with the query, by its words or its vector."""
        return any((self.own, self.window, self.session)) or self.cos_own is not None or self.cos_window is not None

    @property
    def searched(self) -> bool:
        """Whether a search, a key, a pin or a day found the item: what is only brought beside another one has no evidence of
        its own."""
        return self.compared or bool(self.structured or self.day_asked)


FEATURES: tuple[str, ...] = Evidence._fields
REASONS = ("structured", "history", "recent", "day_asked", "outline")
"""Features that speak for an item whatever its likeness to the query."""
_COS_WINDOW, _SOFT = FEATURES.index("cos_window"), FEATURES.index("soft")


class Unread(NamedTuple):
    """`log_odds` are those of being relevant, as far as the search can tell without the text; `tokens` the fewest that it takes
    to show."""

    id: str
    domain: Literal["events", "memories", "blocks"]
    log_odds: float
    tokens: int

    @property
    def probability(self) -> float:
        return 1 / (1 + exp(min(60.0, -self.log_odds)))


T = TypeVar("T")


class Hit(NamedTuple, Generic[T]):
    """`thing` is the event or memory that was found."""

    thing: T
    evidence: Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Generic[T]):
    """The results of a search: the hits, best first, and what was found and not read."""

    hits: tuple[Hit[T], ...] = ()
    unread: tuple[Unread, ...] = ()
