"""Strategies by name: the built-in ones, those registered in code, and those written in TOML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from germane.api.arguments import given_filters
from germane.errors import InvalidInput, Phrase, UnknownName
from germane.extraction.archetypes.value import Archetype, strategy_of
from germane.kinds.profile.offer import MAX_OFFERED
from germane.stages.write.formats import FORMATS, check_details
from germane.types.checks import check_one_of, check_table, check_text
from germane.types.limits import NAME
from germane.types.query import Filters
from germane.types.strategy import Cap, Shares, SourcePlan, Strategy, Weights

_STATED_SOURCES = (
    SourcePlan(name="directive"),
    SourcePlan(name="structured", limit=20),
    SourcePlan(name="blocks", limit=100),
    SourcePlan(name="tasks", limit=100),
    SourcePlan(name="memories", limit=60),
    SourcePlan(name="archive", limit=20),
)
_LAST_SOURCES = (SourcePlan(name="history", limit=50), SourcePlan(name="recent", limit=10))
_DEEP_SOURCES = (
    SourcePlan(name="messages", limit=250),
    SourcePlan(name="days", limit=60),
    SourcePlan(name="outline", limit=100),
)

VERBOSE = Strategy(
    name="verbose",
    sources=(*_STATED_SOURCES, SourcePlan(name="messages", limit=80), *_LAST_SOURCES),
    weights=Weights(relevance=0.0, recency=0.1, usefulness=1.0, confidence=0.5, frequency=0.2),
    format="xml",
    details=("id", "confidence", "score"),
    placement="first",
)
"""Format xml with id, confidence and score; calibrated log-odds; packed by probability per cost; all text first. What
`ibex.context.v1` answers with: its text stays as it is."""

COMPACT = replace(
    VERBOSE, name="compact", format="compact", details=(), floor=0.0, sources=(*_STATED_SOURCES, *_DEEP_SOURCES, *_LAST_SOURCES)
)
"""The same ranking, written with few tokens; fills the budget, however deep it is, with all text first."""

DEFAULT = replace(
    COMPACT,
    name="default",
    sources=(
        *_STATED_SOURCES,
        SourcePlan(name="profile", limit=MAX_OFFERED),
        *_DEEP_SOURCES,
        SourcePlan(name="continuity", limit=6),
    ),
    clauses=True,
    profile=500,
    need=0.13,
    effort="medium",
    placement="append",
)
"""What an assembly uses unless told otherwise: nothing where nothing is needed, and as much as is worth its tokens. The running
session's messages compete with all others; only its last exchange comes back where the request lacks it."""

COMPOSITE = replace(VERBOSE, name="composite", form="linear", weights=Weights(), floor=0.15, packer="rank")
"""The linear weighted sum, packed in score order; otherwise as `verbose`."""


class Strategies:
    """The registry of one `Germane`. Registering in one changes no other."""

    def __init__(self, written: Mapping[str, Mapping[str, Any]] | None = None, *, also: Sequence[Strategy] = ()) -> None:
        """`also` are further strategies that stand beside the built-in ones. `written` holds the tables `[strategies.<name>]`
        of the settings. Each is derived from the strategy that its `like` names (default: `default`). Raises
        `InvalidInput`."""
        self._known = {strategy.name: strategy for strategy in (DEFAULT, VERBOSE, COMPACT, COMPOSITE, *also)}
        waiting = {name: dict(check_table(f"strategies.{name}", table)) for name, table in (written or {}).items()}
        while waiting:
            ready = [
                name for name, table in waiting.items() if table.get("like") not in [one for one in waiting if one != name]
            ]
            if not ready:
                raise InvalidInput(f"strategies {', '.join(waiting)} are each like another of them: one must stand by itself")
            for name in ready:
                changes = waiting.pop(name)
                self.register(self._written(name, changes))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._known))

    def find(self, wanted: str | Strategy) -> Strategy:
        """Returns a registered strategy, or the given one after a check. Raises `UnknownName`, `InvalidInput`."""
        if isinstance(wanted, Strategy):
            _check_format(wanted)
            return wanted
        if isinstance(wanted, str):
            check_text("strategy", wanted, NAME)
        try:
            return self._known[wanted]
        except (KeyError, TypeError):
            raise UnknownName(
                "{} is unknown", wanted, path="strategy", advice=f"use one of {', '.join(self)}, or a Strategy"
            ) from None

    def register(self, strategy: Strategy) -> None:
        """Registers a strategy under its name; a built-in one of that name is replaced. Raises `InvalidInput` for an unknown
        format, and for details that the format can't write."""
        _check_format(strategy)
        self._known[strategy.name] = strategy

    def _written(self, name: str, changes: dict[str, Any]) -> Strategy:
        """The strategy of the table `[strategies.<name>]`; its errors have the paths of the settings file."""
        place = f"strategies.{name}"
        try:
            base = self.find(changes.pop("like", "default"))
        except InvalidInput as error:
            raise error.renamed(lambda _: f"{place}.like") from error
        try:
            made = derive(base, {**changes, "name": name})
            _check_format(made)
        except InvalidInput as error:
            raise error.renamed(lambda path: place + path.removeprefix("strategy")) from error
        return made


def archetype_strategy(archetype: Archetype) -> Strategy:
    """Returns the strategy that belongs to an archetype, in markdown where that format is there."""
    return strategy_of(archetype, format="markdown" if "markdown" in FORMATS else "compact")


def allowed_filters(strategy: Strategy, filters: Filters | None) -> Filters | None:
    """The request's filters, with no sensitivity that the strategy doesn't allow. Raises `InvalidInput` for what are no
    filters."""
    given = given_filters(filters)
    if strategy.sensitivities is None:
        return given
    if given is None:
        return Filters(sensitivities=strategy.sensitivities)
    allowed = tuple(one for one in given.sensitivities if one in strategy.sensitivities)
    return replace(given, sensitivities=allowed)


def _check_format(strategy: Strategy) -> None:
    """Raises `InvalidInput` where the strategy's format doesn't exist, or can't write the strategy's details."""
    try:
        check_one_of("format", strategy.format, sorted(FORMATS))
        check_details(strategy.format, strategy.details)
    except InvalidInput as error:
        raise error.within("strategy") from error


def derive(base: Strategy, changes: Mapping[str, Any]) -> Strategy:
    """`base` with `changes`, merged deeply: `{"weights": {"recency": 0.1}, "sources": {"recent": {"limit": 0}}}` changes one
    weight and one limit. A source that `base` doesn't have is added. Raises `InvalidInput` naming what doesn't fit."""
    known = {field.name for field in fields(Strategy)}
    if strangers := sorted(set(changes) - known):
        raise InvalidInput(
            "has no {}", Phrase(", ".join(strangers)), path="strategy", advice=f"its settings are {', '.join(sorted(known))}"
        )
    try:
        return replace(base, **_merged(base, changes))
    except InvalidInput as error:
        raise error.within("strategy") from error
    except TypeError as error:
        raise InvalidInput(f"can't be made: {error}", path="strategy") from error


def _merged(base: Strategy, changes: Mapping[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for name, value in changes.items():
        match name:
            case "weights":
                merged[name] = _changed(base.weights, value, name)
            case "half_lives":
                merged[name] = {**base.half_lives, **check_table(name, value)}
            case "sources":
                merged[name] = _sources(base.sources, check_table(name, value))
            case "shares":
                merged[name] = _shares(base.shares, check_table(name, value))
            case "intents":
                merged[name] = {**base.intents, **check_table(name, value)}
            case "details" | "entity_types" | "fact_keys" | "sensitivities" | "tags":
                if isinstance(value, str) or not all(isinstance(one, str) for one in value):
                    raise InvalidInput("must be a list of strings, not {}", value, path=name)
                merged[name] = tuple(value)
            case _:
                merged[name] = value
    return merged


def _sources(plans: tuple[SourcePlan, ...], changes: Mapping[str, Any]) -> tuple[SourcePlan, ...]:
    merged = {plan.name: plan for plan in plans}
    for name, change in changes.items():
        settings = {**check_table(f"sources.{name}", change), "name": name}
        merged[name] = _changed(merged.get(name, SourcePlan(name=name)), settings, f"sources.{name}")
    return tuple(merged.values())


def _shares(shares: Shares, changes: Mapping[str, Any]) -> Shares:
    if strangers := sorted(set(changes) - {"sources", "kinds", "total", "pools", "source_pools"}):
        raise InvalidInput(
            "has no {}",
            Phrase(", ".join(strangers)),
            path="shares",
            advice="they are sources, kinds, total, pools and source_pools",
        )
    kinds = dict(shares.kinds)
    for kind, change in check_table("shares.kinds", changes.get("kinds", {})).items():
        kinds[kind] = _changed(kinds.get(kind, Cap()), change, f"shares.kinds.{kind}")
    return Shares(
        sources={**shares.sources, **check_table("shares.sources", changes.get("sources", {}))},
        kinds=kinds,
        total=_changed(shares.total, changes.get("total", {}), "shares.total"),
        pools={kind: pool for kind, pool in shares.pools.items() if kind not in kinds}
        | dict(check_table("shares.pools", changes.get("pools", {}))),
        source_pools={source: pool for source, pool in shares.source_pools.items() if source not in changes.get("sources", {})}
        | dict(check_table("shares.source_pools", changes.get("source_pools", {}))),
    )


def _changed(value: Any, change: Any, where: str) -> Any:
    table, known = check_table(where, change), [field.name for field in fields(value)]
    if strangers := sorted(set(table) - set(known)):
        raise InvalidInput(f"takes {', '.join(known)}, not {{}}", Phrase(", ".join(strangers)), path=where)
    try:
        return replace(value, **table)
    except InvalidInput as error:
        raise (error if error.path.startswith(where) else error.within(where)) from error
