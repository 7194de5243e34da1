"""Nested data: what a request holds as dicts and lists, its depth and size, and SDK objects as plain dicts.

`Extent` adds up values and characters. The walk that measures isn't recursive and ends at the limits, so data that contains
itself ends it too. It runs before any other work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from germane.errors import InvalidInput
from germane.types.checks import check_digits, check_size
from germane.types.limits import CHARACTERS, DEPTH, VALUES, VALUES_IN_ALL, Limit

_LISTS = (list, tuple, set, frozenset)
_ORDINARY = 2**63
_MAX_QUICK_DEPTH, _MAX_QUICK_VALUES = 8, 1_000
"""Levels and values up to which data is counted the short way."""


class Extent:
    """Adds up the sizes of one argument's parts. `characters` limits their sum."""

    def __init__(self, argument: str, characters: Limit, *, values: Limit = VALUES_IN_ALL) -> None:
        self._argument, self._limit, self._values_in_all = argument, characters, values
        self._characters = self._values = 0

    def text(self, length: int) -> None:
        """Adds a string of so many characters. Raises `InvalidInput` beyond the limit."""
        self._characters += length
        if self._characters > self._limit.maximum:
            check_size(self._argument, self._characters, self._limit, at_least=True)

    def part(self, where: str, data: object) -> None:
        """Adds a message, a tool or the like; `where` names it in errors. Raises `InvalidInput` beyond a limit."""
        self.sized(*bounded(where, data))

    def sized(self, values: int, characters: int) -> None:
        """Adds what was counted before. Raises `InvalidInput` beyond a limit."""
        self._values += values
        check_size(self._argument, self._values, self._values_in_all, at_least=True)
        self.text(characters)


def plain_size(data: object) -> tuple[int, int] | None:
    """Returns what `bounded` does, in a fifth of the time, for data that holds nothing but dicts with strings as keys, lists
    and simple values, of no type derived from these, and is small; None for any other."""
    if type(data) is not dict:
        return None
    values, characters = 1, 0
    level: list[Any] = [data]
    for _ in range(_MAX_QUICK_DEPTH):
        deeper: list[Any] = []
        for one in level:
            values += len(one)
            if values > _MAX_QUICK_VALUES:
                return None
            if type(one) is dict:
                try:
                    characters += len("".join(one))
                except TypeError:
                    return None
                one = one.values()
            for each in one:
                kind = type(each)
                if kind is str:
                    characters += len(each)
                elif kind is dict or kind is list:
                    deeper.append(each)
                elif not (each is None or kind is bool or kind is float or (kind is int and -_ORDINARY <= each <= _ORDINARY)):
                    return None
        if not deeper:
            return values, characters
        level = deeper
    return None


def bounded(where: str, data: object, limit: Limit = VALUES) -> tuple[int, int]:
    """Returns how many values and characters `data` holds: dicts, lists, and SDK objects with `model_dump`. Raises
    `InvalidInput` for data that is nested too deep, holds more values than the limit, or a whole number of too many bits."""
    values = characters = 0
    stack: list[Iterator[object]] = [iter((data,))]
    while stack:
        deeper: Iterator[object] | None = None
        for one in stack[-1]:
            values += 1
            kind = type(one)
            if kind is str:
                characters += len(one)  # type: ignore[arg-type]
                continue
            if one is None or kind is bool or kind is float:
                continue
            inner, length = _inside(where, one, limit)
            characters += length
            if inner is not None:
                check_size(where, values + len(inner), limit, at_least=True)
                check_size(where, characters, CHARACTERS, at_least=True)
                deeper = iter(inner)
                break
        if deeper is None:
            stack.pop()
        else:
            stack.append(deeper)
            if len(stack) > DEPTH.maximum + 1:
                raise InvalidInput(f"is nested deeper than {DEPTH.maximum} levels, or contains itself", path=where)
    return values, characters


def _inside(where: str, one: Any, limit: Limit) -> tuple[Any, int]:
    """Returns the values inside `one` (a sized iterable, or None), and its own characters."""
    kind = type(one)
    if kind is list or kind is tuple:
        return one, 0
    if kind is dict:
        return one.values(), _keys(where, one, limit)
    if isinstance(one, int):
        if not -_ORDINARY <= one <= _ORDINARY:
            check_digits(where, one)
        return None, 0
    if isinstance(one, str | bytes | bytearray):
        return None, len(one)
    if isinstance(one, _LISTS):
        return one, 0
    if not isinstance(one, Mapping):
        try:
            one = dump(one)
        except Exception as error:
            raise InvalidInput(
                f"holds a {type(one).__name__} that can't be read ({type(error).__name__})", path=where
            ) from error
    return (one.values(), _keys(where, one, limit)) if isinstance(one, Mapping) else (None, 0)


def _keys(where: str, one: Mapping[Any, Any], limit: Limit) -> int:
    """Returns the characters of the keys, after checking their number."""
    if len(one) > limit.maximum:
        check_size(where, len(one), limit, at_least=True)
    try:
        return len("".join(one))
    except TypeError:  # not all of them are strings
        for key in one:
            if isinstance(key, int):
                check_digits(where, key)
        return sum(len(key) for key in one if isinstance(key, str))


# Providers' SDKs return Pydantic objects, and callers pass them back: as whole messages, in `content`, `parts` and
# `tool_calls`. Each object is dumped once, when the arguments are checked. So what is measured is also what is parsed,
# counted and sent, and the output can be serialised as the dump can.


_PLACES = ("content", "parts", "tool_calls")
"""Keys of a message under which each value is text, a mapping, or an SDK object."""
_SIMPLE = (str, bytes, bytearray, int, float, type(None))


def dump(value: object) -> dict[str, Any] | None:
    """Returns the dump of an SDK's (Pydantic) object, without fields that are None or that the SDK itself never sends; None
    for anything else. Raises whatever the object's own code raises."""
    if isinstance(value, type | Mapping):
        return None
    made: Callable[..., object] | None = getattr(value, "model_dump", None)
    if not callable(made):
        return None
    hidden = getattr(value, "__api_exclude__", None)
    dumped = made(exclude_none=True) if hidden is None else made(exclude_none=True, exclude=hidden)
    return dict(dumped) if isinstance(dumped, Mapping) else None


def without_objects(where: str, place: str, message: Any) -> Any:
    """Returns `message` itself if it holds no SDK object, else a copy with each object's dump in its place; nothing else is
    copied. Takes time linear in the message.

    Raises `InvalidInput` for an object of an unknown kind in `content`, `parts` or `tool_calls` and for one that can't be
    dumped, naming its place below `place`, such as `messages[3].content[1]`; and for more levels or values than one message may
    have, naming `where`."""
    return _Walk(where, place).plain(message, (), 0, placed=False)


class _Walk:
    """One message's walk, which ends at the limits: data that contains itself ends it too."""

    def __init__(self, where: str, place: str) -> None:
        self._where, self._start, self._values = where, place, 0

    def plain(self, value: Any, path: tuple[object, ...], depth: int, *, placed: bool) -> Any:
        if isinstance(value, _SIMPLE):
            return value
        if depth > DEPTH.maximum:
            raise InvalidInput(f"is nested deeper than {DEPTH.maximum} levels, or contains itself", path=self._where)
        if isinstance(value, Mapping):
            return self._mapping(value, path, depth)
        if isinstance(value, list | tuple):
            return self._list(value, path, depth, placed=placed)
        dumped = self._dumped(value, path)
        if dumped is not None:
            return self._mapping(dumped, path, depth)
        if placed:
            raise InvalidInput(
                f"is {type(value).__name__}", path=self._place(path), advice="give text, a mapping or an object of an SDK"
            )
        return value

    def _mapping(self, value: Mapping[Any, Any], path: tuple[object, ...], depth: int) -> Mapping[Any, Any]:
        self._count(len(value))
        changed: dict[Any, Any] | None = None
        for key, item in value.items():
            if isinstance(item, _SIMPLE):
                continue
            name = key[:40] if isinstance(key, str) else type(key).__name__
            new = self.plain(item, (*path, name), depth + 1, placed=key in _PLACES)
            if new is not item:
                changed = dict(value) if changed is None else changed
                changed[key] = new
        return value if changed is None else changed

    def _list(self, value: list[Any] | tuple[Any, ...], path: tuple[object, ...], depth: int, *, placed: bool) -> Any:
        self._count(len(value))
        changed: list[Any] | None = None
        for index, item in enumerate(value):
            if isinstance(item, _SIMPLE):
                continue
            new = self.plain(item, (*path, index), depth + 1, placed=placed)
            if new is not item:
                changed = list(value) if changed is None else changed
                changed[index] = new
        return value if changed is None else changed

    def _dumped(self, value: object, path: tuple[object, ...]) -> dict[str, Any] | None:
        try:
            return dump(value)
        except Exception as error:
            raise InvalidInput(
                f"is a {type(value).__name__} that can't be read ({type(error).__name__})", path=self._place(path)
            ) from error

    def _count(self, values: int) -> None:
        self._values += values
        check_size(self._where, self._values, VALUES, at_least=True)

    def _place(self, path: tuple[object, ...]) -> str:
        return self._start + "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
