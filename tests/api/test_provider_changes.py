"""A session whose provider changes in the middle, and bodies of a size that nobody expects (INJECT-11)."""

from __future__ import annotations

from typing import Any

import pytest

from germane.dialects.registry import dialect
from germane.sync import Germane
from germane.types.message import Wire

pytestmark = [pytest.mark.requirement("INJECT-11"), pytest.mark.requirement("INJECT-4")]

USE = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
LOOK = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
TURNS: list[tuple[str, str, list[dict[str, Any]]]] = [
    ("gpt-4o", "openai", [{"role": "user", "content": "How do we reach Caroline?"}]),
    (
        "claude-sonnet-4-5",
        "anthropic",
        [
            {"role": "assistant", "content": None, "tool_calls": [LOOK]},
            {"role": "tool", "tool_call_id": "call_1", "content": [{"type": "text", "text": "By e-mail."}]},
            {"role": "user", "content": [{"type": "video_url", "video_url": {"url": "https://example.org/a.mp4"}}]},
        ],
    ),
    (
        "gemini-2.5-flash",
        "gemini",
        [
            {"role": "assistant", "content": [THINKING, USE]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]},
            {"role": "user", "content": "And Leith?"},
        ],
    ),
    (
        "gpt-5",
        "openai-responses",
        [
            {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}, "thoughtSignature": "c2ln"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"output": "y"}}}]},
            {"role": "user", "parts": [{"text": "And now?"}, {"smellData": {"data": "AAAA"}}]},
        ],
    ),
    (
        "gpt-4o",
        "openai",
        [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "call_id": "call_9", "name": "look", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_9", "output": "z"},
            {"role": "user", "content": [{"type": "input_text", "text": "How do we reach Caroline then?"}]},
        ],
    ),
]


def test_a_session_may_change_its_provider_with_each_turn() -> None:
    """Each request is valid for its provider, holds all that was said, every call and result, and the memory once."""
    said: list[dict[str, Any]] = []
    with Germane.open(":memory:") as germane:
        agent = germane.agent("x", user="u")
        agent.remember("Caroline prefers e-mail to phone calls", kind="preference", pinned=True)
        for model, provider, messages in TURNS:
            said += messages
            context = agent.assemble(said, model=model, provider=provider, session="s", deadline=None)
            wire = Wire(messages=list[Any](context.messages), system=None if provider == "openai" else context.system or None)
            assert dialect(provider).problems(wire) == ()
            assert context.metadata.fallback_reason == ""
            written = str(context.messages)
            assert (written + str(wire.system)).count("prefers e-mail") == 1
            assert "Tool call" not in written
            assert [answer for answer in ("By e-mail.", "'x'", "'y'", "'z'") if answer not in written] == [
                answer for answer in ("By e-mail.", "'x'", "'y'", "'z'") if answer not in str(said)
            ]
        agent.record(said, session="s")
        for model, provider, _ in TURNS:
            assert agent.assemble(said, model=model, provider=provider, session="s", deadline=None).messages


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "x y " * 10_000_000},
        {"role": "user", "content": [{"type": "smell", "smell": {"text": "x" * 40_000_000}}]},
        {"role": "user", "content": [{"type": "document_url", "document_url": "https://example.org/" + "a" * 40_000_000}]},
    ],
)
def test_a_body_of_40_mb_comes_back_as_it_came(message: dict[str, Any]) -> None:
    """Within the deadline or after it, and whatever doesn't fit."""
    with Germane.open(":memory:") as germane:
        context = germane.agent("x", user="u").assemble([message], model="gpt-4o", provider="openai")
    assert context.messages[0] is message


def test_a_thousand_calls_in_a_row_are_one_answer() -> None:
    """With every key of theirs."""
    calls = [LOOK | {"id": f"c{number}"} for number in range(1000)]
    asked = [{"role": "assistant", "content": "x", "tool_calls": [call]} for call in calls]
    answers = [{"role": "tool", "tool_call_id": call["id"], "content": "r"} for call in calls]
    question = {"role": "user", "content": "q"}
    with Germane.open(":memory:") as germane:
        context = germane.agent("x", user="u").assemble([question, *asked, *answers], model="gpt-4o", deadline=None)
    assert context.messages[1] == {"role": "assistant", "content": "\n\n".join("x" * 1000), "tool_calls": calls}
    assert list(context.messages[2:]) == answers
