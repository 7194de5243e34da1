"""OpenAI's Responses API: its items in and out."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.openai_responses import OpenAIResponses
from germane.dialects.registry import dialect, parse, parse_all
from germane.errors import InvalidInput
from germane.stages.inject import inject
from germane.types.message import Image, Message, Opaque, Text, ToolCall, ToolResult, Wire
from support.exchanges import CLAUDE, EXCHANGE, GEMINI, ITEMS, request
from support.steps import growth

USER: dict[str, Any] = {"role": "user", "content": "go"}
REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
CALL: dict[str, Any] = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "a", "output": "42"}
SAID: dict[str, Any] = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "done", "annotations": []}],
}


def sent(raw: list[Any], stable: str = "", late: str = "") -> Wire:
    wire = inject(request(raw, "openai-responses"), stable, late, placement="split").convert("openai-responses")
    assert dialect("openai-responses").problems(wire) == ()
    return wire


@pytest.mark.requirement("INJECT-4", "INJECT-7")
def test_items_go_out_untouched_and_instructions_stand_apart() -> None:
    """The very same objects, reasoning beside its call, also those of unknown types; the late text before the human's words."""
    built_in = [
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "mcp_call", "id": "mcp_1", "name": "f", "arguments": "{}", "server_label": "s"},
        {"type": "computer_call", "id": "cu_1", "call_id": "c", "action": {"type": "wait"}, "status": "completed"},
        {
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": "https://x.test/a"},
        },
        {"type": "thought_of_tomorrow", "payload": {"a": [1]}},
        {"type": "item_reference", "id": "msg_9"},
    ]
    raw = [
        USER,
        REASONING,
        CALL,
        OUTPUT,
        *built_in,
        SAID,
        {"role": "user", "content": [{"type": "input_text", "text": "and?"}]},
    ]
    before = copy.deepcopy(raw)
    wire = sent(raw, "stable", "late")
    assert wire.system == "stable"
    assert wire.messages[-2] == {"role": "user", "content": "late"}
    own = [*wire.messages[:-2], wire.messages[-1]]
    assert len(own) == len(raw)
    assert all(one is other for one, other in zip(own, raw, strict=True))
    assert raw == before


@pytest.mark.requirement("INJECT-7")
def test_items_are_read_as_messages() -> None:
    """Calls and outputs are tool calls and results; texts, pictures and refusals are parts; the rest is carried unread."""
    shell = {"type": "shell_call", "call_id": "s", "action": {"commands": ["ls"]}}
    parts = [
        {"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "https://x.test/a", "detail": "low"},
        {"type": "input_file", "file_id": "file-1"},
    ]
    refusal = {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    output = {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "42"}]}
    custom = {"type": "custom_tool_call", "call_id": "b", "name": "sql", "input": "select 1"}
    read = parse_all([REASONING, CALL, output, custom, shell, {"role": "user", "content": parts}, refusal], "openai-responses")
    assert read[0] == Message(role="assistant", parts=(Opaque(kind="openai-responses:reasoning", raw=REASONING),), id="rs_1")
    assert [call for message in read for call in message.tool_calls] == [
        ToolCall(id="a", name="f"),
        ToolCall(id="b", name="sql", arguments='{"input": "select 1"}'),
        ToolCall(id="s", name="shell", arguments='{"commands": ["ls"]}'),
    ]
    assert read[2] == Message(role="tool", parts=(ToolResult(call_id="a", text="42"),))
    text, image, file = read[5].parts
    assert text == Text("see")
    assert isinstance(image, Image)
    assert (image.url, image.detail) == ("https://x.test/a", "low")
    assert file == Opaque(kind="openai:input_file", raw=parts[2])
    assert read[6].text == "No."


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize(
    "raw", [{"type": "message", "content": "x"}, {"role": "clown", "type": "message"}, {"content": "x"}, {}]
)
def test_a_message_without_a_role_is_refused(raw: dict[str, Any]) -> None:
    """An item needs a type or a role."""
    with pytest.raises(InvalidInput, match="role"):
        parse(raw, "openai-responses")


@pytest.mark.requirement("INJECT-4", "INJECT-7")
@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_items_given_for_another_provider_are_converted(provider: str) -> None:
    """Calls in parallel are one turn there, with both results behind it."""
    raw = [USER, REASONING, CALL, {**CALL, "call_id": "b", "id": "fc_2"}, {**OUTPUT, "call_id": "b"}, OUTPUT, SAID]
    wire = inject(request(raw, provider), "memories").convert(provider)
    assert dialect(provider).problems(wire) == ()
    assert "Tool call without" not in str(wire)
    read = parse_all(wire.messages, provider)
    assert [len(message.tool_calls) for message in read if message.tool_calls] == [2]
    assert sum(len(message.tool_results) for message in read) == 2


@pytest.mark.requirement("INJECT-4", "INJECT-7")
@pytest.mark.parametrize("raw", [EXCHANGE, CLAUDE, GEMINI], ids=["openai", "anthropic", "gemini"])
def test_other_shapes_come_out_as_items(raw: list[Any]) -> None:
    """A call and its output are items of their own, under one id."""
    wire = sent(raw)
    call, output = (item for item in wire.messages if item.get("type", "").startswith("function_call"))
    assert (call["type"], output["type"], output["output"]) == ("function_call", "function_call_output", "42")
    assert call["call_id"] == output["call_id"]


@pytest.mark.requirement("INJECT-4", "INJECT-7")
def test_orphans_become_text_and_reasoning_without_its_item_is_left_out() -> None:
    """A call without an output, an output without a call; what the model had thought before that call goes with it."""
    wire = sent([SAID, {**OUTPUT, "call_id": "lost"}, USER, REASONING, CALL])
    assert wire.messages == [
        SAID,
        {"role": "user", "content": "[Tool result: 42]"},
        USER,
        {"role": "assistant", "content": "[Tool call without a result: f({})]"},
    ]
    assert sent([USER, REASONING]).messages == [USER]
    assert sent([USER, REASONING, USER]).messages == [USER, USER]


@pytest.mark.requirement("LIMITS-2", "INJECT-4")
@pytest.mark.parametrize("last", [[], [USER], [CALL, OUTPUT]], ids=["nothing", "words", "a call"])
def test_reasoning_item_upon_reasoning_item_takes_linear_time(last: list[Any]) -> None:
    """What follows is looked for once for the whole run, not from each item on."""
    assert growth(lambda n: sent([USER, *({**REASONING, "id": f"rs_{at}"} for at in range(n)), *last]), 50) < 5


@pytest.mark.requirement("HIST-5", "INJECT-4")
def test_calls_behind_results_that_were_taken_away_are_other_ones() -> None:
    """An id is used twice, the first result comes last: the later call has the earlier one, as in the whole conversation."""
    one = dialect("openai-responses")
    raws = [CALL, {**CALL, "id": "fc_2", "name": "g"}, {**OUTPUT, "output": "of g"}, USER, {**OUTPUT, "output": "of f"}]
    turns = [OutgoingMessage(message=one.parse(raw), native=one.native(raw)) for raw in raws]

    def said(turns: list[OutgoingMessage]) -> dict[str, str]:
        items = one.compose(turns).messages
        names = {item["call_id"]: item["name"] for item in items if "name" in item}
        return {names[item["call_id"]]: item["output"] for item in items if "output" in item}

    assert said(turns) == {"f": "of g", "g": "of f"}
    turns[1] = replace(turns[1], behind_results=True)
    assert said(turns) == {"g": "of g", "f": "of f"}


@pytest.mark.requirement("INJECT-4", "INJECT-7")
def test_what_came_of_repeated_reasoning_loses_its_id_with_it() -> None:
    """The API refuses an id that it has seen, and an item under its id without the reasoning that it came of."""
    again = {**CALL, "call_id": "again", "id": "fc_2"}
    wire = sent([USER, REASONING, CALL, OUTPUT, REASONING, again, {**OUTPUT, "call_id": "again"}, SAID])
    bare = {key: value for key, value in again.items() if key != "id"}
    assert wire.messages == [USER, REASONING, CALL, OUTPUT, bare, {**OUTPUT, "call_id": "again"}, SAID]


@pytest.mark.requirement("INJECT-4", "INJECT-7")
@pytest.mark.parametrize(
    "before", [[], [USER], [{"type": "item_reference", "id": "fc_1"}, SAID]], ids=["alone", "asked", "by id"]
)
def test_outputs_for_calls_that_the_server_keeps_stay(before: list[Any]) -> None:
    """With `previous_response_id` only the output is sent; a reference stands for a call."""
    assert sent([*before, OUTPUT]).messages == [*before, OUTPUT]


@pytest.mark.requirement("INJECT-2", "INJECT-7")
def test_late_text_never_stands_between_a_call_and_its_output() -> None:
    """Nor between reasoning and its call, where the human spoke before the tool answered."""
    late = {"role": "user", "content": "late"}
    between = [USER, REASONING, CALL, {"role": "user", "content": "hurry"}, OUTPUT]
    assert sent(between, "stable", "late").messages == [USER, late, *between[1:]]
    assert sent([USER, REASONING, CALL, OUTPUT], "stable", "late").messages == [late, USER, REASONING, CALL, OUTPUT]


@pytest.mark.requirement("INJECT-4", "INJECT-7")
def test_an_id_used_twice_is_renamed_with_its_output() -> None:
    """Both copies only; the caller's own dicts stay as they were."""
    raw = [USER, CALL, OUTPUT, CALL, {**OUTPUT, "output": "43"}]
    before = copy.deepcopy(raw)
    out = sent(raw).messages
    assert out[1] is CALL
    assert [item["call_id"] for item in out[1:]] == ["a", "a", "call_1", "call_1"]
    assert raw == before


@pytest.mark.requirement("HIST-1")
@pytest.mark.parametrize("between", [(), tuple(part | {"call_id": id} for id in "bc" for part in (CALL, OUTPUT))])
def test_a_late_output_belongs_to_the_first_call_under_its_id_whatever_stands_between(between: tuple[Any, ...]) -> None:
    """Of two calls that stand side by side under one id. So what a compaction takes away doesn't change who is answered."""
    two = [CALL | {"arguments": '{"n": 1}'}, CALL | {"id": "fc_2", "arguments": '{"n": 2}'}]
    _, first, second, *_ = sent([USER, *two, *between, USER, OUTPUT]).messages
    assert first["arguments"] == '{"n": 1}'
    assert second["role"] == "assistant"


@pytest.mark.requirement("INJECT-1", "INJECT-7")
def test_system_messages_at_the_start_join_the_instructions_and_others_stay_items() -> None:
    """A developer's message stays where it is, also in the middle."""
    developer, middle = {"role": "developer", "content": "d"}, {"role": "system", "content": "m"}
    wire = sent([{"role": "system", "content": "own"}, developer, USER, SAID, middle, USER], "stable")
    assert wire.system == "stable\n\nown"
    assert wire.messages == [developer, USER, SAID, middle, USER]
    assert sent([], "stable").messages == [{"role": "user", "content": "[Conversation start]"}]


@pytest.mark.requirement("INJECT-1", "INJECT-7")
def test_keys_that_are_germanes_or_another_apis_stay_behind() -> None:
    """Ids that the API gave are kept."""
    raw = [{**USER, "id": "m1", "name": "Ann", "created_at": 1}, {**SAID, "created_at": 1}, {**CALL, "id": "m3"}, OUTPUT]
    assert sent(raw).messages == [USER, SAID, {key: value for key, value in CALL.items() if key != "id"}, OUTPUT]


@pytest.mark.requirement("INJECT-7")
def test_pictures_and_files_of_other_apis_are_written() -> None:
    """What the API has no part for becomes a note."""
    content = [
        {"type": "image_url", "image_url": {"url": "https://x.test/a", "detail": "low"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    ]
    (message,) = sent([{"role": "user", "content": content}]).messages
    assert message["content"] == [
        {"type": "input_image", "image_url": "https://x.test/a", "detail": "low"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"},
        {"type": "input_file", "file_id": "file-1"},
        {"type": "input_text", "text": "[audio]"},
    ]


@pytest.mark.requirement("INJECT-4", "INJECT-7")
@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([], "no input"),
        ([{"role": "model", "content": "hi"}], "unknown role 'model'"),
        ([USER | {"name": "Ann"}], "unknown key 'name'"),
        ([{"role": "user", "content": []}], "content is an empty list"),
        ([{"role": "user", "content": None}], "content is NoneType"),
        ([{"role": "user", "content": [{"type": "text", "text": "x"}]}], "a part of type 'text' can't stand"),
        ([{"role": "user", "content": [{"type": "input_text"}]}], "a text part without text"),
        ([{"role": "user", "content": [{"type": "input_image"}]}], "an image without"),
        ([{"content": "x"}], "neither a role nor a type"),
        ([USER, CALL], "a call without an output: 'a'"),
        ([SAID, OUTPUT], "an output without its call: 'a'"),
        ([CALL, OUTPUT, OUTPUT], "an output without its call: 'a'"),
        ([CALL, {**OUTPUT, "type": "custom_tool_call_output"}], "an output without its call: 'a'"),
        ([CALL, CALL, OUTPUT], "a call's id used twice"),
        ([{**CALL, "name": "a b"}, OUTPUT], "the name isn't of the form"),
        ([{**CALL, "arguments": {}}, OUTPUT], "without arguments as text"),
        ([{**CALL, "call_id": "x" * 65}, {**OUTPUT, "call_id": "x" * 65}], "call_id isn't of the form"),
        ([CALL, {**OUTPUT, "output": 42}], "the output is neither text nor parts"),
        ([REASONING, USER], "reasoning without the item that follows"),
        ([USER, REASONING], "reasoning without the item that follows"),
        ([{"type": "item_reference"}], "item_reference without id"),
    ],
)
def test_the_api_refuses(items: list[dict[str, Any]], problem: str) -> None:
    """One problem each, named with its item."""
    assert any(problem in each for each in OpenAIResponses().problems(Wire(messages=items)))


def test_the_api_refuses_empty_instructions() -> None:
    """None is right where there are none."""
    assert OpenAIResponses().problems(Wire(messages=[USER], system=" ")) == ("instructions aren't text, or empty",)
    assert OpenAIResponses().problems(Wire(messages=list(ITEMS), system="x")) == ()


def test_an_item_without_type_and_role_is_told_of_both() -> None:
    """Most items have a type and no role."""
    with pytest.raises(InvalidInput, match="role is missing, and so is a type"):
        OpenAIResponses().parse({"text": "Hello"})
