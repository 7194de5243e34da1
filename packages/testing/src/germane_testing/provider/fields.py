"""Fields: which fields an object of a request may have, by its kind; what all rules of the local provider are written with."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

__all__ = ["Body", "Shapes", "fields_of", "listed", "mapping", "names_of_tools", "shape_of", "spelled", "words"]

Body: TypeAlias = dict[str, Any]
Shapes: TypeAlias = Mapping[str, tuple[frozenset[str], frozenset[str]]]
"""The required and the optional fields of each kind of object, besides `type`."""
_NAME = re.compile(r"[A-Za-z0-9_-]{1,128}", re.ASCII)


def spelled(table: str) -> Shapes:
    """Reads a table of shapes: a line for each kind, `kind: required … ? optional …`."""
    shapes: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    for line in table.strip().splitlines():
        kind, _, fields = line.strip().partition(": ")
        required, _, optional = fields.partition("?")
        shapes[kind] = (frozenset(required.split()), frozenset(optional.split()))
    return shapes


def words(text: str) -> frozenset[str]:
    """Returns the words of a text."""
    return frozenset(text.split())


def mapping(value: object) -> Body:
    """Returns `value` where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Body]:
    """Returns the objects of `value` where it is an array, an empty one in the place of anything else; else an empty list."""
    return [mapping(item) for item in value] if isinstance(value, list) else []


def fields_of(where: str, value: object, required: Collection[str], optional: Collection[str]) -> Iterator[str]:
    """Yields the required fields that are missing, and the fields that are neither required nor optional."""
    if not isinstance(value, dict):
        yield f"{where}: must be an object"
        return
    yield from (f"{where}: {key} is required" for key in sorted(set(required) - value.keys()))
    yield from (f"{where}: unknown field {key}" for key in sorted(value.keys() - set(required) - set(optional)))


def shape_of(where: str, value: object, shapes: Shapes, kind: object = None) -> Iterator[str]:
    """Checks an object by its `type`, or by `kind` where the type is told by something else."""
    kind = mapping(value).get("type") if kind is None else kind
    if not isinstance(kind, str) or kind not in shapes:
        yield f"{where}: type {kind!r}"
        return
    required, optional = shapes[kind]
    yield from fields_of(where, value, required, {"type", *optional})


def names_of_tools(where: str, names: Collection[object]) -> Iterator[str]:
    """Checks that each name of a tool has letters, digits, `_` and `-` only, and occurs once."""
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield f"{where}: the name of a tool has letters, digits, _ and - only"
        elif name in seen:
            yield f"{where}: tool names must be unique"
        else:
            seen.add(name)
