"""Strategies by name, and what is said of settings that don't fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from germane.api.strategies import COMPACT, COMPOSITE, DEFAULT, VERBOSE, Strategies, derive
from germane.errors import InvalidInput, UnknownName
from germane.types.strategy import Cap, SourcePlan


def test_the_built_in_strategies_are_found_by_name() -> None:
    known = Strategies()
    assert list(known) == ["compact", "composite", "default", "verbose"]
    assert [known.find(name) for name in known] == [COMPACT, COMPOSITE, DEFAULT, VERBOSE]
    assert known.find(COMPACT) is COMPACT


@pytest.mark.parametrize("wanted", ["terse", "", None, ["default"]])
def test_a_name_nobody_registered_is_named_with_those_there_are(wanted: Any) -> None:
    with pytest.raises(UnknownName, match="compact, composite, default, verbose"):
        Strategies().find(wanted)


def test_registering_in_one_registry_changes_no_other() -> None:
    one, two = Strategies(), Strategies()
    one.register(derive(DEFAULT, {"name": "mine"}))
    assert "mine" in list(one)
    assert "mine" not in list(two)


@pytest.mark.requirement("BUD-6")
def test_partial_settings_are_merged_at_every_level() -> None:
    """What isn't said stays as it was."""
    mine = derive(
        DEFAULT,
        {
            "name": "mine",
            "cap": 1500,
            "weights": {"recency": 0.1},
            "half_lives": {"event": 7},
            "sources": {"recent": {"limit": 0}, "extra": {"timeout": 0.01}},
            "shares": {"kinds": {"factual": {"items": 3}}, "total": {"items": 12}},
            "tags": ["vip"],
        },
    )
    assert (mine.cap, mine.weights.recency, mine.weights.usefulness) == (1500, 0.1, DEFAULT.weights.usefulness)
    assert (mine.half_lives["event"], mine.half_lives["factual"]) == (7, 180)
    plans, before = {plan.name: plan for plan in mine.sources}, {plan.name: plan for plan in DEFAULT.sources}
    assert (plans["recent"].limit, plans["messages"]) == (0, before["messages"])
    assert plans["extra"] == SourcePlan(name="extra", timeout=0.01)
    assert (mine.shares.kinds["factual"], mine.shares.total) == (Cap(items=3), Cap(items=12))
    again = derive(mine, {"shares": {"kinds": {"factual": {"chars": 800}}}})
    assert (again.shares.kinds["factual"], again.shares.total.items) == (Cap(items=3, chars=800), 12)
    assert again.tags == ("vip",)


@pytest.mark.requirement("BUD-6", "SCORE-1")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"wieghts": {}}, "no wieghts"),
        ({"weights": {"recentness": 1}}, "weights takes .*not recentness"),
        ({"weights": 3}, "weights must be a table, not int"),
        ({"weights": {"recency": "much"}}, "from 0 to 10"),
        ({"weights": {"recency": float("nan")}}, "from 0 to 10"),
        ({"form": "liner"}, "form must be one of log-odds, linear, not 'liner'"),
        ({"packer": "exactly"}, "packer must be one of"),
        ({"placement": "last"}, "placement must be one of"),
        ({"floor": "0.1"}, "floor must be a number from 0 to 1, not '0.1'"),
        ({"cap": 1.5}, "cap must be a whole number"),
        ({"half_lives": {"event": 0}}, "half_lives.* (above 0|shorter than a second)"),
        ({"half_lives": {"event": "a day"}}, "half_lives.* (above 0|shorter than a second)"),
        ({"sources": {"recent": {"limit": "5"}}}, "sources.recent.limit must be a whole number"),
        ({"sources": {"recent": {"timeout": 0}}}, "sources.recent.timeout must be a number of seconds above 0"),
        ({"sources": {"recent": {"depth": 5}}}, "sources.recent takes .*not depth"),
        ({"sources": ["recent"]}, "sources must be a table"),
        ({"shares": {"source": {}}}, "strategy.shares has no source"),
        ({"shares": {"sources": {"recent": 60, "messages": 50}}}, "at most 100"),
        ({"shares": {"sources": {"recent": "half"}}}, "shares.sources"),
        ({"shares": {"kinds": {"factual": {"items": -1}}}}, "shares.kinds.factual.items"),
        ({"shares": {"total": {"tokens": True}}}, "shares.total.tokens"),
        ({"fact_keys": "name"}, "fact_keys must be a list of strings"),
        ({"tags": [1]}, "tags must be a list of strings"),
        ({"details": "id"}, "details must be a list of strings"),
        ({"details": ["id", "source"]}, "details must be some of id, confidence, score, not 'source'"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], said: str) -> None:
    """With the strategy and the setting."""
    with pytest.raises(InvalidInput, match=said):
        derive(DEFAULT, {"name": "mine", **changes})


def test_the_message_names_the_strategy() -> None:
    with pytest.raises(InvalidInput, match=r"strategies\.mine\.form"):
        Strategies({"mine": {"form": "liner"}})


def test_strategies_written_in_a_file_are_derived_from_the_one_they_are_like() -> None:
    """Whatever order they stand in."""
    known = Strategies({"terser": {"like": "terse", "cap": 500}, "terse": {"like": "compact", "floor": 0.01}, "plain": {}})
    assert (known.find("terser").cap, known.find("terser").floor, known.find("terser").format) == (500, 0.01, "compact")
    assert known.find("plain").name == "plain"
    assert known.find("plain").cap == DEFAULT.cap


@pytest.mark.requirement("INJECT-8")
def test_details_are_read_from_a_file() -> None:
    known = Strategies({"cited": {"format": "xml", "details": ["id", "score"]}, "bare": {"like": "verbose", "details": []}})
    assert known.find("cited").details == ("id", "score")
    assert known.find("bare") == replace(VERBOSE, name="bare", details=())


@pytest.mark.requirement("INJECT-8")
def test_a_format_refuses_details_that_it_can_not_write() -> None:
    """Where a strategy is registered, and where one is given to an assembly; the message says what to do."""
    said = r"\.details id, confidence, score can't be written in the format 'compact': leave details empty, or use"
    with pytest.raises(InvalidInput, match=said):
        Strategies({"mine": {"like": "verbose", "format": "compact"}})
    with pytest.raises(InvalidInput, match=said):
        Strategies().find(replace(VERBOSE, name="mine", format="compact"))


def test_a_built_in_can_be_changed_from_itself() -> None:
    assert Strategies({"default": {"like": "default", "cap": 99}}).find("default").cap == 99


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"a": {"like": "b"}, "b": {"like": "a"}}, "a, b are each like another"),
        ({"a": {"like": "nobody"}}, "strategies.a.like 'nobody' is unknown"),
        ({"a": {"like": ["default"]}}, "strategies.a.like list is unknown"),
        ({"a": 3}, "strategies.a must be a table"),
        ({"a": {"format": "jason"}}, "strategies.a.format must be one of compact, digest, markdown, xml, not 'jason'"),
    ],
)
def test_what_cannot_be_derived_is_refused(written: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Strategies(written)
