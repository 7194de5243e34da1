"""Parsing of every provider's messages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from germane.dialects.registry import dialect, dialect_of, parse, parse_all
from germane.errors import InvalidInput, UnknownName
from germane.types.message import Image, Message, Opaque, Text, ToolCall, ToolResult
from support.wild_conversations import PNG

PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini")
SAID = datetime(2024, 5, 1, 10, tzinfo=UTC)


class SdkObject:
    """Objects of an SDK: no mappings, but they can be dumped as such."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, *, exclude_none: bool) -> dict[str, Any]:
        assert exclude_none
        return self.fields


def test_openai_reads_all_its_parts() -> None:
    """Text, picture with its size, sound, file; an unknown part is passed on."""
    content = [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "hologram"},
    ]
    text, image, *opaque = parse({"role": "user", "content": content}, "openai").parts
    assert text == Text("look")
    assert isinstance(image, Image)
    assert (image.width, image.height, image.detail) == (3, 2, "low")
    assert [part.kind for part in opaque if isinstance(part, Opaque)] == [
        "openai:input_audio",
        "openai:file",
        "openai:hologram",
    ]


def test_openai_reads_calls_and_results_old_and_new() -> None:
    """tool_calls, custom tools, function_call, refusals; role tool and role function."""
    function = {"name": "f", "arguments": '{"a": 1}'}
    new, old = {"id": "c1", "type": "function", "function": function}, {"role": "assistant", "function_call": function}
    custom = {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "x"}}
    message = parse({"role": "assistant", "content": None, "refusal": "No.", "tool_calls": [new, custom]})
    assert message.text == "No."
    assert message.tool_calls == (
        ToolCall(id="c1", name="f", arguments='{"a": 1}'),
        ToolCall(id="c2", name="g", arguments='{"input": "x"}'),
    )
    assert parse(old).tool_calls == (ToolCall(id="", name="f", arguments='{"a": 1}'),)
    assert parse({"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "4"}]}).parts == (
        ToolResult(call_id="c1", text="4"),
    )
    assert parse({"role": "function", "name": "f", "content": "4"}).tool_results == (
        ToolResult(call_id="", text="4", name="f"),
    )
    assert parse({"role": "developer", "content": "be brief"}).role == "system"


def test_anthropic_reads_all_its_blocks() -> None:
    """Pictures by data and by URL, thinking, documents, calls; a turn of results alone is the tool's."""
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "see"},
        {"type": "image", "source": source},
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
        {"type": "document", "source": {"type": "text", "data": "d"}},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": "ü"}},
    ]
    thinking, text, inline, linked, document, call = parse({"role": "assistant", "content": blocks}, "openai").parts
    assert isinstance(thinking, Opaque)
    assert isinstance(document, Opaque)
    assert (text, call) == (Text("see"), ToolCall(id="t1", name="f", arguments='{"a": "ü"}'))
    assert isinstance(inline, Image)
    assert (inline.width, inline.height) == (3, 2)
    assert isinstance(linked, Image)
    assert linked.url == "https://x.test/a.png"
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [{"type": "text", "text": "no"}]}
    assert parse({"role": "user", "content": [result]}) == Message(
        role="tool", parts=(ToolResult(call_id="t1", text="no", error=True),)
    )
    assert parse({"role": "user", "content": [result, {"type": "text", "text": "go on"}]}).role == "user"


def test_gemini_reads_all_its_parts() -> None:
    """camelCase and snake_case, calls with and without ids, errors, thoughts."""
    parts = [
        {"text": "see"},
        {"thought": True, "text": "hm"},
        {"inline_data": {"mime_type": "image/png", "data": PNG}},
        {"fileData": {"mimeType": "audio/mpeg", "fileUri": "gs://b/a.mp3"}},
        {"functionCall": {"name": "f", "args": {"a": 1}}},
    ]
    text, thought, image, audio, call = parse({"role": "model", "parts": parts}, "openai").parts
    assert (text, call) == (Text("see"), ToolCall(id="", name="f", arguments='{"a": 1}'))
    assert isinstance(thought, Opaque)
    assert isinstance(audio, Opaque)
    assert isinstance(image, Image)
    assert image.width == 3
    answers = [
        {"functionResponse": {"name": "f", "response": {"output": "4"}}},
        {"function_response": {"name": "g", "response": {"error": "no"}}},
    ]
    assert parse({"role": "user", "parts": answers}) == Message(
        role="tool", parts=(ToolResult(call_id="", text="4", name="f"), ToolResult(call_id="", text="no", name="g", error=True))
    )


@pytest.mark.parametrize("prefer", PROVIDERS)
def test_a_plain_message_reads_the_same_for_every_provider(prefer: str) -> None:
    """Role and text are common property."""
    assert parse({"role": "user", "content": "hi"}, prefer) == Message.of("user", "hi")
    assert parse({"role": "assistant", "content": [{"type": "text", "text": "hi"}]}, prefer) == Message.of("assistant", "hi")


@pytest.mark.parametrize(
    "moment",
    [
        SAID,
        "2024-05-01T10:00:00Z",
        "2024-05-01T12:00:00+02:00",
        SAID.timestamp(),
        int(SAID.timestamp()),
        int(SAID.timestamp() * 1000),
    ],
)
@pytest.mark.parametrize("raw", [{"role": "user", "content": "hi"}, {"role": "user", "parts": [{"text": "hi"}]}])
def test_id_name_and_time_are_read_in_every_dialect(raw: dict[str, Any], moment: object) -> None:
    """However the time is written; a number as id is its digits."""
    for prefer in PROVIDERS:
        message = parse({**raw, "id": 7, "name": "Ann Lee", "created_at": moment}, prefer)
        assert (message.id, message.name, message.created_at) == ("7", "Ann Lee", SAID)


def test_a_naive_time_stays_naive() -> None:
    """Which zone it is in is the scope's to say."""
    assert parse({"role": "user", "content": "hi", "created_at": "2024-05-01T10:00"}).created_at == datetime(2024, 5, 1, 10)


@pytest.mark.parametrize(
    ("raw", "prefer", "wrong"),
    [
        (None, "openai", "messages[1]: message is NoneType"),
        ("hi", "openai", "messages[1]: message is str"),
        ({"content": "hi"}, "openai", "role is missing: give one of system, user"),
        ({"content": "hi"}, "gemini", "role is missing"),
        ({"role": ["user"], "content": "hi"}, "openai", "is unknown"),
        ({"role": "robot", "content": "hi"}, "anthropic", "role 'robot' is unknown: give one of user, assistant, system"),
        ({"role": "user", "content": 5}, "openai", "content is int"),
        ({"role": "user", "content": {"text": "hi"}}, "anthropic", "content is dict"),
        ({"role": "user", "content": [5]}, "openai", "content[0] is int"),
        ({"role": "user", "content": [{"type": "text", "text": None}]}, "anthropic", "content[0].text is NoneType"),
        ({"role": "user", "content": [{"type": "image_url"}]}, "openai", "image_url lacks its url"),
        ({"role": "assistant", "tool_calls": "f()"}, "openai", "tool_calls is str"),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, "openai", "tool_calls[0] has no function"),
        (
            {"role": "user", "content": [{"type": "tool_result", "content": 5}]},
            "openai",
            "content[0].content is int",
        ),
        ({"role": "user", "parts": "hi", "id": 1.5}, "gemini", "id is float"),
        ({"role": "user", "parts": 5}, "gemini", "parts is int"),
        ({"role": "user", "content": "hi", "name": 5}, "openai", "name is int"),
        ({"role": "user", "content": "hi", "created_at": "yesterday"}, "openai", "created_at 'yesterday' is not a time"),
        ({"role": "user", "content": "hi", "created_at": float("nan")}, "openai", "created_at 'nan' is not a time"),
        ({"role": "user", "content": "hi", "created_at": 10**30}, "openai", "is not a time"),
        ({"role": "user", "content": "hi", "created_at": True}, "openai", "created_at 'True' is not a time"),
    ],
)
def test_what_cannot_be_read_is_named(raw: Any, prefer: str, wrong: str) -> None:
    """Which message, what is wrong with it, what to give instead."""
    with pytest.raises(InvalidInput, match=r"messages\[1\]") as error:
        parse_all([{"role": "user", "content": "hi"}, raw], prefer)
    assert wrong in str(error.value)


@pytest.mark.parametrize("raws", [None, "hi", {"role": "user", "content": "hi"}, 5])
def test_messages_must_come_as_a_list(raws: Any) -> None:
    """One message alone, a string or nothing is the caller's slip."""
    with pytest.raises(InvalidInput, match="give a list of messages"):
        parse_all(raws)


def test_an_unknown_provider_is_told_the_known_ones() -> None:
    """By `dialect` and by `parse_all` alike."""
    with pytest.raises(UnknownName, match="provider 'mistral' is unknown: give one of openai, anthropic, gemini"):
        dialect("mistral")
    with pytest.raises(UnknownName):
        parse_all([], "mistral")


def test_an_sdks_own_objects_are_read() -> None:
    """A reply can be put back into the conversation as it came."""
    reply = SdkObject(
        role="assistant",
        content=None,
        tool_calls=[SdkObject(id="a", type="function", function=SdkObject(name="f", arguments="{}"))],
    )
    blocks = [SdkObject(type="text", text="hi"), SdkObject(type="tool_use", id="a", name="f", input={})]
    assert parse(reply).tool_calls == (ToolCall(id="a", name="f"),)  # type: ignore[arg-type]
    assert parse({"role": "assistant", "content": blocks}, "anthropic").parts == (Text("hi"), ToolCall(id="a", name="f"))


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ({"role": "tool", "content": "x"}, "openai"),
        ({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}, "openai-responses"),
        ({"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "hm"}]}, "openai-responses"),
        ({"type": "shell_of_tomorrow_call_output", "call_id": "a"}, "openai-responses"),
        ({"role": "user", "content": [{"type": "input_image", "image_url": "https://x.test/a"}]}, "openai-responses"),
        ({"role": "assistant", "content": None, "tool_calls": []}, "openai"),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.test/a"}}]}, "openai"),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}, "anthropic"),
        ({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}, "anthropic"),
        ({"role": "user", "parts": [{"text": "x"}]}, "gemini"),
    ],
)
@pytest.mark.parametrize("prefer", PROVIDERS)
def test_a_message_only_one_provider_writes_is_read_as_its(raw: Mapping[str, Any], name: str, prefer: str) -> None:
    """Whichever is preferred."""
    assert dialect_of(raw, prefer).name == name


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "id", "functionCall", "source", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
keys = st.sampled_from(
    ["role", "content", "parts", "tool_calls", "function_call", "tool_call_id", "audio", "refusal", "id", "name", "created_at"]
)


@pytest.mark.parametrize("calls", [1.0, True, {}, "x", [1]])
def test_tool_calls_that_are_no_list_of_calls_are_not_sent_as_they_are(calls: object) -> None:
    """On a message of the user's they aren't read, and it is written anew."""
    assert dialect("openai").native({"role": "user", "content": "", "tool_calls": calls}) is None


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(keys, json_values, max_size=5),
    st.sampled_from(["user", "assistant", "model", "tool", None]),
    st.sampled_from(PROVIDERS),
)
@example(raw={"content": [{"type": []}]}, role="tool", prefer="openai")
@example(raw={"content": [{"type": []}]}, role="user", prefer="openai")
def test_any_json_is_read_or_refused(raw: dict[str, Any], role: str | None, prefer: str) -> None:
    """Never with another exception, and what was read can be sent to every provider."""
    if role:
        raw = {**raw, "role": role}
    try:
        message = parse(raw, prefer)
    except InvalidInput:
        return
    for provider in PROVIDERS:
        dialect(provider).render([message])
        own = dialect_of(raw, provider)
        if own.name == provider:
            own.native(raw)


def test_lone_surrogates_and_a_megabyte_are_read_as_they_are_and_sent_clean() -> None:
    """Kept verbatim in the message, replaced where germane writes it for a provider."""
    long = "é\ud800" * 500_000
    message = parse({"role": "user", "content": long})
    assert message.text == long
    for provider in PROVIDERS:
        wire = dialect(provider).render([message])
        assert str(wire.messages[0]).encode()
        assert "é\ufffd" * 10 in str(wire.messages[0])
