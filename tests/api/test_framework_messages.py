"""LangChain's and Pydantic AI's messages are taken as they are, in `assemble` and in `record` (INJECT-11)."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic_ai.messages import (
    BinaryContent,
    CachePoint,
    DocumentUrl,
    ImageUrl,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from germane import InvalidInput
from germane.dialects.registry import dialect
from germane.sync import Germane
from germane.types.message import Wire

pytestmark = pytest.mark.requirement("INJECT-11")

PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000030000000208020000001216f14d")
LOOK = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}


def assembled(messages: list[Any], model: str = "gpt-4o", **options: Any) -> tuple[list[Any], Any]:
    """What goes to the provider, which must not refuse it."""
    with Germane.open(":memory:") as germane:
        context = germane.agent("x", user="u").assemble(messages, model=model, deadline=None, **options)
    system = None if context.provider == "openai" else context.system or None
    assert dialect(context.provider).problems(Wire(messages=list[Any](context.messages), system=system)) == ()
    return [*context.messages], context.system


def test_langchains_messages_are_chat_messages() -> None:
    """Roles, calls with their arguments as text, results, pictures, and no ids of LangChain's."""
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    messages = [
        SystemMessage("Be kind."),
        HumanMessage([{"type": "text", "text": "What is it?"}, picture], id="h1"),
        AIMessage("", tool_calls=[{"name": "look", "args": {"a": 1}, "id": "c1"}]),
        ToolMessage("a vase", tool_call_id="c1"),
        ChatMessage(role="assistant", content="A vase."),
        {"role": "user", "content": "Thanks."},
    ]
    assert assembled(messages)[0] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]},
        {"role": "assistant", "content": None, "tool_calls": [LOOK]},
        {"role": "tool", "tool_call_id": "c1", "content": "a vase"},
        {"role": "assistant", "content": "A vase."},
        messages[-1],
    ]


def test_claudes_blocks_in_langchains_messages_are_anthropics() -> None:
    """Thinking with its signature, calls as blocks (streamed ones had their input as text), and errors."""
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    use = {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}
    blocks: list[Any] = [thinking | {"index": 0}, use | {"input": '{"a": 1}', "index": 1}]
    messages = [
        HumanMessage("What is it?"),
        AIMessage(blocks, tool_calls=[{"name": "look", "args": {"a": 1}, "id": "c1"}]),
        ToolMessage("broken", tool_call_id="c1", status="error"),
    ]
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "broken", "is_error": True}
    assert assembled(messages, "claude-sonnet-4-5")[0] == [
        {"role": "user", "content": "What is it?"},
        {"role": "assistant", "content": [thinking, use]},
        {"role": "user", "content": [result]},
    ]


def test_a_responses_blocks_in_langchains_messages_are_a_chat_message() -> None:
    """Its reasoning is an item of its own, which no message can hold."""
    blocks: list[Any] = [
        {"type": "reasoning", "id": "rs_1"},
        {"type": "text", "text": "x"},
        {"type": "function_call", "name": "look"},
    ]
    messages = [
        HumanMessage("q"),
        AIMessage(blocks, tool_calls=[{"name": "look", "args": {"a": 1}, "id": "c1"}]),
        ToolMessage("r", tool_call_id="c1"),
    ]
    assert assembled(messages)[0][1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "x"}],
        "tool_calls": [LOOK],
    }


PYDANTIC = [
    ModelRequest(
        parts=[
            SystemPromptPart("Be kind."),
            UserPromptPart(
                ["What is it?", ImageUrl("https://example.org/a.png"), CachePoint(), BinaryContent(PNG, media_type="image/png")]
            ),
        ],
        instructions="Old.",
    ),
    ModelResponse(parts=[ThinkingPart("hm"), TextPart("I look."), ToolCallPart("look", {"a": 1}, tool_call_id="c1")]),
    ModelRequest(parts=[ToolReturnPart("look", "a vase", tool_call_id="c1")], instructions="Answer in German."),
    ModelResponse(parts=[NativeToolCallPart("web_search", {"query": "vase"}, tool_call_id="w"), TextPart("Eine Vase.")]),
    ModelRequest(parts=[UserPromptPart("Thanks."), UserPromptPart([DocumentUrl("https://example.org/a.pdf")])]),
]


def test_pydantics_messages_are_chat_messages() -> None:
    """A request's parts are messages of their own; the newest instructions come first; thinking elsewhere is left out."""
    found, _ = assembled(PYDANTIC)
    assert found[:2] == [{"role": "system", "content": "Answer in German."}, {"role": "system", "content": "Be kind."}]
    assert [part["type"] for part in found[2]["content"]] == ["text", "image_url", "image_url"]
    assert found[2]["content"][2]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert found[3:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [LOOK | {"function": {"name": "look", "arguments": '{"a":1}'}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "a vase"},
        {"role": "assistant", "content": "Eine Vase."},
        {"role": "user", "content": "Thanks."},
        {"role": "user", "content": [{"type": "document_url", "document_url": {"url": "https://example.org/a.pdf"}}]},
    ]


def test_pydantics_messages_go_to_claude_with_its_thinking() -> None:
    """In the order of the parts; a retry is a failed result, and a document by URL is one of Anthropic's."""
    signed = ThinkingPart("hm", signature="s", provider_name="anthropic")
    hidden = ThinkingPart("", id="redacted_thinking", signature="d", provider_name="anthropic")
    messages = [
        PYDANTIC[4],
        ModelResponse(parts=[signed, hidden, ToolCallPart("look", {"a": 1}, tool_call_id="c1")]),
        ModelRequest(parts=[ToolReturnPart("look", "no such vase", tool_call_id="c1", outcome="retried")]),
    ]
    found, _ = assembled(messages, "claude-sonnet-4-5")
    assert {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}} in found[0]["content"]
    assert found[-2]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
    ]
    assert found[-1]["content"][0]["is_error"] is True


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "claude-sonnet-4-5"])
def test_what_a_framework_holds_goes_to_every_provider(model: str) -> None:
    """Valid for each."""
    assert len(assembled(PYDANTIC, model)[0]) >= 5


def test_they_are_recorded_once() -> None:
    """More parts than a slice holds too; what was recorded is known again."""
    requests: list[Any] = [
        ModelRequest(parts=[UserPromptPart(f"My number {n} is {n * 7}.") for n in range(150)]),
        HumanMessage("Bye."),
    ]
    with Germane.open(":memory:") as germane:
        agent = germane.agent("x", user="u")
        assert len(agent.record(requests, session="s").added) == 151
        assert agent.record(requests, session="s").added == ()


class Odd:
    """No framework's message, whatever is asked of it."""

    def __getattr__(self, name: str) -> Any:
        return Odd()


def test_an_object_of_an_unknown_kind_is_refused_by_its_place() -> None:
    """Also one with every attribute, and a framework's that can't be read."""
    for odd in (Odd(), object(), 5, None):
        with pytest.raises(InvalidInput):
            assembled([{"role": "user", "content": "x"}, odd])
    broken = ModelRequest(parts=[object()])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match=r"messages\[1\] is a ModelRequest that can't be read"):
        assembled([{"role": "user", "content": "x"}, broken])
