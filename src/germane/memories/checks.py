"""Checks: one value a caller gave, made sure of or refused with its name in the message. Content is never quoted."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Any

from germane.clock import aware
from germane.errors import InvalidInput
from germane.text.normal import normalised
from germane.types.extent import bounded
from germane.types.limits import FIELD_VALUES, LABEL, MEMORY_TEXT, NAMES, TAG, shown, within

__all__ = ["LONGEST", "flag", "json_value", "label", "moment", "share", "tag_names", "words"]

LONGEST = MEMORY_TEXT.most
"""Characters of one memory's text: longer ones belong into several memories or into recorded messages."""
_LONGEST_LABEL = LABEL.most
_LONGEST_TAG = TAG.most
_SLACK = 16


def words(name: str, value: object, *, empty: bool = False) -> str:
    """A text as it was given; with `empty` it may be blank. Raises `InvalidInput`."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {type(value).__name__}")
    if not empty and not value.strip():
        raise InvalidInput(f"{name} is empty: give it some text")
    if len(value) > LONGEST:
        raise InvalidInput(f"{name} has {len(value):,} characters, {LONGEST:,} are allowed: split it into several memories")
    _whole(name, value)
    return value


def label(name: str, value: object, *, longest: int = _LONGEST_LABEL) -> str:
    """A short name such as a fact's key or a tag: NFC, blanks at the ends gone and inside single. Case is kept."""
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a string, not {type(value).__name__}")
    if len(value) > _SLACK * longest:  # before any work: blanks and accents written apart may make a label longer than it is
        raise InvalidInput(f"{name} must have 1 to {longest} characters, not {len(value):,}")
    _whole(name, value)
    value = " ".join(normalised(value).split())
    if not 1 <= len(value) <= longest:
        raise InvalidInput(f"{name} must have 1 to {longest} characters, not {len(value)}")
    if any(unicodedata.category(char) == "Cc" for char in value):
        raise InvalidInput(f"{name} must not hold control characters")
    return value


def tag_names(value: object) -> tuple[str, ...]:
    """Tags as labels of at most 64 characters, sorted, each once."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"tags must be a list of strings, not {type(value).__name__}")
    tags = tuple(islice(value, NAMES.most + 1))
    within("tags", len(tags), NAMES, at_least=True)
    return tuple(sorted({label("tag", tag, longest=_LONGEST_TAG) for tag in tags}))


def moment(name: str, value: object, zone: str) -> datetime:
    """A time in UTC, from a datetime or an ISO 8601 string; a naive one is local time of `zone` (SCOPE-4)."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise InvalidInput(f"{name} isn't a time: give a datetime or ISO 8601 such as 2024-05-08T14:30+02:00") from error
    if not isinstance(value, datetime):
        raise InvalidInput(f"{name} must be a datetime or an ISO 8601 string, not {type(value).__name__}")
    return aware(value, zone, name)


def share(name: str, value: object) -> float:
    """A number in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number from 0 to 1, not {shown(value)}")
    return float(value)


def flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} must be True or False, not {type(value).__name__}")
    return value


def json_value(name: str, value: object) -> Any:
    """`value` as JSON would bring it back (tuples become lists). Raises `InvalidInput` for what JSON can't hold."""
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
        raise InvalidInput(f"{name} can't be written as JSON: {type(error).__name__} in a {type(value).__name__}") from error


def _whole(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{name} holds a lone surrogate at character {error.start}: it isn't valid Unicode") from error
