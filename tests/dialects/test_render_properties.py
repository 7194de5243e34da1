"""Every conversation is written validly and completely for every provider."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, given

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.registry import dialect, dialect_of, parse_all
from germane.types.message import Image, Message, Opaque, Part, Text, ToolCall, ToolResult
from support.examples import examples
from support.wild_conversations import call_ids, conversations, dicts, said, strings

THOUGHT = Opaque(kind="anthropic:thinking", raw={"type": "thinking", "thinking": "Hm.", "signature": "s"})
PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini")


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize("provider", PROVIDERS)
@examples(120, suppress_health_check=[HealthCheck.too_slow])
@given(conversations)
def test_any_conversation_renders_to_what_the_provider_takes(provider: str, messages: list[Message]) -> None:
    """Calls, results, images and empties in any order: the validator finds nothing."""
    spoken = dialect(provider)
    assert spoken.problems(spoken.render(messages)) == ()


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize("provider", PROVIDERS)
@examples(80, suppress_health_check=[HealthCheck.too_slow])
@given(conversations)
def test_nothing_the_caller_said_is_lost_in_rendering(provider: str, messages: list[Message]) -> None:
    """Every text and every tool's result stands in the output."""
    wire = dialect(provider).render(messages)
    whole = "\n".join([*strings(wire.system), *strings(wire.messages)])
    assert [text for message in messages for text in said(message) if text not in whole] == []


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize("provider", PROVIDERS)
@examples(120, suppress_health_check=[HealthCheck.too_slow])
@given(dicts)
def test_dicts_of_any_shape_compose_to_what_the_provider_takes(provider: str, raws: list[dict[str, object]]) -> None:
    """Also where the caller's own dicts go out as they are. What OpenAI's own refuse in them, ids of more than 40 characters,
    is the caller's: servers that speak as OpenAI take them."""
    spoken = dialect(provider)
    assume(provider != "openai" or not any(len(id) > 40 for raw in raws for id in call_ids(raw)))
    before = repr(raws)
    messages = parse_all(raws, provider)
    turns = [
        OutgoingMessage(message=message, native=spoken.native(raw) if dialect_of(raw, provider) is spoken else None)
        for message, raw in zip(messages, raws, strict=True)
    ]
    wire = spoken.compose(turns)
    assert spoken.problems(wire) == ()
    whole = "\n".join([*strings(wire.system), *strings(wire.messages)])
    lost = [text for message in messages for text in said(message) if text not in whole and "\ufffd" not in text]
    assert lost == []
    assert repr(raws) == before


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize("provider", PROVIDERS)
@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(conversations)
def test_what_was_rendered_reads_back_the_same(provider: str, messages: list[Message]) -> None:
    """Rendering twice changes nothing more: pairs, texts and order are settled the first time."""
    spoken = dialect(provider)
    wire = spoken.render(messages)
    again = spoken.render(parse_all(wire.messages, provider))
    assert again.messages == wire.messages


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("behind", [Text("Wait."), Image(url="https://example.com/cat.png"), THOUGHT])
def test_what_stands_behind_a_call_is_ordered_with_it_at_once(provider: str, behind: Part) -> None:
    """The assistant's messages between a call and its result become one with the call's: the call stands last in it, as in a
    message that was read whole, unless there is thinking, before which nothing moves."""
    messages = [
        Message(role="assistant", parts=(ToolCall(id="a", name="f"),)),
        Message(role="assistant", parts=(behind, Text("Well."))),
        Message(role="tool", parts=(ToolResult(call_id="a", text="one", name="f"),)),
    ]
    spoken = dialect(provider)
    wire = spoken.render(messages)
    assert spoken.problems(wire) == ()
    assert spoken.render(parse_all(wire.messages, provider)).messages == wire.messages
    if provider == "anthropic":
        kinds = [block["type"] for block in wire.messages[1]["content"]]
        assert kinds == (["tool_use", "thinking", "text"] if behind is THOUGHT else ["text", "text", "tool_use"])


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_whole_exchange_keeps_its_pairs(provider: str) -> None:
    """Call and result come back with the same ids, names and texts."""
    calls = (ToolCall(id="a", name="f", arguments='{"q": 1}'), ToolCall(id="b", name="g"))
    results = (ToolResult(call_id="b", text="two", name="g"), ToolResult(call_id="a", text="one", name="f"))
    messages = [
        Message.of("user", "go"),
        Message(role="assistant", parts=(Text("now"), *calls)),
        *(Message(role="tool", parts=(result,)) for result in results),
        Message.of("assistant", "done"),
    ]
    read = parse_all(dialect(provider).render(messages).messages, provider)
    assert [call for message in read for call in message.tool_calls] == list(calls)
    assert [(each.call_id, each.text) for message in read for each in message.tool_results] == [("b", "two"), ("a", "one")]
    assert [text for message in read if (text := message.text)] == ["go", "now", "done"]


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(conversations)
def test_rendered_roles_alternate_from_the_user_on(provider: str, messages: list[Message]) -> None:
    """Consecutive messages of one role are merged."""
    roles = [message["role"] for message in dialect(provider).render(messages).messages]
    assert roles[0] == "user"
    assert all(one != next for one, next in pairwise(roles))
