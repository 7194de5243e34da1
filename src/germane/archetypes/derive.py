"""Derive: an archetype made from another one and a table of changes, which are merged deeply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from germane.archetypes.archetype import Archetype, ContextWeights
from germane.archetypes.findings import Extractor
from germane.errors import InvalidInput

__all__ = ["derive_archetype"]


def derive_archetype(base: Archetype, changes: Mapping[str, Any], *, known: Mapping[str, Extractor]) -> Archetype:
    """Returns `base` with `changes`: `{"weights": {"recency": 0.5, "relevance": 0.3}, "extractors": ["files"]}` changes two
    weights and replaces the extractors by known ones. Extractors are a list of names of `known`, or a table of functions, which
    are added (None removes one). Shares, half-lives and intents are merged by name. Raises `InvalidInput` naming the archetype
    and what doesn't fit."""
    label = f"archetype {changes.get('name', base.name)!r}"
    names = {field.name for field in fields(Archetype)}
    if strangers := sorted(set(changes) - names):
        raise InvalidInput(f"{label}: an archetype has no {', '.join(strangers)}: its settings are {', '.join(sorted(names))}")
    try:
        return replace(base, **{name: _changed(base, name, value, known) for name, value in changes.items()})
    except InvalidInput as error:
        raise InvalidInput(f"{label}: {error}") from error
    except TypeError as error:
        raise InvalidInput(f"{label}: {error}") from error


def _changed(base: Archetype, name: str, value: Any, known: Mapping[str, Extractor]) -> Any:
    match name:
        case "extractors" if isinstance(value, list | tuple):
            if strangers := [one for one in value if not isinstance(one, str) or one not in known]:
                raise InvalidInput(f"no extractor {strangers[0]!r}: known are {', '.join(sorted(known))}")
            return {one: known[one] for one in value}
        case "extractors":
            both = {**base.extractors, **_table(value, name)}
            return {one: function for one, function in both.items() if function is not None}
        case "weights" if not isinstance(value, ContextWeights):
            table = _table(value, name)
            if strangers := sorted(set(table) - {field.name for field in fields(ContextWeights)}):
                raise InvalidInput(f"weights take recency, relevance, salience, not {', '.join(strangers)}")
            return replace(base.weights, **table)
        case "shares" | "half_lives":
            return {**getattr(base, name), **_table(value, name)}
        case "intents":
            return {
                **base.intents,
                **{intent: _words(f"intents.{intent}", types) for intent, types in _table(value, name).items()},
            }
        case "entity_types":
            return _words(name, value)
        case "before" | "after":
            return tuple(value)
    return value


def _words(where: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(one, str) for one in value):
        raise InvalidInput(f"{where} must be a list of strings, not {value!r:.80}")
    return tuple(value)


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{where} must be a table, not {type(value).__name__}")
    return value
