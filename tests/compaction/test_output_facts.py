"""Output facts: what a masked output's line still says: its error and its ids (HIST-5)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.compaction.placeholders import mask_line, masked_facts, masked_handle
from germane.compaction.reading.exchange import read_exchange
from germane.compaction.reading.results import MAX_FACTS, OutputFacts, facts_of, read_facts
from germane.types.message import Message, ToolCall, ToolResult

pytestmark = pytest.mark.requirement("HIST-5")

HANDLE = "h0a1b2c3d4e5f"
TRACE = "x\n" * 40 + "Traceback (most recent call last):\nKeyError: 'x; y'"


def output(text: str) -> ToolResult:
    return ToolResult(call_id="c", text=text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x\n" * 40, "[Tool output left out: 9 tokens; show_earlier handle h0a1b2c3d4e5f]"),
        (TRACE, "[Tool output left out: 9 tokens; says KeyError: 'x, y'; show_earlier handle h0a1b2c3d4e5f]"),
        (
            '{"order_id": "88121", "n": 1}',
            "[Tool output left out: 9 tokens; ids order_id 88121; show_earlier handle h0a1b2c3d4e5f]",
        ),
        (
            "Error: no such table",
            "[Tool output left out: 9 tokens; error Error: no such table; show_earlier handle h0a1b2c3d4e5f]",
        ),
    ],
)
def test_the_line_says_what_only_the_output_said(text: str, line: str) -> None:
    """And is known again, with its handle."""
    assert mask_line(9, HANDLE, facts_of(output(text)).text) == line
    assert masked_handle(line) == HANDLE
    assert masked_facts(line) is not None


@given(st.text(max_size=200), st.lists(st.text(max_size=30), max_size=3))
def test_facts_of_any_output_are_short_and_read_back(said: str, ids: list[str]) -> None:
    """Whatever an output holds."""
    text = json.dumps({f"key{number}_id": each for number, each in enumerate(ids)} | {"error": said}, ensure_ascii=False)
    facts = facts_of(output(text))
    assert len(facts.text) <= MAX_FACTS
    assert "\n" not in facts.text
    line = mask_line(12, HANDLE, facts.text)
    assert masked_handle(line) == HANDLE
    read = masked_facts(line)
    assert read is not None
    assert read.text == facts.text


@pytest.mark.parametrize("text", ["; error ", "; ids a; error b", "x", "; error a\nb"])
def test_other_texts_are_no_facts(text: str) -> None:
    """Only what `OutputFacts.text` writes."""
    assert read_facts(text) is None


@pytest.mark.parametrize(("tool", "errors"), [("bash", 1), ("read_file", 0)])
def test_a_masked_output_leaves_the_same_notes(tool: str, errors: int) -> None:
    """A command's error is one; a file that speaks of one isn't, masked or not."""
    call = ToolCall(id="c", name=tool, arguments='{"command": "make", "path": "a.log"}')
    asked = Message(role="assistant", parts=(call,))
    for text in (TRACE, mask_line(99, HANDLE, facts_of(output(TRACE)).text)):
        notes = read_exchange([asked, Message(role="tool", parts=(output(text),))])
        assert sum(each.kind == "error" for each in notes.artifacts) == errors


def test_no_facts_are_no_text() -> None:
    """Nothing stands in the line."""
    assert OutputFacts().text == ""
    assert read_facts("") == OutputFacts()
