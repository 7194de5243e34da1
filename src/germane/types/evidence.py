"""Evidence: what speaks for a candidate, typed, before any weight is given to it.

Every number is scaled by fixed references of the query and the corpus (the best BM25 the query's terms could reach, a
cosine's own range), never by the pool of candidates, so it means the same in a store of ten and of a million (SCORE-2).
`search/relevance.py` turns it into P(relevant). None of a cosine means that no vector was at hand, not that it was zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

__all__ = ["FEATURES", "Evidence"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number a feature. Give them by name; positions, in the order of `FEATURES`, are for `of`, which makes hundreds."""

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
    soft: float | None = None
    """idf-weighted mean over the query's words of the best word-vector cosine in the unit, [0, 1]; None where the text wasn't
    read for it: taken to be what it mostly is with such BM25 and cosine."""
    phrase: float = 0.0
    """Neighbouring words of the query that are neighbours in the unit, by idf, [0, 1]."""
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
    """1 when the unit's conversation has an assistant in it: which column of coefficients applies."""
    crowd: float = 0.0
    """ln(units searched / 500), 30 of them at least: the same likeness means less in a crowd."""
    identifier: float = 0.0
    """Share of the query's identifiers, quoted phrases and tags that occur verbatim, [0, 1]."""
    curated: float = 0.0
    """1 for a typed memory: somebody took the trouble to state it."""
    structured: float = 0.0
    """1 when a pinned key or tag asked for this unit by name."""
    history: float = 0.0
    """0.5 ** (turns back in the running session / 8) for what the request left out of it; else 0."""
    recent: float = 0.0
    """0.5 ** (turns back over all recent sessions / 8), for units gathered because they are recent; else 0."""

    @classmethod
    def of(cls, values: Iterable[float]) -> Evidence:
        """From one number a feature, in the order of `FEATURES`; NaN for what is missing."""
        row = list(values)
        if row[_COS_WINDOW] != row[_COS_WINDOW] or row[_SOFT] != row[_SOFT]:
            return cls(*(None if value != value else value for value in row))  # type: ignore[arg-type]
        return cls(*row)


FEATURES: tuple[str, ...] = tuple(field.name for field in fields(Evidence))
_COS_WINDOW, _SOFT = FEATURES.index("cos_window"), FEATURES.index("soft")
