"""Rules as values: what is refused, and the form as a dict."""

from __future__ import annotations

from typing import Any

import pytest

from germane.errors import InvalidInput, UnknownName
from germane.tool_rules.value import RULE_KINDS, AllowedOperations, ExclusiveGroup, ToolCooldown, parse_rule, rule_as_dict

EXAMPLES: list[dict[str, Any]] = [
    {"kind": "start", "tool": "a"},
    {"kind": "ends", "tool": "a"},
    {"kind": "continues", "tool": "a"},
    {"kind": "max_calls", "tool": "a", "count": 1},
    {"kind": "requires_prior", "tool": "a", "prior": "b"},
    {"kind": "followed_by", "tool": "a", "then": "b"},
    {"kind": "required_before_exit", "tool": "a"},
    {"kind": "cooldown", "tool": "a", "seconds": 1.5},
    {"kind": "exclusive", "tools": ["a", "b"]},
    {"kind": "periodic", "tool": "a", "turns": 2},
    {"kind": "consent", "tool": "a", "of": "human"},
    {"kind": "allowed_operations", "tool": "a", "allowed": ["read"], "argument": "operation"},
]


@pytest.mark.parametrize("raw", EXAMPLES, ids=lambda raw: raw["kind"])
def test_each_kind_goes_through_a_dict_and_back(raw: dict[str, Any]) -> None:
    """The dict is JSON."""
    assert rule_as_dict(parse_rule(raw)) == raw


def test_every_kind_has_an_example() -> None:
    """A new kind needs one."""
    assert [raw["kind"] for raw in EXAMPLES] == [kind.kind for kind in RULE_KINDS]


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("start", "must be a dict"),
        ({"kind": "first", "tool": "a"}, "rule.kind .* is unknown"),
        ({"kind": ["start"], "tool": "a"}, "rule.kind .* is unknown"),
        ({"kind": "start"}, "rule lacks a field"),
        ({"kind": "start", "tool": "a", "count": 1}, "has no field 'count'"),
        ({"kind": "start", "tool": " "}, "tool is empty"),
        ({"kind": "start", "tool": 1}, "must be a string"),
        ({"kind": "start", "tool": "x" * 257}, "256 are allowed"),
        ({"kind": "start", "tool": "\ud800"}, "lone surrogate"),
        ({"kind": "max_calls", "tool": "a", "count": 0}, "from 1 to"),
        ({"kind": "max_calls", "tool": "a", "count": True}, "from 1 to"),
        ({"kind": "requires_prior", "tool": "a", "prior": "a"}, "the same tool"),
        ({"kind": "cooldown", "tool": "a"}, "seconds or turns"),
        ({"kind": "cooldown", "tool": "a", "seconds": 1, "turns": 1}, "seconds or turns"),
        ({"kind": "cooldown", "tool": "a", "seconds": float("nan")}, "above 0"),
        ({"kind": "cooldown", "tool": "a", "seconds": -1}, "above 0"),
        ({"kind": "exclusive", "tools": ["a", "a"]}, "two names"),
        ({"kind": "exclusive", "tools": "ab"}, "list of strings"),
        ({"kind": "consent", "tool": "a", "of": "model"}, "partner, human"),
        ({"kind": "allowed_operations", "tool": "a", "allowed": []}, "name an operation"),
    ],
)
def test_what_can_not_be_used_is_refused(raw: Any, says: str) -> None:
    """The error says what to give."""
    with pytest.raises(InvalidInput, match=says):
        parse_rule(raw)


def test_an_unknown_kind_is_an_unknown_name() -> None:
    """It lists the kinds."""
    with pytest.raises(UnknownName, match="start, ends, continues"):
        parse_rule({"kind": "x"})


def test_a_rule_may_be_about_one_tool_and_an_argument_of_its_name() -> None:
    """Only two tools must differ."""
    assert AllowedOperations(tool="mode", argument="mode", allowed=("x", "x")).allowed == ("x",)


def test_rules_with_lists_are_hashable_values() -> None:
    """They are compared and repeated ones dropped."""
    assert len({ExclusiveGroup(tools=["a", "b"]), ExclusiveGroup(tools=("a", "b")), ToolCooldown(tool="a", turns=1)}) == 2  # type: ignore[arg-type]
