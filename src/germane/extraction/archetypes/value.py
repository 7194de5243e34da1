"""Archetype: a kind of agent: what its events say, and how its context is weighed and shared out (GRAPH-5).

An archetype can be derived from another one by a table of changes, and makes the strategy of its name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from math import isclose
from types import MappingProxyType
from typing import Any, get_args

from germane.errors import InvalidInput, Phrase, quoted
from germane.extraction.archetypes.findings import Extractor, RecordedEvent
from germane.kinds.events.value import NewEvent
from germane.types.checks import check_entries, check_number, check_table, check_text, check_type, check_whole_number
from germane.types.limits import NAME, NAMES
from germane.types.query import Intent
from germane.types.strategy import HALF_LIVES, Shares, SourcePlan, Strategy, Weights

SHARES = ("recent", "semantic", "entities", "relations", "patterns")
"""What the budget is shared between."""
_MAX_DEPTH = 10
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
            raise InvalidInput(f"must lie between 0 and 1 and sum to 1, not {', '.join(map(quoted, given))}", path="weights")


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
        if not check_text("name", self.name, NAME).strip():
            raise InvalidInput("is blank", path="name")
        check_type("weights", self.weights, ContextWeights, "ContextWeights")
        for what, functions in (
            ("extractors", check_table("extractors", self.extractors).values()),
            ("before", self.before),
            ("after", self.after),
        ):
            if not all(callable(one) for one in functions):
                raise InvalidInput("must be functions", path=what)
        check_whole_number("depth", self.depth, 0, _MAX_DEPTH)
        self._check_shares()
        for kind, days in check_table("half_lives", self.half_lives).items():
            check_number(f"half_lives.{kind}", days, 0, 1e9, above=True, unit="days")
        for intent, types in check_table("intents", self.intents).items():
            if intent not in get_args(Intent):
                raise InvalidInput(f"are {', '.join(get_args(Intent))}, not {{}}", intent, path="intents")
            check_entries(f"intents.{intent}", types, NAMES, NAME)
        object.__setattr__(self, "entity_types", check_entries("entity_types", self.entity_types, NAMES, NAME))

    def _check_shares(self) -> None:
        shares = check_table("shares", self.shares)
        if strangers := sorted(set(shares) - set(SHARES)):
            raise InvalidInput("shares have no {}", Phrase(", ".join(strangers)), advice=f"they are {', '.join(SHARES)}")
        if any(not _is_number(share) or share < 0 for share in shares.values()) or not isclose(sum(shares.values()), 100):
            given = ", ".join(f"{name}: {quoted(share)}" for name, share in shares.items())
            raise InvalidInput("shares are percentages that sum to 100, not {}", Phrase(given))

    def __repr__(self) -> str:
        return f"<Archetype {self.name} extractors={', '.join(self.extractors)}>"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


# An archetype made from another one and a table of changes, which are merged deeply.


def derive_archetype(base: Archetype, changes: Mapping[str, Any], *, known: Mapping[str, Extractor]) -> Archetype:
    """Returns `base` with `changes`: `{"weights": {"recency": 0.5, "relevance": 0.3}, "extractors": ["files"]}` changes two
    weights and replaces the extractors by known ones. Extractors are a list of names of `known`, or a table of functions, which
    are added (None removes one). Shares, half-lives and intents are merged by name. Raises `InvalidInput` naming the archetype
    and what doesn't fit."""
    names = {field.name for field in fields(Archetype)}
    if strangers := sorted(set(changes) - names):
        raise InvalidInput(
            "archetype {} has no {}",
            changes.get("name", base.name),
            Phrase(", ".join(strangers)),
            advice=f"its settings are {', '.join(sorted(names))}",
        )
    try:
        return replace(base, **{name: _changed(base, name, value, known) for name, value in changes.items()})
    except InvalidInput as error:
        raise error.under("archetype {}", changes.get("name", base.name)) from error
    except TypeError as error:
        raise InvalidInput(f"archetype {{}}: {error}", changes.get("name", base.name)) from error


def _changed(base: Archetype, name: str, value: Any, known: Mapping[str, Extractor]) -> Any:
    match name:
        case "extractors" if isinstance(value, list | tuple):
            if strangers := [one for one in value if not isinstance(one, str) or one not in known]:
                raise InvalidInput("no extractor {}", strangers[0], advice=f"known are {', '.join(sorted(known))}")
            return {one: known[one] for one in value}
        case "extractors":
            both = {**base.extractors, **check_table(name, value)}
            return {one: function for one, function in both.items() if function is not None}
        case "weights" if not isinstance(value, ContextWeights):
            table = check_table(name, value)
            if strangers := sorted(set(table) - {field.name for field in fields(ContextWeights)}):
                raise InvalidInput("weights take recency, relevance, salience, not {}", Phrase(", ".join(strangers)))
            return replace(base.weights, **table)
        case "shares" | "half_lives":
            return {**getattr(base, name), **check_table(name, value)}
        case "intents":
            return {
                **base.intents,
                **{intent: _words(f"intents.{intent}", types) for intent, types in check_table(name, value).items()},
            }
        case "entity_types":
            return _words(name, value)
        case "before" | "after":
            return tuple(value)
    return value


def _words(where: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(one, str) for one in value):
        raise InvalidInput("must be a list of strings, not {}", value, path=where)
    return tuple(value)


# The strategy of an archetype, made of its weights, shares and half-lives.


_SOURCES = (
    SourcePlan(name="directive"),
    SourcePlan(name="structured", limit=20),
    SourcePlan(name="blocks", limit=100),
    SourcePlan(name="tasks", limit=100),
    SourcePlan(name="events", limit=90),
    SourcePlan(name="messages", limit=20),
    SourcePlan(name="memories", limit=20),
    SourcePlan(name="archive", limit=20),
    SourcePlan(name="entities", limit=60),
    SourcePlan(name="relations", limit=60),
    SourcePlan(name="patterns", limit=10),
)
_FOUND: Mapping[str, str] = MappingProxyType({"memories": "messages", "archive": "messages"})
"""The sources that share one percentage with the messages: what a search finds."""
_GRAPH_HALF_LIVES: Mapping[str, float] = MappingProxyType({"entity": 30.0, "pattern": 120.0, "relation": 180.0})
"""Days; an entity's is that of its salience."""
_WORD_BOOST, _DAY_BOOST = 0.1, 1.2
"""GRAPH-6."""


def strategy_of(archetype: Archetype, *, format: str = "markdown") -> Strategy:
    """Returns the strategy of an archetype: the linear form, in which salience takes the place of usefulness and confidence and
    frequency count nothing, packed in score order. No floor: the shares decide what goes in, and what is only recent or salient
    has little relevance. Raises `InvalidInput`."""
    shares, weights = archetype.shares, archetype.weights
    return Strategy(
        name=archetype.name,
        sources=_SOURCES,
        form="linear",
        weights=Weights(
            relevance=weights.relevance, recency=weights.recency, usefulness=weights.salience, confidence=0.0, frequency=0.0
        ),
        half_lives=MappingProxyType({**HALF_LIVES, **_GRAPH_HALF_LIVES, **archetype.half_lives}),
        floor=0.0,
        packer="rank",
        format=format,
        shares=Shares(
            sources=MappingProxyType(
                {
                    "events": shares.get("recent", 0.0),
                    "messages": shares.get("semantic", 0.0),
                    **{name: shares.get(name, 0.0) for name in ("entities", "relations", "patterns")},
                }
            ),
            source_pools=_FOUND,
        ),
        depth=archetype.depth,
        entity_types=archetype.entity_types,
        intents=archetype.intents,
        word_boost=_WORD_BOOST,
        day_boost=_DAY_BOOST,
    )
