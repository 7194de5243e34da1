"""A masked message holds a line where its tool results were, and is otherwise the message that it was."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.dialects.edits import masked
from germane.dialects.registry import DIALECTS, dialect, dialect_of, parse
from germane.types.message import Image, Message, Opaque, Text, ToolCall, ToolResult
from support.wild_conversations import PNG, dicts

pytestmark = pytest.mark.requirement("HIST-5")

MARK = {"type": "ephemeral"}
LINE = "[output masked: h0123456789ab]"
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def result(id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **fields}


@pytest.mark.parametrize(
    ("provider", "raw", "number", "expected"),
    [
        (
            "openai",
            {"role": "tool", "tool_call_id": "a", "content": "long", "name": "f"},
            0,
            {"role": "tool", "tool_call_id": "a", "content": LINE, "name": "f"},
        ),
        (
            "openai",
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "long", "cache_control": MARK}]},
            0,
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": LINE, "cache_control": MARK}]},
        ),
        (
            "openai",
            {"role": "function", "name": "f", "content": "long"},
            0,
            {"role": "function", "name": "f", "content": LINE},
        ),
        (
            "anthropic",
            {
                "role": "user",
                "content": [
                    result("a", "one", is_error=True),
                    result("b", [{"type": "text", "text": "two"}, IMAGE], cache_control=MARK),
                    {"type": "text", "text": "and now?"},
                    IMAGE,
                ],
            },
            1,
            {
                "role": "user",
                "content": [
                    result("a", "one", is_error=True),
                    result("b", LINE, cache_control=MARK),
                    {"type": "text", "text": "and now?"},
                    IMAGE,
                ],
            },
        ),
        (
            "anthropic",
            {"role": "user", "content": [result("a", "one", is_error=True)]},
            0,
            {"role": "user", "content": [result("a", LINE, is_error=True)]},
        ),
        (
            "gemini",
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "a", "name": "f", "response": {"output": "one", "more": [1]}}},
                    {"function_response": {"name": "g", "response": {"error": "two"}, "parts": [{"inlineData": {}}]}},
                    {"text": "and now?"},
                ],
            },
            1,
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "a", "name": "f", "response": {"output": "one", "more": [1]}}},
                    {"function_response": {"name": "g", "response": {"error": LINE}}},
                    {"text": "and now?"},
                ],
            },
        ),
        (
            "openai-responses",
            {"type": "function_call_output", "id": "fco_1", "call_id": "a", "output": "long", "status": "completed"},
            0,
            {"type": "function_call_output", "id": "fco_1", "call_id": "a", "output": LINE, "status": "completed"},
        ),
        (
            "openai-responses",
            {"type": "custom_tool_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "long"}]},
            0,
            {"type": "custom_tool_call_output", "call_id": "a", "output": LINE},
        ),
    ],
)
def test_only_the_numbered_result_becomes_the_line(
    provider: str, raw: dict[str, Any], number: int, expected: dict[str, Any]
) -> None:
    """Ids, names, error flags, cache marks and all other parts stay; images inside the result go."""
    before = copy.deepcopy(raw)
    shown = dialect(provider).mask(raw, {number: LINE})
    assert shown == expected
    assert raw == before
    assert dialect(provider).parse(shown).tool_results[number].text == LINE
    assert dialect(provider).native(shown) is not None


def test_a_shell_output_holds_the_line_as_what_was_printed() -> None:
    """The API takes a list there, with the outcome of each command."""
    run = {"stdout": "long", "stderr": "x", "outcome": {"type": "exit", "exit_code": 2}}
    raw = {"type": "shell_call_output", "call_id": "a", "output": [run, run]}
    shown = dialect("openai-responses").mask(raw, {0: LINE})
    assert shown["output"] == [{"stdout": LINE, "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}]


def test_a_screenshot_stays_as_it_is() -> None:
    """The API takes an image there, and nothing else."""
    raw = {"type": "computer_call_output", "call_id": "a", "output": {"type": "computer_screenshot", "file_id": "file_1"}}
    assert dialect("openai-responses").mask(raw, {0: LINE}) is raw


@pytest.mark.parametrize("each", DIALECTS, ids=lambda each: each.name)
def test_a_message_without_the_numbered_result_is_returned_itself(each: Any) -> None:
    """No copy is made where nothing changes."""
    for raw in (
        {"role": "user", "content": "hi"},
        {"role": "user", "parts": [{"text": "hi"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"role": "assistant", "content": [{"type": "text", "text": "so"}]},
    ):
        assert each.mask(raw, {0: LINE}) is raw
        assert each.mask(raw, {}) is raw


@given(dicts, st.sets(st.integers(0, 3)))
def test_masking_changes_the_numbered_results_and_nothing_else(raws: list[dict[str, Any]], numbers: set[int]) -> None:
    """The same holds for any message that can be read: what is masked parses as before, with the line in these results, and can
    be sent as it is where it could before."""
    for raw in raws:
        each = dialect_of(raw, "openai")
        lines = {number: f"{LINE} {number}" for number in numbers}
        written = json.dumps(raw, default=str)
        before, shown = each.parse(raw), masked(raw, lines, "openai")
        assert isinstance(shown, dict)
        after = each.parse(shown)
        assert json.dumps(raw, default=str) == written
        assert len(after.tool_results) == len(before.tool_results)
        for number, (old, new) in enumerate(zip(before.tool_results, after.tool_results, strict=True)):
            assert new.text == lines.get(number, old.text)
            assert (new.call_id, new.name, new.error) == (old.call_id, old.name, old.error)
        kept = [part for part in before.parts if isinstance(part, Text | ToolCall)]
        assert [part for part in after.parts if isinstance(part, Text | ToolCall)] == kept
        assert (after.role, after.id, after.name) == (before.role, before.id, before.name)
        assert (each.native(shown) is None) == (each.native(raw) is None)


def test_a_parsed_message_loses_the_images_of_its_masked_results() -> None:
    """What follows a result in a message of results only is the result's."""
    image = Image(url="https://x.test/a.png")
    seen = Opaque(kind="anthropic:document")
    one, two = ToolResult(call_id="a", text="one"), ToolResult(call_id="b", text="two")
    message = Message(role="tool", parts=(one, image, seen, two, image))
    shown = masked(message, {0: LINE}, "openai")
    assert shown == Message(role="tool", parts=(ToolResult(call_id="a", text=LINE), two, image))
    said = Message(role="user", parts=(one, image))
    assert masked(said, {0: LINE}, "openai") == Message(role="user", parts=(ToolResult(call_id="a", text=LINE), image))
    assert masked(message, {7: LINE}, "openai") is message
    assert parse(message) is message
