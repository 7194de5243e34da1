"""How much nested data there is, told without recursion and no further than the limits."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.types.limits import DEPTH, VALUES, Limit
from germane.types.nested_data import Extent, bounded, plain_size

FEW = Limit(maximum=10, unit="values", of="", why="")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=40,
)


def nested(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels - 1):
        found = [found]
    return found


def counted(value: Any) -> tuple[int, int]:
    """The plain way, with recursion."""
    if isinstance(value, str):
        return 1, len(value)
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    parts = [counted(one) for one in inner]
    keys = sum(map(len, value)) if isinstance(value, dict) else 0
    return 1 + sum(values for values, _ in parts), keys + sum(characters for _, characters in parts)


@given(JSON)
def test_it_counts_what_there_is(value: Any) -> None:
    """Values and characters, keys among the characters."""
    assert bounded("it", value) == counted(value)


class Text(str):
    """A type of somebody else's."""


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4))
def test_the_short_way_counts_the_same(value: dict[str, Any]) -> None:
    """Where it counts at all: of data that is neither deep nor large."""
    assert plain_size(value) in (counted(value), None)
    assert plain_size({"role": "assistant", "calls": [{"n": 1, "of": [None, 2.5, True]}]}) == (9, 21)


@pytest.mark.parametrize(
    "data",
    [
        *([], "text", None, {1: "key"}, {"key": Text("text")}, {"key": (1,)}, {"key": b""}, {"key": 2**64}, {"key": [{1}]}),
        *({"key": nested(9)}, {"key": [1] * 1_000}, nested(64)),
    ],
)
def test_what_is_not_plain_is_left_to_the_long_way(data: Any) -> None:
    """Other types, whose values may be anything, and what is deep or large, which limits are for."""
    assert plain_size(data) is None


def test_plain_data_that_contains_itself_is_left_to_the_long_way() -> None:
    """It has no end to count to."""
    data: dict[str, Any] = {"a": []}
    data["a"].append(data)
    assert plain_size(data) is None


def test_sixty_four_levels_are_let_through_and_one_more_is_not() -> None:
    """However many more: without a recursion of its own."""
    assert bounded("it", nested(DEPTH.maximum)) == (64, 0)
    for levels in (65, 1_000_000):
        with pytest.raises(InvalidInput, match=r"^it is nested deeper than 64 levels, or contains itself$"):
            bounded("it", nested(levels))


def test_what_contains_itself_ends() -> None:
    """Directly, and by way of another."""
    one: dict[str, Any] = {}
    one["self"] = one
    other: list[Any] = [{"back": None}]
    other[0]["back"] = other
    for endless in (one, other):
        with pytest.raises(InvalidInput, match="contains itself"):
            bounded("it", endless)


def test_what_is_shared_is_counted_as_often_as_it_is_written() -> None:
    """Forty lists of two make a million million values: it looks at no more than may be."""
    shared: Any = "x"
    for _ in range(40):
        shared = [shared, shared]
    with pytest.raises(InvalidInput, match="it has at least 100,001 values, 100,000 are allowed"):
        bounded("it", shared)


def test_a_wide_list_is_refused_without_a_look_at_what_is_in_it() -> None:
    """By its own size."""
    seen: list[int] = []

    class Watched(list[int]):
        def __iter__(self) -> Iterator[int]:
            seen.append(1)
            return super().__iter__()

    with pytest.raises(InvalidInput, match="at least 12 values"):
        bounded("it", Watched(range(11)), FEW)
    assert seen == []
    assert bounded("it", Watched(range(9)), FEW) == (10, 0)


@pytest.mark.parametrize("value", [10**5000, [-(10**400)], {2**2000: "x"}], ids=["alone", "within", "as a key"])
def test_a_number_that_cannot_be_written_is_refused(value: Any) -> None:
    """Python refuses to spell it, by an exception of its own, wherever it is met later."""
    with pytest.raises(InvalidInput, match=r"^it holds a whole number of .* bits, 1,024 are allowed$"):
        bounded("it", value)


def test_an_sdks_object_is_what_it_says_it_is() -> None:
    """At any depth; one that can't say is refused."""

    class Model:
        def __init__(self, said: Any) -> None:
            self.said = said

        def model_dump(self, exclude_none: bool) -> Any:
            return self.said if isinstance(self.said, Mapping) else json.loads(self.said)

    assert bounded("it", [Model({"a": Model({"b": "xyz"})})]) == (4, 5)
    with pytest.raises(InvalidInput, match=r"^it holds a Model that can't be read \(JSONDecodeError\)$"):
        bounded("it", Model("{"))
    with pytest.raises(InvalidInput, match="nested deeper"):
        bounded("it", Model({"deep": nested(64)}))


def test_parts_add_up_to_a_whole_that_is_limited_too() -> None:
    """Many small ones are as much as a large one."""
    extent = Extent("tools", Limit(maximum=100, unit="characters", of="", why=""), values=FEW)
    for _ in range(5):
        extent.part("tools[0]", ["x"])
    with pytest.raises(InvalidInput, match=r"^tools has at least 11 values, 10 are allowed"):
        extent.part("tools[5]", "x")
    extent = Extent("tools", Limit(maximum=100, unit="characters", of="", why=""))
    extent.text(60)
    with pytest.raises(InvalidInput, match=r"^tools has at least 101 characters, 100 are allowed"):
        extent.part("tools[0]", {"k": "x" * 40})
    assert VALUES.maximum == 100_000
