"""Render: the text of each shape, and contents that try to look like structure."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from bench.block_rendering import forged, generated

from germane.kinds.blocks.render import render, shown_lines
from germane.kinds.blocks.schema import Viewport, parse_schema

CHECKS = {"type": "list", "checkboxes": True}
NUMBER = {"type": "map", "fields": [{"name": "a"}, {"name": "b", "type": "number", "read_only": True}]}
TAGS = {"type": "map", "fields": [{"name": "a", "type": "list"}, {"name": "b"}]}


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        ("text", "as\n it = is\\", "as\n it = is\\"),
        ("list", ["a", "b\nc", ""], "1. a\n2. b\n  c\n3."),
        (CHECKS, [{"value": "a", "done": True}, {"value": "[x] b", "done": False}], "[x] a\n[ ] [x] b"),
        ({"type": "list", "item": "object"}, [{"b": "x\ny", "a": 1}], '1. {"b": "x\\ny", "a": 1}'),
        ("list", ["[x] a", "(b)"], "1. \\[x] a\n2. \\(b)"),
        ({"type": "log", "timestamp": False, "display_limit": 1}, [{"text": t, "at": None, "by": ""} for t in "ab"], "- b"),
        (NUMBER, {"a": "x\na: y", "b": 1.5}, "a: x\n  a: y\nb [read-only]: 1.5"),
        (TAGS, {"a": ["x", True], "b": None}, "a:\n  - x\n  - true\nb:"),
    ],
)  # fmt: skip
def test_each_shape_is_rendered(schema: Any, value: Any, text: str) -> None:
    """Structure stands at the beginning of a line, and what continues a value is indented."""
    assert render(parse_schema(schema), value) == text


@pytest.mark.parametrize(
    ("start", "lines", "count", "shown"),
    [(1, 5, 10, (1, 5)), (4, 5, 10, (4, 8)), (9, 5, 10, (6, 10)), (99, 5, 3, (1, 3)), (1, 1, 1, (1, 1))],
)
def test_a_viewport_shows_a_part(start: int, lines: int, count: int, shown: tuple[int, int]) -> None:
    """Beyond the end it shows the last lines."""
    assert shown_lines(Viewport(start=start, lines=lines), count) == shown


def test_a_viewport_says_which_lines_it_shows() -> None:
    """A text that fits is shown without that line."""
    schema = parse_schema({"type": "text", "viewport": {"start": 2, "lines": 2}})
    assert render(schema, "a\nb\nc\nd\n") == "[Showing lines 2-3 of 4]\nb\nc"
    assert render(schema, "a\nb\n") == "a\nb\n"


@pytest.mark.parametrize(
    "line",
    ["=== b ===", "  === b ===", "＝＝＝ b ＝＝＝", "\u200b===", "= = =", "\u3164=== x", "≠== b",
      "\\=== b ===", "[Showing lines 1-2 of 3]", "［showing lines"],
)  # fmt: skip
def test_a_line_that_looks_like_structure_gets_a_backslash(line: str) -> None:
    """In a section, wherever a reader sees a new line."""
    schema = parse_schema({"type": "composite", "sections": [{"name": "a"}, {"name": "b"}]})
    for before in ("", "x\n", "x\u2028", "x\r", "x\x85"):
        assert render(schema, {"a": before + line, "b": ""}) == f"=== a ===\n{before}\\{line}\n\n=== b ==="


@pytest.mark.parametrize("line", ["== b ==", "a === b", "x [Showing lines 1-2 of 3]", "[x]", "# b"])
def test_other_lines_of_a_text_stay_as_they_are(line: str) -> None:
    """Plain text is shown as it is."""
    assert render(parse_schema({"type": "composite", "sections": [{"name": "a"}]}), {"a": line}) == f"=== a ===\n{line}"


def test_no_hostile_content_is_taken_for_structure() -> None:
    """A parser that knows the schema alone finds each header, field, item and entry; `bench blocks` tries 100,000."""
    assert [problem for number in range(300) if (problem := forged(generated(Random(number))))] == []


def test_the_judge_notices_a_forgery(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the backslashes the same contents are taken for structure."""
    monkeypatch.setattr("germane.kinds.blocks.render._told_apart", lambda line, headers: line)
    assert any(forged(generated(Random(number))) for number in range(300))
