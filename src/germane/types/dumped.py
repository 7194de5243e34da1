"""Dumped: SDK objects as plain dicts, a single one or those inside a message.

Providers' SDKs hand out Pydantic objects, and callers pass them back: as whole messages, in `content`, `parts` and
`tool_calls`. Each object is dumped once, when the arguments are checked. What is measured is then what is parsed, counted and
sent, and the output is as serialisable as the dump is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from germane.errors import InvalidInput
from germane.types.limits import DEPTH, VALUES, within

__all__ = ["dump", "without_objects"]

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
            raise InvalidInput(f"{self._where} is nested deeper than {DEPTH.maximum} levels, or contains itself")
        if isinstance(value, Mapping):
            return self._mapping(value, path, depth)
        if isinstance(value, list | tuple):
            return self._list(value, path, depth, placed=placed)
        dumped = self._dumped(value, path)
        if dumped is not None:
            return self._mapping(dumped, path, depth)
        if placed:
            raise InvalidInput(f"{self._place(path)} is {type(value).__name__}: give text, a mapping or an object of an SDK")
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
                f"{self._place(path)} is a {type(value).__name__} that can't be read ({type(error).__name__})"
            ) from error

    def _count(self, values: int) -> None:
        self._values += values
        within(self._where, self._values, VALUES, at_least=True)

    def _place(self, path: tuple[object, ...]) -> str:
        return self._start + "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
