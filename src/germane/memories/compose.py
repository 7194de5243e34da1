"""Compose: builds the content of a memory from the fields that a caller gives, strictly (MEM-1).

Attributes that every memory has (tags, sensitivity, validity) aren't content: see `remember.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput, UnknownName
from germane.memories.checks import json_value, label, moment, words
from germane.memories.memory import KINDS, Content

__all__ = ["MAIN_FIELDS", "a_kind", "compose", "content_fields"]

MAIN_FIELDS: Mapping[str, str] = MappingProxyType(
    {"fact": "value", "preference": "text", "procedure": "body", "behavior": "text", "episode": "summary", "note": "body"}
)
"""The field of each kind that a memory's positional `text` fills."""

_Check = Callable[[object, str], Any]
_CHECKS: Mapping[str, _Check] = MappingProxyType(
    {
        "key": lambda value, _: label("key", value),
        "value": lambda value, _: json_value("value", value),
        "text": lambda value, _: words("text", value),
        "body": lambda value, _: words("body", value),
        "summary": lambda value, _: words("summary", value),
        "title": lambda value, _: words("title", value, empty=True),
        "observed_at": lambda value, zone: None if value is None else moment("observed_at", value, zone),
        "occurred_at": lambda value, zone: None if value is None else moment("occurred_at", value, zone),
    }
)


def content_fields(kind: str) -> tuple[str, ...]:
    """Returns the names of the fields of this kind. Raises `UnknownName` for an unknown kind."""
    if kind not in KINDS:
        raise UnknownName(f"unknown kind {kind!r}: it is one of {', '.join(KINDS)}")
    return tuple(field.name for field in fields(KINDS[kind]))


def a_kind(kind: str) -> str:
    """Returns the name of the kind with its article, for an error message."""
    return f"an {kind}" if kind == "episode" else f"a {kind}"


def compose(text: str | None = None, *, kind: str = "note", given: Mapping[str, Any], zone: str = "UTC") -> Content:
    """Returns the content of a memory of this `kind` from its main `text` (see `MAIN_FIELDS`) and the other fields by name.

    Naive times are local time of `zone`. Raises `UnknownName` for an unknown kind, and `InvalidInput` for an unknown field, a
    missing field, and an invalid value.
    """
    allowed, main = content_fields(kind), MAIN_FIELDS[kind]
    given = dict(given)
    if text is not None:
        if main in given:
            raise InvalidInput(f"{main} is given twice: it is what the text of {a_kind(kind)} is")
        given[main] = words(main, text)
    if strangers := sorted(set(given) - set(allowed)):
        raise InvalidInput(f"{a_kind(kind)} has no {', '.join(strangers)}: its fields are {', '.join(allowed)}")
    needed = [field.name for field in fields(KINDS[kind]) if field.default is MISSING and field.name not in given]
    if needed:
        raise InvalidInput(f"{a_kind(kind)} needs {' and '.join(f'its {name}' for name in sorted(needed))}")
    return KINDS[kind](**{name: _CHECKS[name](value, zone) for name, value in given.items()})
