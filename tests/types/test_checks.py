"""Checks of single arguments: what each takes, its one wording, and the path of its error."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from math import inf, nan
from typing import Any

import pytest

from germane.dialects.registry import parse_all
from germane.dialects.tools import parse_tools
from germane.errors import InvalidInput
from germane.kinds.blocks.mutation import parse_mutation
from germane.kinds.blocks.schema import parse_schema
from germane.tool_rules.value import ToolCooldown, parse_rule
from germane.types.checks import (
    check_flag,
    check_moment,
    check_number,
    check_one_of,
    check_optional_text,
    check_some_of,
    check_table,
    check_whole_number,
)
from germane.types.limits import ID
from germane.types.query import Filters
from germane.types.strategy import SourcePlan, Weights

HUGE = 10**400
RESULT = {"type": "tool_result", "content": [{"type": "text"}]}


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda: check_whole_number("n", True), "n must be a whole number, 0 or more, not True"),
        (lambda: check_whole_number("n", 3.0, 1), "n must be a whole number, 1 or more, not 3.0"),
        (lambda: check_whole_number("n", 1001, 1, 1000), "n must be a whole number from 1 to 1,000, not 1001"),
        (lambda: check_number("x", nan), "x must be a number, 0 or more, not nan"),
        (lambda: check_number("x", inf), "x must be a number, 0 or more, not inf"),
        (lambda: check_number("x", HUGE), "x must be a number, 0 or more, not a whole number of 1,329 bits"),
        (lambda: check_number("x", 0, 0, 1.5, above=True), "x must be a number above 0, at most 1.5, not 0"),
        (lambda: check_number("x", 0, above=True, unit="days"), "x must be a number of days above 0, not 0"),
        (lambda: check_number("x", "1", 0, 1), "x must be a number from 0 to 1, not '1'"),
        (lambda: check_flag("f", 1), "f must be true or false, not 1"),
        (lambda: check_one_of("w", ["a"], ("a", "b")), "w must be one of a, b, not list"),
        (lambda: check_some_of("w", ["a", "c"], ("a", "b")), "w must be some of a, b, not 'c'"),
        (lambda: check_moment("at", "now"), "at must be a datetime, not str"),
        (lambda: check_table("t", [1]), "t must be a table, not list"),
        (lambda: check_table("t", {1: 2}, "an object"), "t must have strings as its keys, not int"),
        (lambda: check_optional_text("id", 5, ID), "id must be a string, not int"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_in_one_wording(check: Callable[[], object], said: str) -> None:
    """The path, the rule, and the value, which stands beside the text."""
    with pytest.raises(InvalidInput) as error:
        check()
    assert str(error.value) == said


def test_a_value_that_can_be_used_is_returned() -> None:
    """Both bounds are included; a number becomes a float."""
    assert (check_whole_number("n", 0), check_whole_number("n", 9, 1, 9)) == (0, 9)
    assert check_number("x", 1, 0, 1) == 1.0
    assert isinstance(check_number("x", 1, 0, 1), float)
    assert check_one_of("w", "a", ("a", "b")) == "a"
    assert check_moment("at", datetime(2026, 5, 8)) == datetime(2026, 5, 8)
    check_optional_text("id", None, ID)


def message(**fields: Any) -> Callable[[], object]:
    return lambda: parse_all([{"role": "user", "content": "hi"}, {"role": "user", **fields}])


@pytest.mark.requirement("RPC-4")
@pytest.mark.parametrize(
    ("read", "path"),
    [
        (lambda: parse_schema({"type": "tree"}), "schema.type"),
        (lambda: parse_schema({"type": "map"}), "schema"),
        (lambda: parse_schema({"type": "map", "fields": [{"name": "a"}, {"name": "b", "type": "x"}]}), "schema.fields[1].type"),
        (lambda: parse_schema({"type": "map", "fields": [{"name": "a", "default": 5}]}), "schema.fields[0].default"),
        (lambda: parse_schema({"type": "list", "max_items": 0}), "schema.max_items"),
        (
            lambda: parse_schema({"type": "composite", "sections": [{"name": "a", "schema": {"type": "log", "agent": 1}}]}),
            "schema.sections[0].schema.agent",
        ),
        (lambda: parse_mutation({"op": "nothing"}, "mutations[2]"), "mutations[2].op"),
        (lambda: parse_mutation({"op": "check_item", "index": -1}, "mutations[2]"), "mutations[2].index"),
        (lambda: parse_mutation({"op": "set_text"}, "mutations[2]"), "mutations[2]"),
        (lambda: parse_rule({"kind": "first"}, "rules[1]"), "rules[1].kind"),
        (lambda: parse_rule({"kind": "start"}, "rules[1]"), "rules[1]"),
        (lambda: ToolCooldown(tool="a", seconds=0), "cooldown.seconds"),
        (message(content=[{"type": "text", "text": 5}]), "messages[1].content[0].text"),
        (message(content=[5]), "messages[1].content[0]"),
        (message(content=5), "messages[1].content"),
        (message(tool_calls=[{}], role="assistant"), "messages[1].tool_calls[0]"),
        (message(content="a", created_at="soon"), "messages[1].created_at"),
        (lambda: parse_all([5]), "messages[0]"),  # type: ignore[list-item]
        (
            lambda: parse_all(
                [{"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text"}]}]}], "anthropic"
            ),
            "messages[0].content[0].content[0].text",
        ),
        (lambda: parse_all([{"role": "user", "parts": [{"text": 5}]}], "gemini"), "messages[0].parts[0].text"),
        (lambda: parse_tools([{"functionDeclarations": [5]}]), "tools[0].functionDeclarations[0]"),
        (lambda: Filters(sensitivities=("secret",)), "filters.sensitivities"),  # type: ignore[arg-type]
        (lambda: SourcePlan(name="recent", limit=-1), "sources.recent.limit"),
        (lambda: Weights(recency=11).check("log-odds"), "weights.recency"),
    ],
)
def test_an_error_names_the_place_of_the_value(read: Callable[[], object], path: str) -> None:
    """As the caller knows it, however deep the value lies."""
    with pytest.raises(InvalidInput) as error:
        read()
    assert error.value.path == path
