"""Query: what the task at hand asks for. `pipeline/signals/` reads it out of the request; stores and sources understand it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.types.candidate import Sensitivity
from germane.types.limits import ID, IDS, NAME, NAMES, TAG, Limit, entries, shown, text

__all__ = ["Days", "Filters", "Intent", "Query", "Term", "Vector"]

_LISTS: Mapping[str, tuple[Limit, Limit]] = MappingProxyType(
    dict.fromkeys(("kinds", "event_types", "entity_types", "sensitivities"), (NAMES, NAME))
    | {"tags": (NAMES, TAG), "exclude": (IDS, ID)}
)
"""The filters that are lists: how many entries, and how long each may be."""

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
        for name, (most, each) in _LISTS.items():
            value = getattr(self, name)
            if value is None and name not in ("sensitivities", "exclude"):
                continue
            found = entries(f"filters: {name}", value, most, each)
            object.__setattr__(self, name, frozenset(found) if name == "exclude" else found)
        if strangers := sorted(set(self.sensitivities) - set(get_args(Sensitivity))):
            raise InvalidInput(f"filters: unknown sensitivities {strangers[:5]}: they are {', '.join(get_args(Sensitivity))}")
        for name in ("since", "until"):
            if not isinstance(value := getattr(self, name), datetime | None):
                raise InvalidInput(f"filters: {name} must be a datetime, not {type(value).__name__}")
        for name in ("session", "task"):
            if (value := getattr(self, name)) is not None:
                text(f"filters: {name}", value, ID)
        if not isinstance(self.with_history, bool):
            raise InvalidInput(f"filters: with_history must be True or False, not {shown(self.with_history)}")


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
    min_relevance: float = 0.0
    """Estimated P(relevant) below which the caller drops results: of those a search needs to return only the best few."""

    @property
    def blank(self) -> bool:
        return not self.terms and not self.identifiers
