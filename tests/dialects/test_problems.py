"""The validators name every reason for which a provider would refuse a request."""

from __future__ import annotations

from typing import Any

import pytest

from germane.dialects.registry import dialect
from germane.types.message import Wire

USER: dict[str, Any] = {"role": "user", "content": "hi"}
MARK = {"cache_control": {"type": "ephemeral"}}


def assistant(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}


def call(id: str = "a", name: str = "f", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(id: str = "a") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "42"}


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([], "no messages"),
        ([{"role": "model", "content": "hi"}], "unknown role 'model'"),
        ([{"role": "user", "content": None}], "no content"),
        ([{"role": "user", "content": []}], "content is an empty list"),
        ([{"role": "user", "content": 5}], "content is int"),
        ([{"role": "assistant", "content": None}], "no content"),
        ([USER | {"id": "1"}], "unknown key 'id'"),
        ([USER | {"name": "Ann Lee"}], "name isn't of the form"),
        ([{"role": "user", "content": [{"type": "image", "source": {}}]}], "a part of type 'image' can't stand"),
        ([{"role": "system", "content": [{"type": "image_url", "image_url": {"url": "https://x.test"}}]}], "can't stand"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///a"}}]}], "an image without a URL"),
        ([{"role": "user", "content": [{"type": "text"}]}], "a text part without text"),
        ([tool()], "tool result without its call"),
        ([assistant(call())], "tool calls at the end without a result: ['a']"),
        ([assistant(call()), USER, tool()], "message 1: tool calls before it without a result"),
        ([assistant(call()), tool(), tool()], "message 2: tool result without its call"),
        ([assistant(call(), call()), tool()], "two tool calls with the id 'a'"),
        ([assistant(call("")), tool("")], "a tool call without a fitting id"),
        ([assistant(call(name="a b")), tool()], "the function's name isn't of the form"),
        ([assistant(call(arguments={})), tool()], "arguments aren't text"),
        ([assistant(content="x")], "tool_calls is empty"),
    ],
)
def test_openai_refuses(messages: list[dict[str, Any]], problem: str) -> None:
    """One problem each, named with its message."""
    assert any(problem in each for each in dialect("openai").problems(Wire(messages=messages)))


def use(id: str = "a", name: str = "f", input: Any = ()) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": id, "name": name, "input": {} if input == () else input}],
    }


def result(id: str = "a", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, **fields}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


TEXT = {"type": "text", "text": "hi"}


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize(
    ("messages", "system", "problem"),
    [
        ([], None, "no messages"),
        ([{"role": "assistant", "content": "hi"}], None, "the first message isn't the user's"),
        ([{"role": "system", "content": "x"}, USER], None, "a system message can't stand there"),
        ([USER, {"role": "system", "content": "x"}, USER], None, "a system message can't stand there"),
        ([USER, {"role": "system", "content": [{"type": "image"}]}], None, "a system message holds text only"),
        ([USER, {"role": "model", "content": "x"}], None, "unknown role 'model'"),
        ([USER | {"name": "Ann"}], None, "unknown key 'name'"),
        ([{"role": "user", "content": " "}], None, "an empty text"),
        ([user()], None, "no content"),
        ([user({"type": "image_url"})], None, "no block the API knows"),
        ([user({"type": "thinking"})], None, "can't stand in a message of role user"),
        (
            [user({"type": "image", "source": {"type": "base64", "media_type": "text/plain"}})],
            None,
            "an image without a source",
        ),
        ([USER, use()], None, "tool calls at the end without a result"),
        ([USER, use(), USER], None, "message 2: tool results [] for the tool calls ['a']"),
        ([user(result())], None, "message 0: tool results ['a'] for the tool calls []"),
        ([USER, use(), user(TEXT, result())], None, "tool results after other blocks"),
        ([USER, use(), user(result(), result())], None, "tool results ['a', 'a']"),
        ([USER, use(), user(result()), use(), user(result())], None, "a tool call's id used twice"),
        ([USER, use("a b"), user(result("a b"))], None, "id or name isn't of the form"),
        ([USER, use(input=[]), user(result())], None, "input is no object"),
        ([USER, use(), user(result(content=5))], None, "content is neither text nor blocks"),
        ([USER, {"role": "assistant", "content": "so "}], None, "end in white space"),
        ([USER], "", "system is empty"),
        ([USER], [], "system is an empty list"),
        ([USER], [{"type": "image"}], "a block of system that isn't text"),
        ([user(TEXT | MARK, TEXT | MARK, TEXT | MARK)], [TEXT | MARK, TEXT | MARK], "5 cache_control marks"),
    ],
)
def test_anthropic_refuses(messages: list[dict[str, Any]], system: Any, problem: str) -> None:
    """One problem each, named with its message."""
    assert any(problem in each for each in dialect("anthropic").problems(Wire(messages=messages, system=system)))


SAID = {"role": "user", "parts": [{"text": "hi"}]}
ASKED = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]}


def answer(name: str = "f", **fields: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {}, **fields}}]}


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize(
    ("messages", "system", "problem"),
    [
        ([], None, "no contents"),
        ([{"role": "model", "parts": [{"text": "hi"}]}], None, "the first turn isn't the user's"),
        ([{"role": "assistant", "parts": [{"text": "hi"}]}], None, "unknown role 'assistant'"),
        ([SAID | {"id": "1"}], None, "unknown key 'id'"),
        ([{"role": "user", "parts": []}], None, "no parts"),
        ([{"role": "user", "parts": [{"text": ""}]}], None, "an empty text"),
        ([{"role": "user", "parts": [{}]}], None, "a part must hold one thing, not nothing"),
        ([{"role": "user", "parts": [{"inlineData": {"data": "AAAA"}}]}], None, "inlineData without a media type"),
        ([SAID, ASKED], None, "calls at the end without a response"),
        ([SAID, ASKED, SAID], None, "turn 2: responses [] for the calls ['f']"),
        ([answer()], None, "turn 0: responses ['f'] for the calls []"),
        ([SAID, ASKED, answer("g")], None, "responses ['g'] for the calls ['f']"),
        ([SAID, ASKED, answer(id="x")], None, "responses with ids no call has: ['x']"),
        ([SAID, ASKED, answer(response="42")], None, "arguments or response are no object"),
        ([{"role": "user", "parts": ASKED["parts"]}], None, "a functionCall can't stand in a turn of role user"),
        ([SAID, {"role": "model", "parts": [{"functionCall": {"name": "a b"}}]}, answer("a b")], None, "isn't of the form"),
        ([SAID], " ", "the system instruction is empty"),
        ([SAID], [], "the system instruction has no parts"),
        ([SAID], [{"text": ""}], "isn't text, or empty"),
    ],
)
def test_gemini_refuses(messages: list[dict[str, Any]], system: Any, problem: str) -> None:
    """One problem each, named with its turn."""
    assert any(problem in each for each in dialect("gemini").problems(Wire(messages=messages, system=system)))


@pytest.mark.parametrize(
    ("provider", "wire"),
    [
        ("openai", Wire(messages=[USER | {"name": "Ann"}, assistant(call(), call("b")), tool("b"), tool()])),
        (
            "openai",
            Wire(messages=[USER, {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}]),
        ),
        ("anthropic", Wire(messages=[USER, use(), user(result(), TEXT | MARK)], system=[TEXT | MARK])),
        ("gemini", Wire(messages=[SAID, ASKED, answer()], system="x")),
        ("gemini", Wire(messages=[SAID, {"role": "model", "parts": [{"text": "", "thoughtSignature": "s"}]}])),
    ],
)
def test_what_a_provider_takes_has_no_problems(provider: str, wire: Wire) -> None:
    """The validator isn't stricter than the API."""
    assert dialect(provider).problems(wire) == ()
