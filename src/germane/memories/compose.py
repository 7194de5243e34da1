"""Compose: the content of a memory from what a caller gave, strictly (MEM-1). Deliberately not what is *about* a memory
(tags, sensitivity, validity): see `remember.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput, UnknownName
from germane.memories.checks import json_value, label, moment, words
from germane.memories.memory import KINDS, Content

__all__ = ["MAIN_FIELDS", "compose", "content_fields"]

MAIN_FIELDS: Mapping[str, str] = MappingProxyType(
    {"fact": "value", "preference": "text", "procedure": "body", "behavior": "text", "episode": "summary", "note": "body"}
)
"""The field that a memory's positional text is."""

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
    """The fields that memories of this kind have. Raises `UnknownName` for a kind that doesn't exist."""
    if kind not in KINDS:
        raise UnknownName(f"unknown kind {kind!r}: it is one of {', '.join(KINDS)}")
    return tuple(field.name for field in fields(KINDS[kind]))


def compose(text: str | None = None, *, kind: str = "note", given: Mapping[str, Any], zone: str = "UTC") -> Content:
    """The content of a `kind`, from its main text (`MAIN_FIELDS` says which field that is) and its other fields by name.

    Naive times are local time of `zone`. Raises `UnknownName` for the kind, `InvalidInput` for a field that the kind doesn't
    have, one that is missing, and any value that doesn't fit.
    """
    allowed, main = content_fields(kind), MAIN_FIELDS[kind]
    given = dict(given)
    if text is not None:
        if main in given:
            raise InvalidInput(f"{main} is given twice: it is what the text of a {kind} is")
        given[main] = words(main, text)
    if strangers := sorted(set(given) - set(allowed)):
        raise InvalidInput(f"a {kind} has no {', '.join(strangers)}: its fields are {', '.join(allowed)}")
    needed = [field.name for field in fields(KINDS[kind]) if field.default is MISSING and field.name not in given]
    if needed:
        raise InvalidInput(f"a {kind} needs {' and '.join(sorted(needed))}")
    return KINDS[kind](**{name: _CHECKS[name](value, zone) for name, value in given.items()})
