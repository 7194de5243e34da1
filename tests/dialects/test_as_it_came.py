"""Messages, parts and keys come back as they came (INJECT-11): calls over several messages, and what only gateways take."""

from __future__ import annotations

from typing import Any

import pytest

from germane.dialects.edits import orphans
from germane.dialects.registry import dialect, dialect_of, outgoing, parse, parse_all
from germane.types.message import Opaque

pytestmark = pytest.mark.requirement("INJECT-11")

USER = {"role": "user", "content": "Compare both files."}
TEXT = {"type": "text", "text": "What is in it?"}
MARK = {"cache_control": {"type": "ephemeral"}}


def use(number: int) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"n": number}}


def result(number: int) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"r{number}"}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def call(number: int, **fields: Any) -> dict[str, Any]:
    function = {"name": "read", "arguments": "{}"}
    calls = [{"id": f"c{number}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls} | fields


def answer(number: int) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{number}", "content": f"r{number}"}


def model(number: int, **fields: Any) -> dict[str, Any]:
    return {"role": "model", "parts": [{"functionCall": {"name": f"read{number}", "args": {"n": number}}, **fields}]}


def response(number: int) -> dict[str, Any]:
    return {"functionResponse": {"name": f"read{number}", "response": {"r": number}}}


def sent(messages: list[dict[str, Any]], provider: str) -> list[dict[str, Any]]:
    """What goes to the provider; the API must not refuse it."""
    parsed = parse_all(messages, provider)
    turns = [outgoing(message, raw, provider) for message, raw in zip(parsed, messages, strict=True)]
    assert orphans(turns, provider) == frozenset()
    wire = dialect(provider).compose(turns)
    assert dialect(provider).problems(wire) == ()
    return wire.messages


@pytest.mark.parametrize(
    "messages",
    [
        [assistant(use(1)), assistant(use(2)), user(result(1), result(2))],
        [assistant(use(1)), assistant(use(2)), user(result(1)), user(result(2))],
    ],
)
def test_claudes_parallel_calls_over_several_messages_are_calls(messages: list[dict[str, Any]]) -> None:
    """They are joined: each result has to be in the message behind its call."""
    assert sent([USER, *messages], "anthropic") == [USER, assistant(use(1), use(2)), user(result(1), result(2))]


def test_only_what_lies_between_a_call_and_its_result_is_joined() -> None:
    """Words in front of the call stay a message of their own, the same dict; those behind it join it."""
    words, later = assistant({"type": "text", "text": "I look."}), assistant({"type": "text", "text": "And there."})
    found = sent([USER, words, assistant(use(1)), later, user(result(1))], "anthropic")
    assert found == [USER, words, assistant(use(1), *later["content"]), user(result(1))]
    assert found[1] is words
    plain = [USER, {"role": "assistant", "content": "Hm."}, {"role": "assistant", "content": "Yes."}, USER]
    assert all(one is other for one, other in zip(sent(plain, "anthropic"), plain, strict=True))


def test_geminis_calls_in_a_row_are_one_turn() -> None:
    """With the signature of each."""
    question = {"role": "user", "parts": [{"text": "q"}]}
    first, second = model(1, thoughtSignature="s1"), model(2, thoughtSignature="s2")
    found = sent([question, first, second, {"role": "user", "parts": [response(1), response(2)]}], "gemini")
    assert found[1] == {"role": "model", "parts": [*first["parts"], *second["parts"]]}
    assert found[2]["parts"] == [response(1), response(2)]


def test_openais_calls_in_a_row_are_one_answer_with_all_its_keys() -> None:
    """Calls and lists of both, texts one after the other, and a gateway's own keys."""
    first = call(1, content="One.", reasoning_content="r1", reasoning_details=[1])
    second = call(2, content=[TEXT], reasoning_content="r2", reasoning_details=[2])
    joined = sent([USER, first, second, answer(1), answer(2)], "openai")[1]
    assert joined == {
        "role": "assistant",
        "content": [{"type": "text", "text": "One."}, TEXT],
        "tool_calls": [*first["tool_calls"], *second["tool_calls"]],
        "reasoning_content": "r1\n\nr2",
        "reasoning_details": [1, 2],
    }
    assert sent([USER, call(1), call(2), answer(1), answer(2)], "openai")[1]["content"] is None


def test_a_call_in_a_row_that_has_lost_its_result_is_a_text_and_the_others_stay_calls() -> None:
    """In a message of its own where it stands in front of them."""
    messages = [USER, call(1), call(2), answer(2)]
    turns = [outgoing(parse(raw), raw, "openai") for raw in messages]
    found = dialect("openai").compose(turns).messages
    assert "tool_calls" not in found[1]
    assert found[2:] == [call(2), answer(2)]
    assert orphans(turns, "openai") == {1}


def test_calls_of_functions_of_the_older_kind_are_left_apart() -> None:
    """A message holds one of them at most."""
    old: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "function_call": {"name": f"f{n}", "arguments": "{}"}} for n in (1, 2)
    ]
    messages: list[dict[str, Any]] = [USER, *old, *({"role": "function", "name": f"f{n}", "content": "r"} for n in (1, 2))]
    turns = [outgoing(parse(raw), raw, "openai") for raw in messages]
    assert dialect("openai").compose(turns).messages == messages


@pytest.mark.parametrize(
    "message",
    [
        user({"type": "text", "text": "long context", **MARK}),
        {"role": "system", "content": [{"type": "text", "text": "rules", "cache_control": {"type": "ephemeral", "ttl": "1h"}}]},
        user({"type": "text", "text": "ctx", **MARK}, TEXT),
        user(TEXT, {"type": "video_url", "video_url": {"url": "https://example.org/a.mp4"}}),
        user(TEXT, {"type": "audio_url", "audio_url": {"url": "https://example.org/a.wav"}}),
        user(TEXT, {"type": "document_url", "document_url": "https://example.org/a.pdf"}),
        user(TEXT, {"type": "reference", "reference_ids": [1]}),
        user(TEXT, {"type": "smell", "smell": {"data": "AAAA"}}),
        user({"type": "document", "document": {"data": {"text": "d"}, "id": "1"}}, TEXT),
        assistant({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Yes."}),
        assistant({"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}),
        {"role": "assistant", "content": None, "reasoning_content": "hm"},
        {"role": "assistant", "content": "x", "reasoning_details": [{"type": "reasoning.text", "signature": "s"}]},
        {"role": "user", "content": "x", "parts": [{"type": "text", "text": "x"}]},
    ],
)
def test_what_gateways_to_the_chat_api_take_comes_back(message: dict[str, Any]) -> None:
    """The same dict, though only Claude, Mistral, Cohere, OpenRouter or something of tomorrow takes it."""
    assert dialect_of(message, "openai").name == "openai"
    messages = [USER, message, USER]
    assert all(one is other for one, other in zip(sent(messages, "openai"), messages, strict=True))


def test_calls_that_are_nothing_are_left_out_and_all_else_stays() -> None:
    """An SDK's dump has `tool_calls: None`, which the API refuses."""
    raw = {"role": "assistant", "content": "x", "tool_calls": None, "reasoning_content": "hm"}
    assert sent([USER, raw, USER], "openai")[1] == {"role": "assistant", "content": "x", "reasoning_content": "hm"}


@pytest.mark.parametrize(
    ("part", "provider", "written"),
    [
        (
            {"type": "video_url", "video_url": {"url": "https://example.org/a.mp4?x=1"}},
            "gemini",
            {"fileData": {"mimeType": "video/mp4", "fileUri": "https://example.org/a.mp4?x=1"}},
        ),
        (
            {"type": "audio_url", "audio_url": {"url": "data:audio/wav;base64,AAAA"}},
            "gemini",
            {"inlineData": {"mimeType": "audio/wav", "data": "AAAA"}},
        ),
        (
            {"type": "document_url", "document_url": "https://example.org/a"},
            "anthropic",
            {"type": "document", "source": {"type": "url", "url": "https://example.org/a"}},
        ),
    ],
)
def test_a_gateways_attachment_is_another_providers_too(part: Any, provider: str, written: Any) -> None:
    """It isn't lost on the way to an API that has a part for it."""
    wire = dialect(provider).render(parse_all([user(part)], provider))
    held = wire.messages[0]
    assert held.get("content", held.get("parts")) == [written]


def test_an_item_of_tomorrow_is_the_responses_apis_where_that_is_named() -> None:
    """Whatever its keys are called."""
    item = {"type": "hologram", "id": "h_1", "audio": {"data": "AAAA"}, "parts": [1]}
    (message,) = parse_all([item], "openai-responses")
    assert isinstance(message.parts[0], Opaque)
    assert sent([USER, item, USER], "openai-responses")[1] is item
