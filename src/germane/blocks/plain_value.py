"""Plain value: the content of a block as JSON, and what its leaves hold for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from germane.blocks.field import Field, checked_flag, checked_item, checked_text
from germane.blocks.label import checked_name
from germane.blocks.leaf import Held, Key, Leaf, Stored, item, item_id, leaves
from germane.blocks.schema import CompositeSchema, ListSchema, LogSchema, MapSchema, Schema, SimpleSchema, TextSchema
from germane.errors import InvalidInput, UnknownName
from germane.types.limits import LIST_ITEMS, shown, within

__all__ = [
    "NewId",
    "check_items",
    "check_required",
    "field_value",
    "listed_item",
    "plain_row",
    "plain_value",
    "stored_field",
    "stored_value",
]

NewId = Callable[[], str]
"""Makes the id of a new item, which no other item of the document has."""
_WITHOUT: Mapping[str, Stored] = MappingProxyType({"text": "", "list": (), "counter": 0})


def plain_value(schema: Schema, held: Held) -> Any:
    """Returns the content as JSON, from what each leaf holds: a text is a string, a map a dict of its fields, a list
    a list (of `{"value", "done"}` with checkboxes), a log a list of `{"text", "at", "by"}` from the oldest entry, a
    composite a dict of its sections."""
    if isinstance(schema, CompositeSchema):
        return {one.name: _simple(one.schema, one.name, held) for one in schema.sections}
    return _simple(schema, "", held)


def _simple(schema: SimpleSchema, section: str, held: Held) -> Any:
    own = leaves(schema, section)
    if isinstance(schema, MapSchema):
        return {leaf.field.name: field_value(leaf.field, held[leaf.key]) for leaf in own if leaf.field}
    found = held[own[0].key]
    if isinstance(schema, TextSchema):
        return found
    entries = [plain_row(one) for one in found] if isinstance(found, tuple) else []
    if isinstance(schema, LogSchema):
        return [{"text": _at(one, 1, ""), "at": _at(one, 2, None), "by": _at(one, 3, "")} for one in entries]
    if schema.checkboxes:
        return [{"value": _at(one, 1, ""), "done": bool(_at(one, 2, False))} for one in entries]
    return [_at(one, 1, "") for one in entries]


def field_value(field: Field, stored: Stored) -> Any:
    """Returns the plain value of a field: a list from its items, None for a field without a value."""
    if field.type == "list":
        return [_at(plain_row(one), 1, "") for one in stored] if isinstance(stored, tuple) else []
    return stored


def _without_value(field: Field) -> Stored:
    """Returns what a leaf holds where the field has no value."""
    return _WITHOUT.get(field.type)


def stored_field(field: Field, value: object, new_id: NewId, before: Stored = None) -> Stored:
    """Returns what a leaf holds for a plain value of a field. None is the default, or no value. Raises `InvalidInput` for a
    value of another type, and for none where the field is required."""
    found = field.default if value is None else field.checked(value)
    if found in (None, "", ()) and field.required:
        raise InvalidInput(f"{field.where} is required: give it a value")
    if found is None:
        return _without_value(field)
    if field.type == "list":
        return _kept_ids([(entry,) for entry in found], before, new_id)
    stored: Stored = found
    return stored


def listed_item(schema: ListSchema, value: object, where: str) -> Any:
    """Returns the value of one item of a list. Raises `InvalidInput`."""
    return checked_item(value, where) if schema.item == "object" else checked_text(value, where)


def stored_value(schema: Schema, value: object, new_id: NewId, held: Held, section: str = "") -> dict[Key, Stored]:
    """Returns what each leaf holds for a plain value. `held` is what they hold now, so that equal items keep their ids.
    A log is filled only where it is empty. What a dict leaves out gets its default. Raises `InvalidInput`."""
    if isinstance(schema, CompositeSchema):
        given = _named({} if value is None else value, [one.name for one in schema.sections], "section")
        found: dict[Key, Stored] = {}
        for one in schema.sections:
            found |= _stored(one.schema, one.name, given.get(one.name), new_id, held)
        return found
    return _stored(schema, section, value, new_id, held)


def _stored(schema: SimpleSchema, section: str, value: object, new_id: NewId, held: Held) -> dict[Key, Stored]:
    own = leaves(schema, section)
    if isinstance(schema, MapSchema):
        given = _named({} if value is None else value, [one.name for one in schema.fields], "field")
        return {
            leaf.key: stored_field(leaf.field, given.get(leaf.field.name), new_id, held.get(leaf.key))
            for leaf in own
            if leaf.field
        }
    key, where = own[0].key, own[0].where
    if isinstance(schema, TextSchema):
        return {key: checked_text("" if value is None else value, where)}
    entries = [] if value is None else value
    if not isinstance(entries, list | tuple):
        raise InvalidInput(f"{where} must be a list, not {shown(value)}")
    if isinstance(schema, LogSchema):
        within(where, len(entries), LIST_ITEMS)
        rows = [_entry(one, f"entry {index} of {where}") for index, one in enumerate(entries)][-schema.max_entries :]
    else:
        check_items(schema, len(entries), where)
        rows = [_row(schema, one, f"item {index} of {where}") for index, one in enumerate(entries)]
    return {key: _kept_ids(rows, held.get(key), new_id)}


def check_items(schema: ListSchema, count: int, where: str) -> None:
    """Raises `InvalidInput` where a list has more items than its schema allows."""
    if count > schema.max_items:
        raise InvalidInput(f"{where} has {count:,} items, {schema.max_items:,} are allowed: delete some first")


def _row(schema: ListSchema, value: object, where: str) -> tuple[Any, ...]:
    if schema.checkboxes and isinstance(value, Mapping) and set(value) <= {"value", "done"} and "value" in value:
        done = checked_flag(value.get("done", False), f"done of {where}")
        return listed_item(schema, value["value"], where), done
    return listed_item(schema, value, where), False


def _entry(value: object, where: str) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = {"text": value}
    given = _named(value, ["text", "at", "by"], f"key of {where}")
    at = given.get("at")
    stamp = None if at is None else Field(name="at", type="timestamp").checked(at)
    return checked_text(given.get("text"), where), stamp, checked_text(given.get("by", ""), f"by of {where}")


def _named(value: object, names: list[str], what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"a value with a {what} each must be an object, not {shown(value)}")
    given = {checked_name(key, what): one for key, one in value.items()}
    for key in given:
        if key not in names:
            raise UnknownName(f"there is no {what} {shown(key)}: they are {', '.join(names)}")
    return given


def _kept_ids(rows: list[tuple[Any, ...]], before: Stored, new_id: NewId) -> tuple[str, ...]:
    """Returns rows as items. A row whose values an item has already is that item."""
    there: dict[str, list[str]] = {}
    for one in reversed(before if isinstance(before, tuple) else ()):
        there.setdefault(item("", *plain_row(one)[1:]), []).append(one)
    return tuple(same.pop() if (same := there.get(item("", *row))) else item(new_id(), *row) for row in rows)


def check_required(leaf: Leaf, stored: Stored) -> None:
    """Raises `InvalidInput` for a required field without a value, and for a list with too many items."""
    if leaf.field is not None and leaf.field.required and stored in (None, "", ()):
        raise InvalidInput(f"{leaf.where} is required: give it a value")
    if isinstance(leaf.schema, ListSchema) and isinstance(stored, tuple):
        check_items(leaf.schema, len(stored), leaf.where)


def plain_row(stored: str) -> list[Any]:
    """Returns the id and the values of a stored item; of one that can't be read, its text."""
    try:
        found = json.loads(stored)
    except ValueError:
        found = None
    return found if isinstance(found, list) and len(found) > 1 else [item_id(stored), stored]


def _at(row: list[Any], index: int, otherwise: Any) -> Any:
    return row[index] if index < len(row) else otherwise
