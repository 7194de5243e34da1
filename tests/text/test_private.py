"""Private text: nothing between the tags is left, however they are written; everything else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text.private import without_private, without_private_in
from support.examples import examples

pytestmark = pytest.mark.requirement("HOOK-2")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <PRIVATE>b</Private>c", "a c"),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("a <private>never closed", "a "),
        ("a </private> b", "a </private> b"),
        ("<private>all</private>", ""),
        ("a < b, <privateer> and <private/>", "a < b, <privateer> and <private/>"),
    ],
)
def test_what_is_private_is_left_out(text: str, left: str) -> None:
    """Also nested, in any case, and up to the end where nobody closes it."""
    assert without_private(text) == left


@given(st.lists(st.sampled_from(["<private>", "</private>", "word ", "<", "secret"]), max_size=30))
@examples(200)
def test_no_word_within_the_tags_is_left(parts: list[str]) -> None:
    """What is left is the parts outside, in their order."""
    depth, left = 0, []
    for part in parts:
        if part == "<private>":
            depth += 1
        elif part == "</private>" and depth:
            depth -= 1
        elif not depth:
            left.append(part)
    assert without_private("".join(parts)) == "".join(left)


def test_json_is_cleared_at_every_depth_and_otherwise_left_alone() -> None:
    """Names of members stay; what is nested too deep to look through is dropped."""
    plain = {"a": ["b", 1, None, {"c": "d"}]}
    assert without_private_in(plain) is plain
    assert without_private_in({"a": [{"b": "x<private>y</private>z"}]}) == {"a": [{"b": "xz"}]}
    deep: object = "<private>x</private>"
    for _ in range(1_000):
        deep = [deep]
    assert "private" not in str(without_private_in(deep))
