"""Content: the content of a block as plain JSON, and the same content in the shape of another schema.

A value is checked as JSON before it becomes what the leaves of the document hold. A migration gives the content in the
shape of another schema, or all the reasons why it doesn't fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput, UnknownName
from germane.kinds.blocks.field import Field, checked_item, checked_name, checked_text, checked_value
from germane.kinds.blocks.leaf import Held, Key, Leaf, Stored, item, item_id, leaves
from germane.kinds.blocks.schema import CompositeSchema, ListSchema, LogSchema, MapSchema, Schema, SimpleSchema, TextSchema
from germane.types.checks import check_flag, check_size, check_type
from germane.types.limits import LIST_ITEMS

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


def stored_field(field: Field, value: object, new_id: NewId, before: Stored = None, *, path: str = "value") -> Stored:
    """Returns what a leaf holds for a plain value of a field. None is the default, or no value. Raises `InvalidInput` for a
    value of another type, and for none where the field is required."""
    found = field.default if value is None else field.checked(value, path)
    if found in (None, "", ()) and field.required:
        raise InvalidInput("is required", path=path, advice="give it a value")
    if found is None:
        return _without_value(field)
    if field.type == "list":
        return _kept_ids([(entry,) for entry in found], before, new_id)
    stored: Stored = found
    return stored


def listed_item(schema: ListSchema, value: object, where: str) -> Any:
    """Returns the value of one item of a list. Raises `InvalidInput`."""
    return checked_item(value, where) if schema.item == "object" else checked_text(value, where)


def stored_value(
    schema: Schema, value: object, new_id: NewId, held: Held, section: str = "", *, path: str = "value"
) -> dict[Key, Stored]:
    """Returns what each leaf holds for a plain value. `held` is what they hold now, so that equal items keep their ids.
    A log is filled only where it is empty. What a dict leaves out gets its default. `path` names the value in errors. Raises
    `InvalidInput`."""
    if isinstance(schema, CompositeSchema):
        given = _named({} if value is None else value, [one.name for one in schema.sections], "section", path)
        found: dict[Key, Stored] = {}
        for one in schema.sections:
            found |= _stored(one.schema, one.name, given.get(one.name), new_id, held, f"{path}.{one.name}")
        return found
    return _stored(schema, section, value, new_id, held, path)


def _stored(schema: SimpleSchema, section: str, value: object, new_id: NewId, held: Held, path: str) -> dict[Key, Stored]:
    own = leaves(schema, section)
    if isinstance(schema, MapSchema):
        given = _named({} if value is None else value, [one.name for one in schema.fields], "field", path)
        return {
            leaf.key: stored_field(
                leaf.field, given.get(leaf.field.name), new_id, held.get(leaf.key), path=f"{path}.{leaf.field.name}"
            )
            for leaf in own
            if leaf.field
        }
    key = own[0].key
    if isinstance(schema, TextSchema):
        return {key: checked_text("" if value is None else value, path)}
    entries = [] if value is None else value
    if not isinstance(entries, list | tuple):
        raise InvalidInput("must be a list, not {}", value, path=path)
    if isinstance(schema, LogSchema):
        check_size(path, len(entries), LIST_ITEMS)
        rows = [_entry(one, f"{path}[{index}]") for index, one in enumerate(entries)][-schema.max_entries :]
    else:
        check_items(schema, len(entries), own[0].where)
        rows = [_row(schema, one, f"{path}[{index}]") for index, one in enumerate(entries)]
    return {key: _kept_ids(rows, held.get(key), new_id)}


def check_items(schema: ListSchema, count: int, where: str) -> None:
    """Raises `InvalidInput` where a list has more items than its schema allows."""
    if count > schema.max_items:
        raise InvalidInput(f"{where} has {count:,} items, {schema.max_items:,} are allowed", advice="delete some first")


def _row(schema: ListSchema, value: object, where: str) -> tuple[Any, ...]:
    if schema.checkboxes and isinstance(value, Mapping) and set(value) <= {"value", "done"} and "value" in value:
        done = check_flag(f"{where}.done", value.get("done", False))
        return listed_item(schema, value["value"], f"{where}.value"), done
    return listed_item(schema, value, where), False


def _entry(value: object, where: str) -> tuple[Any, ...]:
    if isinstance(value, str):
        value = {"text": value}
    given = _named(value, ["text", "at", "by"], "key", where)
    at = given.get("at")
    stamp = None if at is None else checked_value("timestamp", at, f"{where}.at")
    return checked_text(given.get("text"), f"{where}.text"), stamp, checked_text(given.get("by", ""), f"{where}.by")


def _named(value: object, names: list[str], what: str, path: str) -> dict[str, Any]:
    table = check_type(path, value, Mapping, f"an object with a value by {what}")
    given = {checked_name(key, path): one for key, one in table.items()}
    for key in given:
        if key not in names:
            raise UnknownName(f"has no {what} {{}}", key, path=path, advice=f"they are {', '.join(names)}")
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
        raise InvalidInput(f"{leaf.where} is required", advice="give it a value")
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


# Migration: from the shape of one schema to that of another. Content is never lost: what doesn't fit is a reason to
# refuse.


def migrated(value: Any, old: Schema, new: Schema) -> Any:
    """Returns the plain value of `old` as one of `new`. Sections and fields are carried over by name, what is missing gets
    its default. The lines of a text become items or entries, and items lines. A value becomes text, and a counter a number,
    where the field says so. What has no section goes into the first section of its kind, and the only section with content
    becomes the block. Raises `InvalidInput`, which names all that would be lost."""
    problems: list[str] = []
    found = _migrated_content(value, old, new, problems)
    if problems:
        raise InvalidInput(f"doesn't fit: {'; '.join(problems)}", path="schema")
    return found


def _migrated_content(value: Any, old: Schema, new: Schema, problems: list[str]) -> Any:
    if isinstance(old, CompositeSchema) and isinstance(new, CompositeSchema):
        return _migrated_sections(value, old, new, problems)
    if isinstance(old, CompositeSchema):
        filled = [one for one in old.sections if not _is_empty(one.schema, value[one.name])]
        if len(filled) > 1:
            problems.append(f"sections {', '.join(repr(one.name) for one in filled)} have content: empty all but one")
            return None
        return _migrated_content(value[filled[0].name], filled[0].schema, new, problems) if filled else None
    if isinstance(new, CompositeSchema):
        if _is_empty(old, value):
            return {}
        for one in new.sections:
            if one.schema.kind == old.kind:
                return {one.name: _migrated_part(value, old, one.schema, f"section {one.name!r}", problems)}
        problems.append(f"no section is a {old.kind}: add one for the content, or empty the block")
        return None
    return _migrated_part(value, old, new, "the block", problems)


def _migrated_sections(value: Any, old: CompositeSchema, new: CompositeSchema, problems: list[str]) -> dict[str, Any]:
    there = {one.name: one.schema for one in new.sections}
    found = {}
    for one in old.sections:
        if one.name in there:
            found[one.name] = _migrated_part(value[one.name], one.schema, there[one.name], f"section {one.name!r}", problems)
        elif not _is_empty(one.schema, value[one.name]):
            problems.append(f"section {one.name!r} has content and no place: empty it first")
    return found


def _migrated_part(value: Any, old: SimpleSchema, new: SimpleSchema, where: str, problems: list[str]) -> Any:
    if _is_empty(old, value) and old.kind != new.kind:
        return None
    match old, new:
        case (TextSchema(), TextSchema()):
            return value
        case (MapSchema(), MapSchema()):
            return _fields(value, old, new, problems)
        case (TextSchema(), ListSchema() | LogSchema()):
            return _rows([line for line in value.split("\n") if line.strip()], new, where, problems)
        case (ListSchema(), ListSchema() | LogSchema()):
            return _listed(value, old, new, where, problems)
        case (ListSchema(), TextSchema()):
            if any(one["done"] for one in value if old.checkboxes):
                problems.append(f"{where} has items that are done, which a text can't say: uncheck them first")
            rows = [one["value"] if old.checkboxes else one for one in value]
            return "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in rows)
        case (LogSchema(), LogSchema()):
            return _rows(value, new, where, problems)
    problems.append(f"{where} is a {old.kind} with content, which can't become a {new.kind}: empty it first")
    return None


def _listed(value: Sequence[Any], old: ListSchema, new: ListSchema | LogSchema, where: str, problems: list[str]) -> Any:
    ticks = isinstance(new, ListSchema) and new.checkboxes
    if old.checkboxes and not ticks and any(one["done"] for one in value):
        problems.append(f"{where} has items that are done, and would have no checkboxes: uncheck them first")
    if (old.item == "object") != (isinstance(new, ListSchema) and new.item == "object") and value:
        problems.append(f"{where} has items of type {old.item}, which don't become another: delete them first")
        return None
    rows = value if not old.checkboxes or ticks else [one["value"] for one in value]
    return _rows(rows, new, where, problems)


def _rows(rows: Sequence[Any], new: ListSchema | LogSchema, where: str, problems: list[str]) -> Sequence[Any]:
    most = new.max_items if isinstance(new, ListSchema) else new.max_entries
    if len(rows) > most:
        problems.append(f"{where} has {len(rows):,} items, {most:,} would be allowed")
    if isinstance(new, ListSchema) and new.item == "object" and rows and isinstance(rows[0], str):
        problems.append(f"{where} is text, which doesn't become objects: empty it first")
    return rows


def _fields(value: Any, old: MapSchema, new: MapSchema, problems: list[str]) -> dict[str, Any]:
    there = {one.name: one for one in new.fields}
    found = {}
    for one in old.fields:
        present = value[one.name]
        if one.name in there:
            found[one.name] = _value(present, one, there[one.name], problems)
        elif not _unset(one, present):
            problems.append(f"{one.where} has a value and no place: set it to null first")
    for name, field in there.items():
        if field.required and field.default is None and field.type != "counter" and found.get(name) in (None, "", []):
            problems.append(f"{field.where} is required and would have no value: give it a default")
    return found


def _value(value: Any, old: Field, new: Field, problems: list[str]) -> Any:
    if value in (None, "", []) or (old.type != new.type and _unset(old, value)):
        return None
    if old.type == new.type or (old.type == "counter" and new.type == "number"):
        return value
    if new.type == "text" and old.type != "list":
        return value if isinstance(value, str) else json.dumps(value)
    if new.type == "counter" and isinstance(value, int) and not isinstance(value, bool):
        return value
    problems.append(f"{old.where} is a {old.type} with a value, which can't become a {new.type}: set it to null first")
    return None


def _unset(field: Field, value: Any) -> bool:
    default = list(field.default) if isinstance(field.default, tuple) else field.default
    return value in (None, "", []) or value == default or (field.type == "counter" and value == 0)


def _is_empty(schema: SimpleSchema, value: Any) -> bool:
    """Whether a plain value holds nothing but defaults."""
    if isinstance(schema, MapSchema):
        return all(_unset(field, value[field.name]) for field in schema.fields)
    return not value
