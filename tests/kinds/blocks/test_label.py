"""Label: what the label of a block, and a name, may be."""

from __future__ import annotations

import pytest

from germane.errors import InvalidInput
from germane.kinds.blocks.field import checked_label, checked_name, label_key


@pytest.mark.parametrize(
    "label", ["notes", "a/b c/d", "Größe", "日本語", "मेरे नोट", "x" * 255, "system/persona", "🙂", ".hidden", "a<b>&"]
)
def test_a_label_may_be(label: str) -> None:
    """Any script, spaces inside, segments."""
    assert checked_label(label) == label


@pytest.mark.parametrize(
    ("label", "why"),
    [
        ("", "empty"),
        ("/a", "empty segment"),
        ("a//b", "empty segment"),
        ("a/", "empty segment"),
        ("..", "whole label"),
        ("a/./b", "whole label"),
        (" a", "space"),
        ("a /b", "space"),
        ("a\nb", "U\\+000A"),
        ("a\u202eb", "U\\+202E"),
        ("a\u200bb", "U\\+200B"),
        ("a\u00a0b", "U\\+00A0"),
        ("a\u2028b", "U\\+2028"),
        ("\u0301a", "combining"),
        ("a\ud800", "surrogate"),
        ("é" * 128, "256 bytes"),
        ("x" * 256, "256 characters"),
        ("x" * 10_000_000, "10,000,000"),
        ("a" + "\u0301" * 31, "combining marks"),
        (3, "string"),
    ],
)
def test_a_label_may_not_be(label: object, why: str) -> None:
    """The error says what to change."""
    with pytest.raises(InvalidInput, match=why):
        checked_label(label)


def test_labels_that_differ_only_in_how_accents_are_composed_are_one() -> None:
    """Case counts."""
    assert label_key("Caf\u00e9") == label_key("Cafe\u0301") != label_key("caf\u00e9")


@pytest.mark.parametrize("name", ["name", "user name", "größe", "नाम", "_x", "2nd", "a-b"])
def test_a_name_may_be(name: str) -> None:
    """Letters, marks and digits of any script, `_`, `-` and spaces inside."""
    assert checked_name(name, "field") == name


@pytest.mark.parametrize(
    "name", ["", " a", "a ", "-a", "a:b", "a]", "=== x", "a/b", "a.b", "a\nb", "a\0b", "\u0301a", "x" * 65, None]
)
def test_a_name_may_not_hold_structure(name: object) -> None:
    """A name is written before a colon, and into the names of containers, which can't hold a slash."""
    with pytest.raises(InvalidInput):
        checked_name(name, "field")
