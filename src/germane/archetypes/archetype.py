"""Archetype: a kind of agent, as frozen data: what its events say, and how its context is weighed and shared out (GRAPH-5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from math import isclose
from typing import Any, get_args

from germane.archetypes.findings import Extractor
from germane.archetypes.recorded_event import RecordedEvent
from germane.errors import InvalidInput
from germane.events.new_event import NewEvent
from germane.types.limits import NAME, NAMES, entries, shown, text
from germane.types.query import Intent

__all__ = ["SHARES", "AfterHook", "Archetype", "BeforeHook", "ContextWeights"]

SHARES = ("recent", "semantic", "entities", "relations", "patterns")
"""What the budget is shared between."""
_DEEPEST = 10
"""Steps of a traversal."""

BeforeHook = Callable[[NewEvent], NewEvent | Awaitable[NewEvent | None] | None]
"""Is given each event before it is stored, and returns it, changed or not. None refuses it. An exception reaches the caller,
and nothing is stored."""
AfterHook = Callable[[RecordedEvent], object]
"""Is given what was stored of each event, afterwards. What it returns is ignored (and awaited, where it can be). Its exceptions
are logged: the event is stored already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextWeights:
    """How much recency, relevance and salience count in a score; together 1. Raises `InvalidInput`."""

    recency: float
    relevance: float
    salience: float

    def __post_init__(self) -> None:
        given = (self.recency, self.relevance, self.salience)
        if any(not _is_number(one) or not 0 <= one <= 1 for one in given) or not isclose(sum(given), 1, abs_tol=1e-6):
            raise InvalidInput(f"weights must lie between 0 and 1 and sum to 1, not {', '.join(map(shown, given))}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archetype:
    """`extractors` find entities, relations and patterns in each event, by name. `depth` is how many steps relations are
    followed from the entities of a request. `shares` are percentages of the budget, together 100, of `recent` events,
    `semantic` search, `entities`, `relations` and `patterns`; what one leaves the others may use. `half_lives` are days by
    event type; `intents` say which event types matter to what a request wants; `entity_types` which entities are shown (empty:
    all). Raises `InvalidInput` naming what doesn't fit."""

    name: str
    extractors: Mapping[str, Extractor] = field(default_factory=dict)
    weights: ContextWeights
    depth: int = 2
    shares: Mapping[str, float]
    half_lives: Mapping[str, float] = field(default_factory=dict)
    intents: Mapping[Intent, tuple[str, ...]] = field(default_factory=dict)
    entity_types: tuple[str, ...] = ()
    before: tuple[BeforeHook, ...] = ()
    after: tuple[AfterHook, ...] = ()

    def __post_init__(self) -> None:
        if not text("name", self.name, NAME).strip():
            raise InvalidInput("an archetype needs a name")
        if not isinstance(self.weights, ContextWeights):
            raise InvalidInput(f"weights must be ContextWeights, not {type(self.weights).__name__}")
        for what, functions in (
            ("extractors", _table("extractors", self.extractors).values()),
            ("before", self.before),
            ("after", self.after),
        ):
            if not all(callable(one) for one in functions):
                raise InvalidInput(f"{what} must be functions")
        if isinstance(self.depth, bool) or not isinstance(self.depth, int) or not 0 <= self.depth <= _DEEPEST:
            raise InvalidInput(f"depth must be a whole number from 0 to {_DEEPEST}, not {shown(self.depth)}")
        self._check_shares()
        for kind, days in _table("half_lives", self.half_lives).items():
            if not _is_number(days) or not days > 0:
                raise InvalidInput(f"half_lives.{kind} must be a number of days above 0, not {shown(days)}")
        for intent, types in _table("intents", self.intents).items():
            if intent not in get_args(Intent):
                raise InvalidInput(f"intents are {', '.join(get_args(Intent))}, not {shown(intent)}")
            entries(f"intents.{intent}", types, NAMES, NAME)
        object.__setattr__(self, "entity_types", entries("entity_types", self.entity_types, NAMES, NAME))

    def _check_shares(self) -> None:
        shares = _table("shares", self.shares)
        if strangers := sorted(set(shares) - set(SHARES)):
            raise InvalidInput(f"shares have no {', '.join(strangers)}: they are {', '.join(SHARES)}")
        if any(not _is_number(share) or share < 0 for share in shares.values()) or not isclose(sum(shares.values()), 100):
            given = ", ".join(f"{name}: {shown(share)}" for name, share in shares.items())
            raise InvalidInput(f"shares are percentages that sum to 100, not {given}")

    def __repr__(self) -> str:
        return f"<Archetype {self.name} extractors={', '.join(self.extractors)}>"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _table(setting: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InvalidInput(f"{setting} must be a table of names, not {type(value).__name__}")
    return value
