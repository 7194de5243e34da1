"""From wire: converts wire messages to the API's values; refuses a value that can't be converted, naming its field.

Whether a converted value is allowed is for the API to check.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from germane.grpc.messages import filters_pb2, number_of
from germane.grpc.server.refusals import invalid
from germane.types.candidate import Sensitivity
from germane.types.checks import check_size
from germane.types.json_text import JsonText
from germane.types.limits import FIELD_VALUES, NAMES
from germane.types.query import Filters

_FIELD_NAME = re.compile(r"[a-z][a-z_]{0,31}")


class WireMessage(Protocol):
    """A message of either contract. Only germane's has the field `json`."""

    role: str
    content: str


def message_dict(wire: WireMessage, index: int, json: JsonText) -> dict[str, Any]:
    """Returns the message as the dict that the API takes. `index` is its position in the request, for errors. Raises
    `Refused`."""
    if written := getattr(wire, "json", ""):
        value = json.read(written, f"messages[{index}].json")
        if not isinstance(value, dict):
            raise invalid(f"messages[{index}].json must be a JSON object")
        return value
    if not wire.role:
        raise invalid(f"messages[{index}].role is missing: give system, user, assistant or tool")
    return {"role": wire.role, "content": wire.content}


def json_list(written: str, where: str) -> list[Any]:
    """Parses JSON text. Raises `Refused`, naming the field `where`, for invalid JSON and for anything but a list."""
    value = JsonText().read(written, where)
    if not isinstance(value, list):
        raise invalid(f"{where} must be a JSON list")
    return value


def moment(wire: Timestamp, where: str) -> datetime:
    """Returns the time in UTC. Raises `Refused`, naming the field `where`, for a time outside the years 1 to 9999."""
    try:
        return wire.ToDatetime(UTC)
    except (ValueError, OverflowError):
        raise invalid(f"{where} is no time between the years 1 and 9999") from None


def filters(
    wire: filters_pb2.Filters, where: str = "filters.", *, default_sensitivities: Sequence[str] = ("public", "private")
) -> Filters:
    """Returns the filters; an empty list filters nothing. `where` is the prefix of field names in errors. Raises `Refused`, and
    `InvalidInput` for a value that isn't allowed."""
    return Filters(
        since=moment(wire.since, f"{where}since") if wire.HasField("since") else None,
        until=moment(wire.until, f"{where}until") if wire.HasField("until") else None,
        kinds=tuple(wire.kinds) or None,
        event_types=tuple(wire.event_types) or None,
        entity_types=tuple(wire.entity_types) or None,
        tags=tuple(wire.tags) or None,
        sensitivities=cast("tuple[Sensitivity, ...]", tuple(wire.sensitivities or default_sensitivities)),
        exclude=frozenset(wire.exclude),
        session=wire.session_id or None,
        with_ended=wire.with_ended,
        task=wire.task_id or None,
    )


def fields(wire: Struct, reserved: Sequence[str]) -> dict[str, Any]:
    """Returns a memory's fields by name. `reserved` are names that aren't allowed, because the request has a field of its own
    for them. Raises `Refused` and `InvalidInput`."""
    check_size("fields", len(wire.fields), NAMES)
    for name in wire.fields:
        if not _FIELD_NAME.fullmatch(name):
            raise invalid("fields: a name must be small letters and underscores, such as key or expires_at")
        if name in reserved:
            raise invalid(f"fields: {name} has a field of its own in the request")
    return {name: _FieldReader(f"fields.{name}").read(value) for name, value in wire.fields.items()}


class _FieldReader:
    """Converts the value of one field and limits how many values are inside it. protobuf itself limits the depth, to some 30
    levels."""

    def __init__(self, where: str) -> None:
        self._where, self._values = where, 0

    def read(self, value: Value) -> Any:
        self._values += 1
        match value.WhichOneof("kind"):
            case "number_value":
                return number_of(value.number_value)
            case "string_value":
                return value.string_value
            case "bool_value":
                return value.bool_value
            case "struct_value":
                inner = value.struct_value.fields
                self._check_room(len(inner))
                return {name: self.read(item) for name, item in inner.items()}
            case "list_value":
                self._check_room(len(value.list_value.values))
                return [self.read(item) for item in value.list_value.values]
            case _:
                return None

    def _check_room(self, more: int) -> None:
        check_size(self._where, self._values + more, FIELD_VALUES, at_least=True)
