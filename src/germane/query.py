"""Query: what the task at hand asks for, read out of the request. Made by `signals/`, understood by every store and source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.item import Sensitivity

__all__ = ["Days", "Filters", "Intent", "Query", "Term", "Vector"]

Intent = Literal["fix", "explain", "question", "action", "other"]
Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Narrowing that every source obeys (GATHER-4). None means no narrowing; an empty tuple of `sensitivities` allows nothing.

    `since` and `until` are inclusive. `kinds` are memory kinds; `event_types` such as `user_message`.
    """

    since: datetime | None = None
    until: datetime | None = None
    kinds: tuple[str, ...] | None = None
    event_types: tuple[str, ...] | None = None
    entity_types: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None
    """Any of them."""
    sensitivities: tuple[Sensitivity, ...] = ("public", "private")
    exclude: frozenset[str] = frozenset()
    """Ids, germane's or the caller's message ids."""
    session: str | None = None
    task: str | None = None
    with_history: bool = False
    """Also what is superseded or no longer valid (never what was forgotten)."""

    def __post_init__(self) -> None:
        """Raises `InvalidInput` naming the filter that can't be used; lists become tuples."""
        for name in ("kinds", "event_types", "entity_types", "tags", "sensitivities", "exclude"):
            value = getattr(self, name)
            if value is None and name not in ("sensitivities", "exclude"):
                continue
            if isinstance(value, str | bytes) or not isinstance(value, Iterable):
                raise InvalidInput(f"filters: {name} must be a list of strings, not {type(value).__name__}")
            found = tuple(value)
            if not all(isinstance(one, str) for one in found):
                raise InvalidInput(f"filters: {name} must be a list of strings, not {found!r}")
            object.__setattr__(self, name, frozenset(found) if name == "exclude" else found)
        if strangers := sorted(set(self.sensitivities) - set(get_args(Sensitivity))):
            raise InvalidInput(f"filters: unknown sensitivities {strangers}: they are {', '.join(get_args(Sensitivity))}")
        for name, kind in (("since", datetime), ("until", datetime), ("session", str), ("task", str)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise InvalidInput(f"filters: {name} must be a {kind.__name__}, not {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Term:
    """One word of the query: `word` as written (folded), `stems` what the index may hold it under (any of them)."""

    word: str
    stems: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """A stretch of days the query names, both ends included, in the scope's zone. `grain` says how it was named."""

    first: date
    last: date
    grain: Literal["day", "week", "month", "year"] = "day"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """`text` is the question; everything else was read out of it."""

    text: str
    at: datetime
    """The time asked about, aware, UTC (SCOPE-4)."""
    terms: tuple[Term, ...] = ()
    """Distinct, in the order of the text; stop words are out."""
    phrases: tuple[str, ...] = ()
    """What stood in quotes."""
    identifiers: tuple[str, ...] = ()
    """Paths, urls, symbols, error codes; verbatim."""
    names: tuple[str, ...] = ()
    """Capitalised words and runs of them that may name a person or thing."""
    days: tuple[Days, ...] = ()
    zone: str = "UTC"
    """The time zone that `days` are days of."""
    intent: Intent = "other"
    event_types: tuple[str, ...] = ()
    asks_when: bool = False
    """When, how long, what date …"""
    asks_name: bool = False
    """Who, where, which book …: the answer is likely a proper name."""
    filters: Filters = field(default_factory=Filters)
    vector: Vector | None = field(default=None, compare=False, repr=False)
    """Unit length; None until it is embedded, or when it couldn't be in time."""
    model: str | None = None
    """The identity of the embedder that made `vector`: spaces are never mixed (SEARCH-3)."""
    least: float = 0.0
    """P(relevant) below which nothing will be taken: of what falls short a search need bring only the best few."""

    @property
    def blank(self) -> bool:
        return not self.terms and not self.identifiers
