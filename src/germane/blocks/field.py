"""Field: one named value of a map block: its type, its default, and the check of the values that it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal, get_args

from germane.blocks.label import checked_name
from germane.errors import InvalidInput, UnknownName
from germane.types.extent import bounded
from germane.types.limits import BLOCK_TEXT, LIST_ITEMS, shown, text, within

__all__ = ["COUNTED", "FIELD_TYPES", "Field", "FieldType", "checked_flag", "checked_item", "checked_text", "checked_value"]

FieldType = Literal["text", "number", "boolean", "list", "timestamp", "counter"]
FIELD_TYPES: tuple[FieldType, ...] = get_args(FieldType)
COUNTED = 2**53
"""A counter stays between ±2⁵³, where each step of one is exact."""
_WHOLE = 2**63
"""Whole numbers are stored in 64 bits."""
_DEEP = 8
"""Levels of an item that is an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a map. A field without a value has its default; a required field without a default must have a value.
    Agents can't write a field that is `read_only`, system operations can. Raises `InvalidInput` for what can't be a field."""

    name: str
    type: FieldType = "text"
    required: bool = False
    default: Any = None
    read_only: bool = False
    description: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked_name(self.name, "the name of a field"))
        if not isinstance(self.type, str) or self.type not in FIELD_TYPES:
            raise UnknownName(f"{self.where} can't be of type {shown(self.type)}: the types are {', '.join(FIELD_TYPES)}")
        for flag in ("required", "read_only"):
            checked_flag(getattr(self, flag), f"{flag} of {self.where}")
        checked_text(self.description, f"the description of {self.where}")
        if self.default is not None:
            object.__setattr__(self, "default", self.checked(self.default, "the default of "))

    @property
    def where(self) -> str:
        """The words that name the field in an error."""
        return f"field {self.name!r}"

    def checked(self, value: object, of: str = "") -> Any:
        """Returns a value as it is stored. Raises `InvalidInput` for a value that isn't of the field's type."""
        return checked_value(self.type, value, of + self.where)

    def as_dict(self) -> dict[str, Any]:
        """Returns the field as JSON, without what is left at its default."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("name", "type")}
        plain = {key: _plain(value) for key, value in given.items() if value not in (None, False, "") or key == "default"}
        if self.default is None:
            del plain["default"]
        return {"name": self.name, "type": self.type, **plain}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def checked_value(type: FieldType, value: object, where: str) -> Any:
    """Returns a value of a field as it is stored: times become ISO 8601 in UTC, lists become tuples. Raises `InvalidInput`."""
    return _CHECKS[type](value, where)


def checked_text(value: object, where: str) -> str:
    """Returns a string that can be stored. Raises `InvalidInput`."""
    return text(where, value, BLOCK_TEXT)


def checked_flag(value: object, where: str) -> bool:
    """Returns a bool. Raises `InvalidInput`."""
    if not isinstance(value, bool):
        raise InvalidInput(f"{where} must be true or false, not {shown(value)}")
    return value


def checked_item(value: object, where: str) -> Any:
    """Returns an item of a list that is an object: a dict of JSON values with string keys, copied. Raises `InvalidInput`."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{where} must be an object, not {shown(value)}")
    bounded(where, value)
    return _json(value, where, _DEEP)


def _json(value: object, where: str, levels: int) -> Any:
    if not levels:
        raise InvalidInput(f"{where} is nested deeper than {_DEEP} levels: flatten it")
    match value:
        case None | bool():
            return value
        case str():
            return checked_text(value, where)
        case int() | float():
            return _number(value, where)
        case list() | tuple():
            return [_json(one, where, levels - 1) for one in value]
        case Mapping():
            return {checked_text(key, f"a key of {where}"): _json(one, where, levels - 1) for key, one in value.items()}
    raise InvalidInput(f"{where} holds {shown(value)}: use JSON values")


def _number(value: object, where: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidInput(f"{where} must be a number, not {shown(value)}")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{where} must be a finite number, not {value}")
        return float(value)
    if not -_WHOLE <= value < _WHOLE:
        raise InvalidInput(f"{where} must be a whole number of at most 64 bits, not {shown(value)}: give it as text")
    return int(value)


def _counter(value: object, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(f"{where} must be a whole number, not {shown(value)}")
    if not -COUNTED <= value <= COUNTED:
        raise InvalidInput(f"{where} must be between -2⁵³ and 2⁵³, not {shown(value)}")
    return int(value)


def _timestamp(value: object, where: str) -> str:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f"{where} isn't a time: give ISO 8601 such as 2026-05-08T14:30:00Z") from None
    if not isinstance(value, datetime):
        raise InvalidInput(f"{where} must be a time in ISO 8601, not {shown(value)}")
    if value.tzinfo is None:
        raise InvalidInput(f"{where} has no zone: end it with Z or with an offset such as +02:00")
    try:
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    except OverflowError:
        raise InvalidInput(f"{where} lies outside of the years 1 to 9999 in UTC") from None


def _list(value: object, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"{where} must be a list, not {shown(value)}")
    within(where, len(value), LIST_ITEMS)
    return tuple(_entry(one, f"entry {index} of {where}") for index, one in enumerate(value))


def _entry(value: object, where: str) -> Any:
    """An entry of a field that is a list: text, a number or a boolean."""
    if isinstance(value, str):
        return checked_text(value, where)
    return value if isinstance(value, bool) else _number(value, where)


_CHECKS: Mapping[FieldType, Callable[[object, str], Any]] = MappingProxyType(
    {
        "text": checked_text,
        "number": _number,
        "boolean": checked_flag,
        "list": _list,
        "timestamp": _timestamp,
        "counter": _counter,
    }
)
