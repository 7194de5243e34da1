"""Migration: the content of a block in the shape of another schema, or all the reasons why it doesn't fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from germane.blocks.field import Field
from germane.blocks.schema import CompositeSchema, ListSchema, LogSchema, MapSchema, Schema, SimpleSchema, TextSchema
from germane.errors import InvalidInput

__all__ = ["migrated"]


def migrated(value: Any, old: Schema, new: Schema) -> Any:
    """Returns the plain value of `old` as one of `new`. Sections and fields are carried over by name, what is missing gets
    its default. The lines of a text become items or entries, and items lines. A value becomes text, and a counter a number,
    where the field says so. What has no section goes into the first section of its kind, and the only section with content
    becomes the block. Raises `InvalidInput`, which names all that would be lost."""
    problems: list[str] = []
    found = _content(value, old, new, problems)
    if problems:
        raise InvalidInput(f"the new schema doesn't fit: {'; '.join(problems)}")
    return found


def _content(value: Any, old: Schema, new: Schema, problems: list[str]) -> Any:
    if isinstance(old, CompositeSchema) and isinstance(new, CompositeSchema):
        return _sections(value, old, new, problems)
    if isinstance(old, CompositeSchema):
        filled = [one for one in old.sections if not _is_empty(one.schema, value[one.name])]
        if len(filled) > 1:
            problems.append(f"sections {', '.join(repr(one.name) for one in filled)} have content: empty all but one")
            return None
        return _content(value[filled[0].name], filled[0].schema, new, problems) if filled else None
    if isinstance(new, CompositeSchema):
        if _is_empty(old, value):
            return {}
        for one in new.sections:
            if one.schema.kind == old.kind:
                return {one.name: _simple(value, old, one.schema, f"section {one.name!r}", problems)}
        problems.append(f"no section is a {old.kind}: add one for the content, or empty the block")
        return None
    return _simple(value, old, new, "the block", problems)


def _sections(value: Any, old: CompositeSchema, new: CompositeSchema, problems: list[str]) -> dict[str, Any]:
    there = {one.name: one.schema for one in new.sections}
    found = {}
    for one in old.sections:
        if one.name in there:
            found[one.name] = _simple(value[one.name], one.schema, there[one.name], f"section {one.name!r}", problems)
        elif not _is_empty(one.schema, value[one.name]):
            problems.append(f"section {one.name!r} has content and no place: empty it first")
    return found


def _simple(value: Any, old: SimpleSchema, new: SimpleSchema, where: str, problems: list[str]) -> Any:
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
