"""Schema and fields: their JSON, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.kinds.blocks.field import Field, checked_value
from germane.kinds.blocks.schema import SCHEMAS, MapSchema, parse_schema

WHOLE: list[dict[str, Any]] = [
    {"type": "text"},
    {"type": "text", "viewport": {"start": 3, "lines": 40}},
    {"type": "list", "item": "object", "max_items": 10, "checkboxes": True},
    {"type": "log", "display_limit": 5, "timestamp": False, "agent": True, "max_entries": 9},
    {
        "type": "map",
        "fields": [
            {"name": "a", "type": "text", "required": True, "default": "x", "description": "d"},
            {"name": "b", "type": "list", "default": ["p", 2, True], "read_only": True},
            {"name": "c", "type": "boolean", "default": False},
        ],
    },
    {"type": "composite", "sections": [{"name": "a", "schema": {"type": "text"}, "read_only": True, "description": "d"}]},
]


@pytest.mark.parametrize("value", WHOLE)
def test_a_schema_comes_back_from_its_json(value: dict[str, Any]) -> None:
    """What was read is written, and read again."""
    schema = parse_schema(value)
    assert schema.as_dict() == value
    assert parse_schema(json.loads(json.dumps(schema.as_dict()))) == schema
    assert {one["type"] for one in WHOLE} == set(SCHEMAS)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("tree", "text, map, list"),
        ({}, "text, map, list"),
        ([], "object"),
        ({"type": "text", "lines": 3}, "viewport"),
        ({"type": "text", "viewport": {"lines": 0}}, "schema.viewport.lines"),
        ({"type": "text", "viewport": {"start": 0, "lines": 1}}, "schema.viewport.start"),
        ({"type": "text", "viewport": {}}, "needs lines"),
        ({"type": "text", "viewport": 3}, "object"),
        ({"type": "map"}, "needs fields"),
        ({"type": "map", "fields": []}, "at least one"),
        ({"type": "map", "fields": [{"name": "a"}, {"name": "A"}]}, "twice"),
        ({"type": "map", "fields": [{"name": "a", "type": "date"}]}, "timestamp"),
        ({"type": "map", "fields": [{"name": "a:b"}]}, "U\\+003A"),
        ({"type": "map", "fields": [{"name": "a", "type": "number", "default": "x"}]}, "number"),
        ({"type": "map", "fields": [{"name": "a", "required": "yes"}]}, "true or false"),
        ({"type": "map", "fields": [{"name": f"f{n}"} for n in range(101)]}, "101 entries"),
        ({"type": "list", "max_items": 0}, "max_items"),
        ({"type": "list", "max_items": 1_001}, "max_items"),
        ({"type": "list", "max_items": True}, "max_items"),
        ({"type": "list", "item": "map"}, "text or object"),
        ({"type": "log", "display_limit": 0}, "display_limit"),
        (
            {"type": "composite", "sections": [{"name": "a", "schema": {"type": "composite", "sections": [{"name": "b"}]}}]},
            "text, a map",
        ),
        ({"type": "composite", "sections": [{"name": "a"}, {"name": "a"}]}, "twice"),
        ({"type": "composite", "sections": [{}]}, "needs name"),
    ],
)
def test_what_is_no_schema_is_refused_with_a_reason(value: object, why: str) -> None:
    """The error names the place."""
    with pytest.raises(InvalidInput, match=why):
        parse_schema(value)


@pytest.mark.parametrize(
    ("type", "given", "stored"),
    [
        ("number", 2**63 - 1, 2**63 - 1),
        ("number", 1.5, 1.5),
        ("counter", -(2**53), -(2**53)),
        ("list", ["a", 1, False], ("a", 1, False)),
        ("timestamp", "2026-05-08T14:30:00+02:00", "2026-05-08T12:30:00Z"),
        ("timestamp", datetime(2026, 5, 8, tzinfo=UTC), "2026-05-08T00:00:00Z"),
    ],
)
def test_a_value_is_stored_in_one_form(type: Any, given: object, stored: object) -> None:
    """Times in UTC, lists as tuples."""
    assert checked_value(type, given, "x") == stored


@pytest.mark.parametrize(
    ("type", "given"),
    [
        ("text", 3),
        ("text", "\ud800"),
        ("text", "x" * 100_001),
        ("number", True),
        ("number", "1"),
        ("number", float("nan")),
        ("number", float("inf")),
        ("number", 2**63),
        ("boolean", 1),
        ("counter", 1.0),
        ("counter", 2**53 + 1),
        ("counter", True),
        ("list", "ab"),
        ("list", [["nested"]]),
        ("list", [None]),
        ("list", ["a"] * 1_001),
        ("timestamp", "yesterday"),
        ("timestamp", "2026-05-08T14:30:00"),
        ("timestamp", datetime.min.replace(tzinfo=timezone(timedelta(hours=5)))),
        ("timestamp", 1_700_000_000),
    ],
)
def test_a_value_of_another_type_is_refused(type: Any, given: object) -> None:
    """Loro would take some of them and change them: 2⁶³ becomes a float."""
    with pytest.raises(InvalidInput):
        checked_value(type, given, "x")


def test_a_field_that_does_not_exist_is_refused_with_those_that_do() -> None:
    """By name."""
    with pytest.raises(InvalidInput, match="its fields are a, b"):
        MapSchema(fields=(Field(name="a"), Field(name="b"))).field("c")
