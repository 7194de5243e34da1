"""Migration: what fits into another schema, and the reasons why something doesn't."""

from __future__ import annotations

from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.mutation import AppendText
from germane.kinds.blocks.schema import parse_schema


def composite(*sections: dict[str, Any]) -> dict[str, Any]:
    return {"type": "composite", "sections": list(sections)}


def a_map(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "map", "fields": list(fields)}


LIST, CHECKS, LOG = {"type": "list"}, {"type": "list", "checkboxes": True}, {"type": "log"}


@pytest.mark.parametrize(
    ("old", "value", "new", "after"),
    [
        ("text", "a\n\nb", LIST, ["a", "b"]),
        ("text", "a\nb", LOG, [{"text": "a", "at": None, "by": ""}, {"text": "b", "at": None, "by": ""}]),
        ("text", "", a_map({"name": "x", "default": "d"}), {"x": "d"}),
        ("text", "a", composite({"name": "l", "schema": LIST}, {"name": "t"}), {"l": [], "t": "a"}),
        (LIST, ["a", "b"], "text", "a\nb"),
        (LIST, ["a"], CHECKS, [{"value": "a", "done": False}]),
        (CHECKS, ["a"], LIST, ["a"]),
        (
            a_map({"name": "a"}, {"name": "n", "type": "counter"}), {"a": "x", "n": 3},
            a_map({"name": "n"}, {"name": "a"}, {"name": "z"}), {"n": "3", "a": "x", "z": ""},
        ),
        (composite({"name": "a"}, {"name": "b"}), {"b": "x"}, composite({"name": "b", "schema": LIST}), {"b": ["x"]}),
        (composite({"name": "a"}, {"name": "b"}), {"b": "x"}, "text", "x"),
    ],
)  # fmt: skip
def test_what_fits_is_carried_over(old: Any, value: Any, new: Any, after: Any) -> None:
    """And a copy that merges the delta holds the same."""
    document = BlockDocument.new(parse_schema(old), value)
    snapshot, before = document.snapshot(), document.frontiers()
    document.migrate(parse_schema(new))
    assert document.value() == after
    assert BlockDocument.load(parse_schema(new), snapshot, [document.delta(before)]).value() == after


@pytest.mark.parametrize(
    ("old", "value", "new", "why"),
    [
        ("text", "a", a_map({"name": "x"}), "can't become a map"),
        (CHECKS, [{"value": "a", "done": True}], LIST, "done"),
        (CHECKS, [{"value": "a", "done": True}], "text", "done"),
        (LIST, ["a", "b"], {"type": "list", "max_items": 1}, "2 items, 1 would be"),
        (LIST, ["a"], {"type": "list", "item": "object"}, "don't become another"),
        (a_map({"name": "a"}, {"name": "b"}), {"a": "x", "b": "y"}, a_map({"name": "c"}), "'a' has a value.*'b' has a value"),
        (a_map({"name": "a"}), {"a": "x"}, a_map({"name": "a", "type": "number"}), "can't become a number"),
        (a_map({"name": "a"}), {}, a_map({"name": "b", "required": True}), "'b' is required"),
        (composite({"name": "a"}), {"a": "x"}, composite({"name": "b"}), "section 'a' has content"),
        (composite({"name": "a"}, {"name": "b"}), {"a": "x", "b": "y"}, "text", "'a', 'b'"),
        (LIST, ["a"], composite({"name": "b"}), "no section is a list"),
    ],
)
def test_what_would_be_lost_is_named_and_nothing_is_changed(old: Any, value: Any, new: Any, why: str) -> None:
    """All reasons at once."""
    document = BlockDocument.new(parse_schema(old), value)
    before, state = document.value(), document.frontiers()
    with pytest.raises(InvalidInput, match=why):
        document.migrate(parse_schema(new))
    assert (document.value(), document.frontiers(), document.schema) == (before, state, parse_schema(old))


def test_what_was_moved_away_does_not_come_back() -> None:
    """The old shape is emptied."""
    document = BlockDocument.new(parse_schema("text"), "a")
    document.migrate(parse_schema("list"))
    document.migrate(parse_schema("text"))
    document.apply(AppendText(text="b"))
    assert document.value() == "ab"
