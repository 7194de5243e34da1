"""Checks: validate single values that a caller gives for a memory: texts, labels, tags, times, JSON, provenance.

Each check returns the value in its normal form or raises `InvalidInput`, whose message names the value and never quotes
content.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any, get_args

from germane.clock import aware
from germane.errors import InvalidInput
from germane.text.normal import normalised
from germane.types.candidate import Provenance, SourceKind
from germane.types.extent import bounded
from germane.types.limits import (
    FIELD_VALUES,
    ID,
    LABEL,
    MEMORY_TEXT,
    NAME,
    NAMES,
    REFERENCES,
    TAG,
    entries,
    shown,
    text,
    whole,
    within,
)

__all__ = [
    "SOURCE_KINDS",
    "check_provenance",
    "ends_after",
    "flag",
    "json_value",
    "label",
    "moment",
    "share",
    "tag_names",
    "words",
]

_MAX_LABEL = LABEL.maximum
_MAX_TAG = TAG.maximum
_SLACK = 16
"""A label that is this many times too long is refused before it is normalised."""
SOURCE_KINDS = get_args(SourceKind)


def words(name: str, value: object, *, empty: bool = False) -> str:
    """Returns a text unchanged. It must not be blank, unless `empty`."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {type(value).__name__}")
    if not empty and not value.strip():
        raise InvalidInput(f"{name} is empty: give it some text")
    within(name, len(value), MEMORY_TEXT)
    return whole(name, value)


def label(name: str, value: object, *, max_length: int = _MAX_LABEL) -> str:
    """Returns a short name, such as a fact's key or a tag, in NFC, stripped and with single blanks. Case is kept."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {type(value).__name__}")
    # before any work; blanks and combining accents make a label longer than its normal form
    if len(value) > _SLACK * max_length:
        raise InvalidInput(f"{name} must have 1 to {max_length} characters, not {len(value):,}")
    value = " ".join(normalised(whole(name, value)).split())
    if not 1 <= len(value) <= max_length:
        raise InvalidInput(f"{name} must have 1 to {max_length} characters, not {len(value)}")
    if any(unicodedata.category(char) == "Cc" for char in value):
        raise InvalidInput(f"{name} must not hold control characters")
    return value


def tag_names(value: object) -> tuple[str, ...]:
    """Returns tags as labels of at most 64 characters, sorted, each once."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"tags must be a list of strings, not {type(value).__name__}")
    tags = tuple(islice(value, NAMES.maximum + 1))
    within("tags", len(tags), NAMES, at_least=True)
    return tuple(sorted({label("tag", tag, max_length=_MAX_TAG) for tag in tags}))


def moment(name: str, value: object, zone: str) -> datetime:
    """Returns a time in UTC, from a datetime or an ISO 8601 string. A naive time is local time of `zone` (SCOPE-4)."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise InvalidInput(f"{name} isn't a time: give a datetime or ISO 8601 such as 2024-05-08T14:30+02:00") from error
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a datetime or an ISO 8601 string, not {type(value).__name__}")
    return aware(value, zone, name)


def share(name: str, value: object) -> float:
    """Returns a number in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number from 0 to 1, not {shown(value)}")
    return float(value)


def ends_after(beginning: datetime, *, given: bool, **ends: datetime | None) -> None:
    """Raises `InvalidInput` where one of `ends` isn't after the `beginning`; `given` says whether the caller named that."""
    for name, end in ends.items():
        if end is not None and end <= beginning:
            since = "" if given else ": give valid_from too, where it held before"
            raise InvalidInput(f"{name} {end.isoformat()} is not after the beginning, {beginning.isoformat()}{since}")


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} must be True or False, not {type(value).__name__}")
    return value


def json_value(name: str, value: object) -> Any:
    """Returns `value` as it comes back from JSON (tuples become lists). A text is returned unchanged. Raises `InvalidInput` for
    a value that JSON can't hold."""
    if isinstance(value, str):
        return words(name, value)
    bounded(name, value, FIELD_VALUES)
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
        words(name, written)
        return json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        number = isinstance(error, ValueError) and "Out of range float" in str(error)
        why = "NaN and infinities aren't JSON" if number else f"{type(error).__name__} in a {type(value).__name__}"
        raise InvalidInput(f"{name} can't be written as JSON: {why}") from error


def check_provenance(given: object) -> Provenance:
    """Returns the provenance with its references as a tuple and its metadata as it comes back from JSON."""
    if not isinstance(given, Provenance):
        raise InvalidInput(f"provenance must be a Provenance, not {type(given).__name__}")
    if given.source_kind not in SOURCE_KINDS:
        raise InvalidInput(f"provenance: source_kind {shown(given.source_kind)} is none of {', '.join(SOURCE_KINDS)}")
    for name, limit in (("channel", NAME), ("session", ID), ("message_id", ID), ("tool_call_id", ID)):
        if (value := getattr(given, name)) is not None:
            text(f"provenance: {name}", value, limit)
    if not isinstance(given.metadata, Mapping):
        raise InvalidInput(f"provenance: metadata must be a dict, not {type(given.metadata).__name__}")
    metadata = json_value("provenance: metadata", dict(given.metadata)) if given.metadata else {}
    return replace(given, refs=entries("provenance: refs", given.refs, REFERENCES, ID), metadata=metadata)
