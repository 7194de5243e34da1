"""Mutation: the JSON of each, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane.kinds.blocks.mutation import MUTATIONS, Mutation, SetText, as_dict, checked_mutation, parse_mutation

EXAMPLES: dict[str, dict[str, Any]] = {
    "set_text": {"text": "a"},
    "append_text": {"text": "a"},
    "replace_text": {"old": "a", "new": "b"},
    "insert_lines": {"line": 0, "text": "a"},
    "set_field": {"field": "a", "value": [1, "x"]},
    "append_to_field": {"field": "a", "value": "x"},
    "increment": {"field": "a", "by": -3},
    "push_item": {"value": {"task": "x"}, "done": True},
    "insert_item": {"index": 0, "value": "x", "done": False},
    "update_item": {"index": 1, "value": "x"},
    "check_item": {"index": 1, "done": False},
    "move_item": {"index": 1, "to": 0},
    "delete_item": {"index": 1},
    "append_entry": {"text": "x"},
    "set_value": {"value": {"a": None}},
}


def test_there_is_an_example_of_each() -> None:
    """A new mutation can't be forgotten here."""
    assert EXAMPLES.keys() == MUTATIONS.keys()


@pytest.mark.parametrize("op", MUTATIONS)
@pytest.mark.parametrize("section", [None, "facts"])
def test_a_mutation_comes_back_from_its_json(op: str, section: str | None) -> None:
    """With and without a section."""
    given = {"op": op, **EXAMPLES[op], **({"section": section} if section else {})}
    mutation: Mutation = parse_mutation(given)
    assert type(mutation) is MUTATIONS[op]
    assert json.loads(json.dumps(as_dict(mutation))) == given


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"op": "drop"}, "set_text, append_text"),
        ({"op": None}, "set_text"),
        ("set_text", "object"),
        ({"op": "set_text"}, "needs text"),
        ({"op": "set_text", "text": "a", "by": 1}, "has no 'by'"),
        ({"op": "set_text", "text": 3}, "mutation.text"),
        ({"op": "set_text", "text": "a", "section": "x:y"}, "section"),
        ({"op": "delete_item", "index": -1}, "from 0"),
        ({"op": "delete_item", "index": True}, "from 0"),
        ({"op": "delete_item", "index": 2**40}, "from 0"),
        ({"op": "increment", "field": "a", "by": 0.5}, "whole number"),
        ({"op": "increment", "field": "a", "by": 2**60}, "by must be a whole number from -9,007"),
        ({"op": "check_item", "index": 0, "done": 1}, "true or false"),
    ],
)
def test_what_is_no_mutation_is_refused_with_a_reason(given: object, why: str) -> None:
    """Before any document is touched."""
    with pytest.raises(InvalidInput, match=why):
        parse_mutation(given)


def test_a_mutation_made_in_python_is_checked_as_well() -> None:
    """Types aren't enforced by the class."""
    with pytest.raises(InvalidInput):
        checked_mutation(SetText(text=3))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        checked_mutation({"op": "set_text"})
