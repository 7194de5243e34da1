"""Codec: frozen dataclasses as JSON and back, checked against their own type hints.

Reading trusts nothing: a wrong type, an unknown or a missing field is an `InvalidInput` that names the place. Fields marked
`repr=False` (vectors, functions) are not written.
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

__all__ = ["decode", "encode"]

T = TypeVar("T")


def encode(value: Any) -> Any:
    """`value` in what JSON has. Infinities become the strings `inf` and `-inf`; what JSON can't hold becomes its text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {str(key): encode(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [encode(entry) for entry in value]
    if isinstance(value, AbstractSet):
        return sorted(map(encode, value), key=str)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def decode(kind: type[T], found: Any, where: str = "") -> T:
    """A `kind` from what `encode` wrote of one. Raises `InvalidInput`."""
    made: T = _decode(kind, found, where or kind.__name__.lower())
    return made


def _decode(kind: Any, found: Any, where: str) -> Any:
    if kind is Any:
        return found
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _either(get_args(kind), found, where)
    if origin is Literal:
        return found if found in get_args(kind) and isinstance(found, str) else _wrong(where, f"one of {get_args(kind)}", found)
    if origin is tuple:
        return _row(get_args(kind), _checked(found, list, where), where)
    if origin is frozenset:
        return frozenset(_decode(get_args(kind)[0], entry, where) for entry in _checked(found, list, where))
    if origin is not None and issubclass(origin, Mapping):
        inner = get_args(kind)[1]
        return {key: _decode(inner, entry, f"{where}.{key}") for key, entry in _checked(found, dict, where).items()}
    if is_dataclass(kind):
        return _object(kind, _checked(found, dict, where), where)
    return _plain(kind, found, where)


def _plain(kind: Any, found: Any, where: str) -> Any:
    if kind in (datetime, date):
        try:
            return kind.fromisoformat(_checked(found, str, where))
        except ValueError:
            return _wrong(where, "a time in ISO 8601", found)
    if kind is float:
        if found in ("inf", "-inf", "nan"):
            return float(found)
        try:
            return (
                float(found)
                if isinstance(found, int | float) and not isinstance(found, bool)
                else _wrong(where, "a number", found)
            )
        except OverflowError:
            return _wrong(where, "a smaller number", found)
    return _checked(found, kind, where)


def _either(kinds: tuple[Any, ...], found: Any, where: str) -> Any:
    if found is None and type(None) in kinds:
        return None
    (kind,) = (kind for kind in kinds if kind is not type(None))
    return _decode(kind, found, where)


def _row(kinds: tuple[Any, ...], found: list[Any], where: str) -> tuple[Any, ...]:
    if len(kinds) == 2 and kinds[1] is ...:
        return tuple(_decode(kinds[0], entry, f"{where}[{at}]") for at, entry in enumerate(found))
    if len(found) != len(kinds):
        return _wrong(where, f"a list of {len(kinds)}", found)
    return tuple(_decode(kind, entry, f"{where}[{at}]") for at, (kind, entry) in enumerate(zip(kinds, found, strict=True)))


def _object(kind: Any, found: dict[str, Any], where: str) -> Any:
    known = {field.name: field for field in fields(kind) if field.repr}
    if unknown := sorted(found.keys() - known.keys()):
        raise InvalidInput(f"{where} has an unknown field {unknown[0][:40]!r}")
    needed = [name for name, field in known.items() if field.default is MISSING and field.default_factory is MISSING]
    if missing := [name for name in needed if name not in found]:
        raise InvalidInput(f"{where} lacks {missing[0]!r}")
    hints = _hints(kind)
    return kind(**{name: _decode(hints[name], entry, f"{where}.{name}") for name, entry in found.items()})


@lru_cache(maxsize=64)
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _checked(found: Any, kind: type[T], where: str) -> T:
    if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
        return _wrong(
            where, {dict: "an object", list: "a list", str: "text", int: "a whole number"}.get(kind, kind.__name__), found
        )
    return found


def _wrong(where: str, wanted: str, found: Any) -> NoReturn:
    raise InvalidInput(f"{where} must be {wanted}, not {repr(found)[:40]}")
