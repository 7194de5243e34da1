"""Writing one provider's parts for another provider."""

from __future__ import annotations

from typing import Any

import pytest

from germane.dialects.registry import dialect, parse
from germane.types.message import Message, Text, ToolCall, ToolResult

PDF = "JVBERi0="
IMAGES: dict[str, dict[str, Any]] = {
    "openai": {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
    "anthropic": {
        "role": "user",
        "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}],
    },
    "gemini": {"role": "user", "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
}
DOCUMENTS: dict[str, dict[str, Any]] = {
    "openai": {
        "role": "user",
        "content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}}],
    },
    "anthropic": {
        "role": "user",
        "content": [
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}, "title": "a.pdf"}
        ],
    },
    "gemini": {"role": "user", "parts": [{"inlineData": {"mimeType": "application/pdf", "data": PDF}}]},
}


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize("target", list(IMAGES))
@pytest.mark.parametrize("source", list(IMAGES))
@pytest.mark.parametrize("kind", ["images", "documents"])
def test_pictures_and_documents_cross_from_any_provider_to_any(kind: str, source: str, target: str) -> None:
    """What is sent is what the target's own caller would have written (a document's name where both have one)."""
    held = {"images": IMAGES, "documents": DOCUMENTS}[kind]
    (written,) = dialect(target).render([parse(held[source], source)]).messages
    if kind == "documents" and source == "gemini" != target:
        assert PDF in str(written)
    else:
        assert written == held[target]


def test_what_cannot_cross_leaves_a_note() -> None:
    """A file stored by the other provider becomes a note; its thoughts are left out."""
    held = {"role": "user", "content": [{"type": "file", "file": {"file_id": "f", "filename": "plan.pdf"}}]}
    thought = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]}
    wire = dialect("gemini").render([parse(held), parse(thought)])
    assert wire.messages == [
        {"role": "user", "parts": [{"text": "[document: plan.pdf]"}]},
        {"role": "model", "parts": [{"text": "yes"}]},
    ]


@pytest.mark.requirement("INJECT-4")
def test_results_of_parallel_calls_are_one_turn_before_what_the_human_adds() -> None:
    """Three of the tool's messages and one of the human's."""
    messages = [
        Message.of("user", "go"),
        Message(role="assistant", parts=(ToolCall(id="a", name="f"), ToolCall(id="b", name="g"))),
        Message(role="tool", parts=(ToolResult(call_id="a", text="1"),)),
        Message(role="tool", parts=(ToolResult(call_id="lost", text="?"),)),
        Message(role="tool", parts=(ToolResult(call_id="b", text="2"),)),
        Message.of("user", "thanks"),
    ]
    last = dialect("anthropic").render(messages).messages[-1]
    assert [block["type"] for block in last["content"]] == ["tool_result", "tool_result", "text", "text"]
    assert last["content"][2]["text"] == "[Tool result: ?]"
    assert [m["role"] for m in dialect("openai").render(messages).messages] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "user",
    ]


@pytest.mark.requirement("INJECT-4")
def test_calls_without_ids_get_some_where_they_are_needed() -> None:
    """Gemini pairs by name, the others by id; an id used twice is renewed."""
    call, answer = ToolCall(id="", name="f"), ToolResult(call_id="", text="1", name="f")
    exchange = [Message(role="assistant", parts=(call,)), Message(role="tool", parts=(answer,))]
    messages = [Message.of("user", "go"), *exchange, *exchange]
    ids = [m["tool_call_id"] for m in dialect("openai").render(messages).messages if m["role"] == "tool"]
    assert ids == ["call_1", "call_2"]
    assert "id" not in dialect("gemini").render(messages).messages[1]["parts"][0]["functionCall"]


def test_arguments_that_are_no_object_are_carried_in_one() -> None:
    """As the model wrote them."""
    messages = [
        Message(role="assistant", parts=(ToolCall(id="a", name="f", arguments="{broken"),)),
        Message(role="tool", parts=(ToolResult(call_id="a", text=""),)),
    ]
    wire = dialect("anthropic").render(messages)
    assert wire.messages[1]["content"][0]["input"] == {"arguments": "{broken"}


def test_a_tool_message_without_any_result_is_the_users_text() -> None:
    """`Message.of("tool", …)` answers no call."""
    wire = dialect("openai").render([Message(role="tool", parts=(Text("42"),))])
    assert wire.messages == [{"role": "user", "content": "42"}]


@pytest.mark.requirement("INJECT-4")
def test_an_id_used_twice_is_renewed_for_the_later_call() -> None:
    """Ids that come back in a later exchange can't be told apart."""
    exchange = [
        Message(role="assistant", parts=(ToolCall(id="a", name="f"),)),
        Message(role="tool", parts=(ToolResult(call_id="a", text="1"),)),
    ]
    wire = dialect("anthropic").render([Message.of("user", "go"), *exchange, *exchange])
    ids = [
        block["tool_use_id"] for m in wire.messages if m["role"] == "user" for block in m["content"] if isinstance(block, dict)
    ]
    assert ids == ["a", "call_1"]


@pytest.mark.requirement("INJECT-4")
def test_a_result_after_the_human_has_spoken_comes_too_late() -> None:
    """The call it answers is closed, the result told as text, in the order in which they were said."""
    messages = [
        Message(role="assistant", parts=(ToolCall(id="a", name="f"), ToolCall(id="b", name="g"))),
        Message(role="user", parts=(ToolResult(call_id="a", text="1"), Text("never mind"))),
        Message(role="tool", parts=(ToolResult(call_id="b", text="2"),)),
    ]
    wire = dialect("openai").render(messages)
    assert [m["role"] for m in wire.messages] == ["assistant", "tool", "user", "user"]
    assert wire.messages[0]["content"] == "[Tool call without a result: g({})]"
    assert [m["content"] for m in wire.messages[1:]] == ["1", "never mind", "[Tool result: 2]"]
