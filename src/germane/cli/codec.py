"""Codec: encodes dataclasses as JSON values, and decodes them with a check against their type hints.

A named tuple becomes a list of its values, or an object where every field has a default. Decoding raises `InvalidInput` with
the place of a wrong type, an unknown field or a missing one. Fields with `repr=False` (vectors, functions) are not encoded.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from germane.errors import InvalidInput

T = TypeVar("T")
_MAX_LIST_FIELDS = 4
"""Fields of a named tuple that is written as a list."""


def encode(value: Any) -> Any:
    """Returns `value` as a JSON value. Infinities become `"inf"` and `"-inf"`; unknown types become `str(value)`."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {str(key): encode(entry) for key, entry in value.items()}
    if isinstance(value, tuple) and _is_record(type(value)):
        return {name: encode(entry) for name, entry in zip(type(value)._fields, value, strict=True)}  # type: ignore[attr-defined]
    if isinstance(value, list | tuple):
        return [encode(entry) for entry in value]
    if isinstance(value, AbstractSet):
        return sorted(map(encode, value), key=str)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def decode(kind: type[T], encoded: Any, where: str = "") -> T:
    """Returns an instance of `kind` from the JSON value `encoded`, as `encode` makes it. `where` is the place that the message
    of an `InvalidInput` names."""
    decoded: T = _decode(kind, encoded, where or kind.__name__.lower())
    return decoded


def _decode(kind: Any, encoded: Any, where: str) -> Any:
    if kind is Any:
        return encoded
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_optional(get_args(kind), encoded, where)
    if origin is Literal:
        return (
            encoded
            if encoded in get_args(kind) and isinstance(encoded, str)
            else _wrong(where, f"one of {get_args(kind)}", encoded)
        )
    if origin is tuple:
        return _decode_tuple(get_args(kind), _checked(encoded, list, where), where)
    if origin is frozenset:
        return frozenset(_decode(get_args(kind)[0], entry, where) for entry in _checked(encoded, list, where))
    if origin is not None and issubclass(origin, Mapping):
        inner = get_args(kind)[1]
        return {key: _decode(inner, entry, f"{where}.{key}") for key, entry in _checked(encoded, dict, where).items()}
    if is_dataclass(kind) or (isinstance(kind, type) and issubclass(kind, tuple) and _is_record(kind)):
        return _decode_fields(kind, _checked(encoded, dict, where), where)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return kind(*_decode_tuple(tuple(_hints(kind).values()), _checked(encoded, list, where), where))
    return _decode_plain(kind, encoded, where)


def _decode_plain(kind: Any, encoded: Any, where: str) -> Any:
    if kind in (datetime, date):
        try:
            return kind.fromisoformat(_checked(encoded, str, where))
        except ValueError:
            return _wrong(where, "a time in ISO 8601", encoded)
    if kind is float:
        if encoded in ("inf", "-inf", "nan"):
            return float(encoded)
        try:
            return (
                float(encoded)
                if isinstance(encoded, int | float) and not isinstance(encoded, bool)
                else _wrong(where, "a number", encoded)
            )
        except OverflowError:
            return _wrong(where, "a smaller number", encoded)
    return _checked(encoded, kind, where)


def _decode_optional(kinds: tuple[Any, ...], encoded: Any, where: str) -> Any:
    if encoded is None and type(None) in kinds:
        return None
    choices = [kind for kind in kinds if kind is not type(None)]
    if len(choices) == 1:
        return _decode(choices[0], encoded, where)
    fitting = [kind for kind in choices if is_dataclass(kind) and isinstance(encoded, dict) and _fits(kind, encoded)]
    if not fitting:
        return _wrong(where, f"one of {', '.join(kind.__name__ for kind in choices)}", encoded)
    return _decode(fitting[0], encoded, where)


def _fits(kind: Any, encoded: dict[str, Any]) -> bool:
    """Whether these are fields of the dataclass, and all that it needs."""
    known, needed = _fields(kind)
    return encoded.keys() <= known and encoded.keys() >= set(needed)


def _decode_tuple(kinds: tuple[Any, ...], encoded: list[Any], where: str) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is ...:
        return tuple(_decode(kinds[0], entry, f"{where}[{index}]") for index, entry in enumerate(encoded))
    if len(encoded) != len(kinds):
        return _wrong(where, f"a list of {len(kinds)}", encoded)
    return tuple(
        _decode(kind, entry, f"{where}[{index}]") for index, (kind, entry) in enumerate(zip(kinds, encoded, strict=True))
    )


def _is_record(kind: type[tuple[Any, ...]]) -> bool:
    """Whether it is a named tuple that is read by its names, and not by their order: of more than four fields, or of fields
    that all have defaults."""
    names = getattr(kind, "_fields", ())
    return len(names) > _MAX_LIST_FIELDS or (bool(names) and len(names) == len(getattr(kind, "_field_defaults", ())))


def _decode_fields(kind: Any, encoded: dict[str, Any], where: str) -> Any:
    known, needed = _fields(kind)
    if unknown := sorted(encoded.keys() - known):
        raise InvalidInput(f"{where} has an unknown field {unknown[0][:40]!r}")
    if missing := [name for name in needed if name not in encoded]:
        raise InvalidInput(f"{where} lacks {missing[0]!r}")
    hints = _hints(kind)
    return kind(**{name: _decode(hints[name], entry, f"{where}.{name}") for name, entry in encoded.items()})


def _fields(kind: Any) -> tuple[frozenset[str], list[str]]:
    """Returns the names of the fields of a dataclass or of a named tuple, and those that must be given."""
    if not is_dataclass(kind):
        return frozenset(kind._fields), [name for name in kind._fields if name not in kind._field_defaults]
    known = [field for field in fields(kind) if field.repr]
    needed = [field.name for field in known if field.default is MISSING and field.default_factory is MISSING]
    return frozenset(field.name for field in known), needed


@lru_cache(maxsize=64)
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _checked(encoded: Any, kind: type[T], where: str) -> T:
    if not isinstance(encoded, kind) or (isinstance(encoded, bool) and kind is not bool):
        return _wrong(
            where, {dict: "an object", list: "a list", str: "text", int: "a whole number"}.get(kind, kind.__name__), encoded
        )
    return encoded


def _wrong(where: str, expected: str, encoded: Any) -> NoReturn:
    raise InvalidInput(f"{where} must be {expected}, not {repr(encoded)[:40]}")
