"""Incoming: from the wire's values to the front's. What can't be one is refused with the field's name; the rest is the front's
to check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, cast

from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.timestamp_pb2 import Timestamp

from germane.grpc.json_text import JsonText
from germane.grpc.refusals import invalid
from germane.grpc.stubs import filters_pb2
from germane.types.candidate import Sensitivity
from germane.types.limits import FIELD_VALUES, NAMES, within
from germane.types.query import Filters

__all__ = ["WireMessage", "fields", "filters", "listed", "message", "moment"]

_FIELD = re.compile(r"[a-z][a-z_]{0,31}")
_EXACT = 2**53
"""Up to here a double tells every whole number from the next."""


class WireMessage(Protocol):
    """A message of either contract. Only germane's has `json`."""

    role: str
    content: str


def message(sent: WireMessage, at: int, json: JsonText) -> dict[str, Any]:
    """The dict that a library's caller would have given, `messages[at]` of the request."""
    if written := getattr(sent, "json", ""):
        found = json.read(written, f"messages[{at}].json")
        if not isinstance(found, dict):
            raise invalid(f"messages[{at}].json must be a JSON object")
        return found
    if not sent.role:
        raise invalid(f"messages[{at}].role is missing: give system, user, assistant or tool")
    return {"role": sent.role, "content": sent.content}


def listed(written: str, where: str) -> list[Any]:
    """A JSON list."""
    found = JsonText().read(written, where)
    if not isinstance(found, list):
        raise invalid(f"{where} must be a JSON list")
    return found


def moment(sent: Timestamp, where: str) -> datetime:
    try:
        return sent.ToDatetime(UTC)
    except (ValueError, OverflowError):
        raise invalid(f"{where} is no time between the years 1 and 9999") from None


def filters(sent: filters_pb2.Filters, where: str = "filters.", *, otherwise: Sequence[str] = ()) -> Filters:
    """Empty lists narrow nothing; `otherwise` are the sensitivities where none is named."""
    return Filters(
        since=moment(sent.since, f"{where}since") if sent.HasField("since") else None,
        until=moment(sent.until, f"{where}until") if sent.HasField("until") else None,
        kinds=tuple(sent.kinds) or None,
        event_types=tuple(sent.event_types) or None,
        entity_types=tuple(sent.entity_types) or None,
        tags=tuple(sent.tags) or None,
        sensitivities=cast("tuple[Sensitivity, ...]", tuple(sent.sensitivities or otherwise or ("public", "private"))),
        exclude=frozenset(sent.exclude),
        session=sent.session_id or None,
        with_history=sent.with_history,
    )


def fields(sent: Struct, taken: Sequence[str]) -> dict[str, Any]:
    """A memory's fields by name; `taken` are names that the request has fields of its own for."""
    within("fields", len(sent.fields), NAMES)
    for name in sent.fields:
        if not _FIELD.fullmatch(name):
            raise invalid("fields: a name must be small letters and underscores, such as key or expires_at")
        if name in taken:
            raise invalid(f"fields: {name} has a field of its own in the request")
    return {name: _Plain(f"fields.{name}").of(value) for name, value in sent.fields.items()}


class _Plain:
    """One field's value, as a library's caller would give it. How deep it can be is protobuf's to limit: some 30 levels."""

    def __init__(self, where: str) -> None:
        self._where, self._values = where, 0

    def of(self, value: Value) -> Any:
        self._values += 1
        match value.WhichOneof("kind"):
            case "number_value":
                number = value.number_value
                return int(number) if number.is_integer() and abs(number) <= _EXACT else number
            case "string_value":
                return value.string_value
            case "bool_value":
                return value.bool_value
            case "struct_value":
                inner = value.struct_value.fields
                self._count(len(inner))
                return {name: self.of(one) for name, one in inner.items()}
            case "list_value":
                self._count(len(value.list_value.values))
                return [self.of(one) for one in value.list_value.values]
            case _:
                return None

    def _count(self, more: int) -> None:
        within(self._where, self._values + more, FIELD_VALUES, at_least=True)
