"""Line fields: the fields of one object in a line of an export, taken one by one and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, get_args

from germane.errors import InvalidInput
from germane.kinds.memories.fields import check_provenance, moment
from germane.kinds.messages.prepared import slim
from germane.types.candidate import Provenance, Sensitivity
from germane.types.limits import ID, REFERENCES, REMARK, Limit, check_size
from germane.types.limits import check_text as string
from germane.types.nested_data import bounded
from germane.types.scope import Scope

_REQUIRED: Any = object()
"""In the place of a default: the field may not be missing."""
_MAX_COUNT = (1 << 53) - 1
"""The largest whole number that every reader of JSON keeps exact."""
_MAX_HASH = 1 << 63
_SENSITIVITIES = get_args(Sensitivity)


class LineFields:
    """Each field is taken once. `what` names the object in errors. Every method raises `InvalidInput`. Errors hold no text of
    the file, but for a name that should be one of a few."""

    def __init__(self, value: Any, what: str) -> None:
        if not isinstance(value, Mapping):
            raise InvalidInput(f"{what} must be an object, not {type(value).__name__}")
        self._left, self._what = dict(value), what

    def take(self, name: str, default: Any = _REQUIRED) -> Any:
        value = self._left.pop(name, default)
        if value is _REQUIRED:
            raise InvalidInput(f"{self._what} lacks its {name}")
        return value

    def time(self, name: str, default: Any = _REQUIRED) -> datetime:
        value = self.take(name, default)
        return value if value is default else moment(name, string(name, value, REMARK), "UTC")

    def maybe_time(self, name: str) -> datetime | None:
        return self.time(name) if self._given(name) else None

    def text(self, name: str, limit: Limit, default: Any = _REQUIRED, *, empty: bool = False, valid: bool = True) -> str:
        """A text within the limit: one with a character at least, unless `empty`, and without lone surrogates, if `valid`."""
        value = string(name, self.take(name, default), limit, valid=valid)
        if not value and not empty:
            raise InvalidInput(f"{name} is empty")
        return value

    def maybe_text(self, name: str, limit: Limit) -> str | None:
        return self.text(name, limit) if self._given(name) else None

    def session(self) -> str:
        return Scope(session=self.text("session", ID)).session or ""

    def whole(self, name: str, minimum: int, maximum: int = _MAX_COUNT, default: Any = _REQUIRED) -> int:
        value = self.take(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            raise InvalidInput(f"must be a whole number from {minimum:,} to {maximum:,}, not {{}}", value, path=name)
        return value

    def count(self, name: str, default: Any = _REQUIRED, *, maximum: int = _MAX_COUNT) -> int:
        return self.whole(name, 0, maximum, default)

    def maybe_count(self, name: str) -> int | None:
        return self.count(name) if self._given(name) else None

    def content_hash(self) -> int:
        return self.whole("content_hash", -_MAX_HASH, _MAX_HASH - 1)

    def flag(self, name: str) -> bool:
        """True or false; false where it is left out."""
        value = self.take(name, False)
        if not isinstance(value, bool):
            raise InvalidInput(f"{name} must be true or false, not {type(value).__name__}")
        return value

    def one_of(self, name: str, allowed: tuple[Any, ...], default: Any = _REQUIRED) -> Any:
        value = self.take(name, default)
        if (value is not None and not isinstance(value, str)) or value not in allowed:
            names = ", ".join(str(one) or "''" for one in allowed)
            raise InvalidInput(f"must be one of {names}, not {{}}", value, path=name)
        return value

    def sensitivity(self) -> Sensitivity:
        found: Sensitivity = self.one_of("sensitivity", _SENSITIVITIES, "private")
        return found

    def entries(self, name: str, maximum: int = _MAX_COUNT) -> list[Any]:
        value = self.take(name, [])
        if not isinstance(value, list):
            raise InvalidInput(f"{name} must be a list, not {type(value).__name__}")
        if len(value) > maximum:
            check_size(name, len(value), REFERENCES)
            raise InvalidInput(f"{name} has {len(value)} entries, {maximum} are allowed")
        return value

    def json_object(self, name: str) -> dict[str, Any]:
        """An object of any fields, as it is stored; empty where it is left out."""
        value = self.take(name, {})
        if not isinstance(value, Mapping):
            raise InvalidInput(f"{name} must be an object, not {type(value).__name__}")
        bounded(name, value)
        return slim(value)

    def _given(self, name: str) -> bool:
        """Whether the field has a value. Takes a null."""
        if self._left.get(name) is None:
            self._left.pop(name, None)
            return False
        return True

    def end(self) -> None:
        """Raises `InvalidInput` for a field that nobody took."""
        for name in sorted(map(str, self._left)):
            raise InvalidInput(
                f"{self._what} has a field {{}} that this germane doesn't know", name, advice="upgrade germane, or remove it"
            )


def written_time(value: datetime | None) -> str | None:
    """Returns the time as a line holds it; None stays None."""
    return None if value is None else value.isoformat()


# The provenance in a line.


def provenance_fields(provenance: Provenance) -> dict[str, Any]:
    """Returns the fields of a provenance."""
    return {
        "source_kind": provenance.source_kind,
        "channel": provenance.channel,
        "session": provenance.session,
        "message_id": provenance.message_id,
        "tool_call_id": provenance.tool_call_id,
        "refs": list(provenance.refs),
        "metadata": dict(provenance.metadata),
    }


def parsed_provenance(value: Any, *, call: Limit = ID) -> Provenance:
    """Returns the provenance in an object. `call` is the limit of a tool call's id. Raises `InvalidInput`."""
    given = LineFields(value, "provenance")
    call_id = given.take("tool_call_id", None)
    provenance = check_provenance(
        Provenance(
            source_kind=given.take("source_kind", "user"),
            channel=given.take("channel", None),
            session=given.take("session", None),
            message_id=given.take("message_id", None),
            refs=given.take("refs", ()),
            metadata=given.take("metadata", {}),
        )
    )
    given.end()
    if call_id is None:
        return provenance
    return replace(provenance, tool_call_id=string("provenance: tool_call_id", call_id, call))
