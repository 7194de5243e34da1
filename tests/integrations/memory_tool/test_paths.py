"""A path under `/memories` is a label, and no path means something outside."""

from __future__ import annotations

import random

import pytest
from bench.memory_tool import escapes, hostile_path
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.integrations.memory_tool.files import ROOT, parse_path, path_of

OUTSIDE = [
    *(
        "",
        "memories/a",
        "/etc/passwd",
        "/memoriesX/a",
        "/MEMORIES/a",
        "//memories/a",
        "/memories/../etc",
        "/memories/a/../../b",
    ),
    *(
        "/memories/..",
        "/memories/.",
        "/memories/a/./b",
        "/memories//a",
        "/memories/a//",
        "/memories/%2e%2e/a",
        "/memories/%252e/a",
    ),
    *(
        "/memories/a%2fb",
        "/memories/..\\a",
        "/memories/a\\b",
        "/memories/a\0",
        "/memories/a\n",
        "/memories/．．/a",
        "/memories/․․/a",
    ),
    *(
        "/memories/‥/a",
        "/memories/a／b",
        "/memories/a∕b",
        "/memories/a⁄b",
        "/memories/％2e％2e",
        "/memories/\u202ea",
        "/memories/ a",
    ),
    *("/memories/" + "x" * 256, "/memories/" + "x" * 2_000, "/memories/\ud800"),
]


@pytest.mark.requirement("BLK-8")
@pytest.mark.parametrize("path", OUTSIDE)
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    """With dots, encoded, with other slashes, or with characters that nobody sees."""
    with pytest.raises(InvalidInput):
        parse_path(path)


@pytest.mark.requirement("BLK-8")
def test_no_generated_path_leaves_the_root() -> None:
    """However it is decoded, folded or turned; `python -m bench memory_tool` tries 100,000."""
    chance = random.Random(7)
    assert [problem for _ in range(5_000) if (problem := escapes(hostile_path(chance)))] == []


@pytest.mark.requirement("BLK-8")
@given(st.text(max_size=30).map(lambda rest: f"{ROOT}/{rest}"))
def test_no_text_at_all_leaves_the_root(path: str) -> None:
    """Whatever follows the root."""
    assert escapes(path) == ""


@given(st.text(max_size=20))
def test_a_label_has_one_path_or_none(label: str) -> None:
    """And the path leads back to the label."""
    path = path_of(label)
    assert path is None or (parse_path(str(path)).label == label and str(path) == f"{ROOT}/{label}")


@pytest.mark.parametrize("path", ["/memories", "/memories/"])
def test_the_root_is_a_directory(path: str) -> None:
    """With and without a slash."""
    assert (parse_path(path).root, parse_path(path).folder, str(parse_path(path))) == (True, True, ROOT)


def test_accents_are_composed() -> None:
    """A name that was typed in two ways is one file."""
    assert parse_path("/memories/cafe\u0301.md") == parse_path("/memories/caf\u00e9.md")


@pytest.mark.parametrize("path", [None, 7, ["/memories"], {}])
def test_a_path_is_a_string(path: object) -> None:
    """The error names the field of the command."""
    with pytest.raises(InvalidInput, match="`new_path` must be a string"):
        parse_path(path, "new_path")
