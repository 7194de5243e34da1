"""JSONC: an edit changes what it says and leaves every other byte; what can't be read is refused with its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.service.clients.jsonc import found, read, with_item, with_member, without_part
from support.examples import examples

pytestmark = pytest.mark.requirement("HOOK-1")

KEPT = """{
  // what I allow
  "permissions": {"allow": ["Bash(ls)"]}, /* and no more */
  "hooks": {
    "Stop": [
      {"hooks": []} // mine
    ],
  },
  "url": "https://example.com//x", // a comment, with "quotes" and { braces
}
"""
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=5), values, max_size=4)


def lines_lost(before: str, after: str) -> set[str]:
    return {line.rstrip(",") for line in before.splitlines()} - {line.rstrip(",") for line in after.splitlines()}


def test_comments_and_layout_stay() -> None:
    """A new item and a new member stand in the layout of those beside them; no line is lost but for a comma."""
    made = with_item(KEPT, ("hooks", "Stop"), {"hooks": [1]})
    made = with_member(made, ("mcpServers", "germane"), {"command": "x"})
    assert read(made).data()["hooks"]["Stop"] == [{"hooks": []}, {"hooks": [1]}]
    assert read(made).data()["mcpServers"] == {"germane": {"command": "x"}}
    assert lines_lost(KEPT, made) <= {'      {"hooks": []} // mine'}
    assert '{"hooks": []}, // mine' in made
    assert made.index('"url"') < made.index('"mcpServers"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "a": 1\n}\n'),
        ("{}", '{\n  "a": 1\n}'),
        ("{\n}\n", '{\n  "a": 1\n}\n'),
        ('{"b": 2}', '{"b": 2, "a": 1}'),
        ('{\n\t"b": 2\n}', '{\n\t"b": 2,\n\t"a": 1\n}'),
        ('{\r\n  "b": 2\r\n}\r\n', '{\r\n  "b": 2,\r\n  "a": 1\r\n}\r\n'),
        ('{\n  "b": 2,\n}', '{\n  "b": 2,\n  "a": 1,\n}'),
        ('{\n  "b": 2 // two\n}', '{\n  "b": 2, // two\n  "a": 1\n}'),
        ("// empty\n", '// empty\n{\n  "a": 1\n}\n'),
    ],
)
def test_the_layout_of_the_file_is_followed(text: str, expected: str) -> None:
    """Tabs, line ends, trailing commas, one line or many."""
    assert with_member(text, ("a",), 1) == expected


@given(objects, st.sampled_from([None, 2, "\t"]), st.lists(st.sampled_from("abc"), min_size=1, max_size=3), values)
@examples(400)
def test_an_edit_says_what_it_should(data: dict[str, Any], indent: Any, path: list[str], value: Any) -> None:
    """For any document, path and value: the data are the old ones with the value at the path."""
    text = json.dumps(data, indent=indent)
    inner = data
    for name in path[:-1]:
        inner = inner.setdefault(name, {}) if isinstance(inner, dict) else {}
        if not isinstance(inner, dict):
            with pytest.raises(InvalidInput):
                with_member(text, path, value)
            return
    inner[path[-1]] = value
    assert read(with_member(text, path, value)).data() == data


@given(st.lists(values, min_size=1, max_size=5), st.sampled_from([None, 2]), st.booleans(), st.data())
@examples(400)
def test_a_part_that_is_taken_out_leaves_the_others(items: list[Any], indent: Any, trailing: bool, data: Any) -> None:
    """Of lists in one line and in many, with a trailing comma and without."""
    text = json.dumps({"list": items}, indent=indent)
    if trailing:
        node = found(read(text), ("list",))
        assert node is not None
        text = f"{text[: node.parts[-1].end]},{text[node.parts[-1].end :]}"
    number = data.draw(st.integers(0, len(items) - 1))
    node = found(read(text), ("list",))
    assert node is not None
    assert read(without_part(text, node, number)).data() == {"list": items[:number] + items[number + 1 :]}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", 1),
        ('{\n"a" 1}', 2),
        ('{\n\n"a": }', 3),
        ('{"a": 1 "b": 2}', 1),
        ("[1,, 2]", 1),
        ("/* open", 1),
        ("{} {}", 1),
        ("{a: 1}", 1),
    ],
)
def test_what_cant_be_read_is_refused_with_its_line(text: str, line: int) -> None:
    """So that a person finds it."""
    with pytest.raises(InvalidInput, match=f"line {line}:"):
        read(text)


def test_a_document_that_is_nested_too_deep_is_refused() -> None:
    """In place of an exhausted stack."""
    with pytest.raises(InvalidInput, match="nested"):
        read("[" * 100_000)
