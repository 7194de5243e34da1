"""Line fields: the fields of one object in a line of an export, taken one by one and checked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from germane.errors import InvalidInput
from germane.memories.checks import moment
from germane.types.limits import ID, REFERENCES, REMARK, shown, within
from germane.types.limits import text as string
from germane.types.scope import Scope

__all__ = ["REQUIRED", "LineFields", "ObjectFields"]

REQUIRED: Any = object()
"""In the place of a default: the field may not be missing."""


class ObjectFields:
    """Each field is taken once. `what` names the object in errors. Every method raises `InvalidInput`."""

    def __init__(self, value: Any, what: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidInput(f"{what} must be an object, not {type(value).__name__}")
        self._left, self._what = dict(value), what

    def take(self, name: str, default: Any = REQUIRED) -> Any:
        value = self._left.pop(name, default)
        if value is REQUIRED:
            raise InvalidInput(f"{self._what} lacks its {name}")
        return value

    def time(self, name: str) -> datetime:
        return moment(name, string(name, self.take(name), REMARK), "UTC")

    def maybe_time(self, name: str) -> datetime | None:
        return self.time(name) if self._left.get(name) is not None else self._left.pop(name, None)

    def end(self) -> None:
        """Raises `InvalidInput` for a field that nobody took."""
        for name in sorted(map(str, self._left)):
            raise InvalidInput(
                f"{self._what} has a field {name[:40]!r} that this germane doesn't know: upgrade germane, or remove it"
            )


class LineFields(ObjectFields):
    """Fields of the usual kinds."""

    def text(self, name: str, maximum: int) -> str:
        value = self.take(name)
        if not isinstance(value, str) or not 1 <= len(value) <= maximum:
            raise InvalidInput(f"{name} must be a string of 1 to {maximum:,} characters, not {shown(value)}")
        return value

    def short(self, name: str, maximum: int) -> str:
        """A text that may be empty, and may be left out."""
        value = self.take(name, "")
        if not isinstance(value, str) or len(value) > maximum:
            raise InvalidInput(f"{name} must be a string of at most {maximum:,} characters, not {shown(value)}")
        return value

    def maybe_text(self, name: str, maximum: int) -> str | None:
        return self.text(name, maximum) if self._left.get(name) is not None else self._left.pop(name, None)

    def session(self) -> str:
        return Scope(session=self.text("session", ID.maximum)).session or ""

    def count(self, name: str, maximum: int, default: Any = REQUIRED) -> int:
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
            raise InvalidInput(f"{name} must be a whole number from 0 to {maximum:,}, not {shown(value)}")
        return value

    def one_of(self, name: str, allowed: tuple[Any, ...], default: Any = REQUIRED) -> Any:
        value = self.take(name, default)
        if (value is not None and not isinstance(value, str)) or value not in allowed:
            raise InvalidInput(f"{name} must be one of {', '.join(map(str, allowed))}, not {shown(value)}")
        return value

    def entries(self, name: str, maximum: int) -> list[Any]:
        value = self.take(name, [])
        if not isinstance(value, list):
            raise InvalidInput(f"{name} must be a list, not {type(value).__name__}")
        if len(value) > maximum:
            within(name, len(value), REFERENCES)
            raise InvalidInput(f"{name} has {len(value)} entries, {maximum} are allowed")
        return value
