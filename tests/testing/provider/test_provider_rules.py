"""The local provider's rules: what each API refuses, what its SDK's types allow, and how long that takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_testing.provider import LocalProvider, Received, Reply, echoes, local_provider
from germane_testing.provider.answering import Ids, Speaks
from germane_testing.provider.anthropic_rules import anthropic_refuses
from germane_testing.provider.chat import ChatCompletions
from germane_testing.provider.fields import Body
from germane_testing.provider.gemini import Gemini, gemini_refuses
from germane_testing.provider.messages import Messages
from germane_testing.provider.openai_rules import chat_refuses, responses_refuses
from germane_testing.provider.prompt_cache import PromptCache
from germane_testing.provider.received import Refused
from germane_testing.provider.responses import Responses
from germane_testing.provider.stored_responses import StoredResponses
from germane_testing.provider.threads import Threads
from support.examples import examples
from support.steps import growth

USER = {"role": "user", "content": "Hello"}
CALL = {"id": "c1", "type": "function", "function": {"name": "order", "arguments": "{}"}}
ITEM = {"type": "function_call", "call_id": "c1", "name": "order", "arguments": "{}"}
USE = {"type": "tool_use", "id": "t1", "name": "order", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
RULES: dict[str, tuple[Callable[[Body], Iterator[str]], Body, str]] = {
    "chat": (chat_refuses, {"model": "m"}, "messages"),
    "responses": (responses_refuses, {"model": "m"}, "input"),
    "messages": (anthropic_refuses, {"model": "m", "max_tokens": 9}, "messages"),
    "gemini": (gemini_refuses, {}, "contents"),
}


def refused(protocol: str, given: Any, **options: Any) -> list[str]:
    refuses, fixed, key = RULES[protocol]
    return list(refuses({**fixed, key: given, **options}))


@pytest.mark.parametrize(
    ("protocol", "conversation", "options", "reason"),
    [
        ("chat", [USER], {"colour": 1}, "body: unknown field colour"),
        ("chat", [USER], {"stream_options": {"include_usage": True}}, "stream_options is only allowed when stream is enabled"),
        ("chat", [{"role": "nobody", "content": "x"}], {}, "messages[0]: role 'nobody'"),
        ("chat", [{**USER, "cache_control": {}}], {}, "messages[0]: unknown field cache_control"),
        ("chat", [{"role": "user", "content": [{"type": "tool_use"}]}], {}, "messages[0].content: type 'tool_use'"),
        ("chat", [USER, {"role": "assistant", "tool_calls": [CALL]}], {}, "calls ['c1'] without results"),
        ("chat", [USER], {"tools": [{"type": "function", "function": {"name": "a b"}}]}, "tools: the name of a tool has"),
        ("responses", [USER, ITEM], {}, "input[1]: no tool output found for c1"),
        ("responses", [{"type": "function_call_output", "call_id": "x", "output": ""}], {}, "no tool call found for x"),
        ("responses", [USER, {"type": "reasoning", "id": "rs", "summary": []}], {}, "reasoning without its required following"),
        ("responses", "x", {"previous_response_id": "r", "conversation": "c"}, "can't be used together"),
        ("responses", "x", {"background": True, "store": False}, "background responses must be stored"),
        ("responses", "x", {"generate": False}, "unknown field generate"),
        ("messages", [USER, {"role": "assistant", "content": [USE]}, USER], {}, "tool_use ids ['t1'] were found without"),
        ("messages", [{"role": "user", "content": [USE]}], {}, "tool_use in a message of user"),
        ("messages", [{"role": "assistant", "content": "x"}], {}, "the first message must be the user's"),
        ("messages", [USER], {"system": ""}, "system is empty"),
        ("messages", [USER], {"thinking": {"type": "loud"}}, "thinking: type 'loud'"),
        ("messages", [USER], {"tools": [{"name": "a"}]}, "tools[0]: input_schema is required"),
        ("messages", [USER], {"tools": [{"name": "a", "input_schema": {}}] * 2}, "tool names must be unique"),
        ("messages", [{"role": "user", "content": " "}], {}, "text content blocks must be non-empty"),
        ("gemini", [{"role": "model", "parts": [{"text": "x"}]}], {}, "role 'model' after ''"),
        ("gemini", [{"role": "user", "parts": [{"text": ""}]}], {}, "a part must hold one thing"),
    ],
)
def test_what_is_refused(protocol: str, conversation: Any, options: dict[str, Any], reason: str) -> None:
    """By the reason that is given."""
    assert any(reason in one for one in refused(protocol, conversation, **options)), refused(protocol, conversation, **options)


@pytest.mark.parametrize(
    ("protocol", "conversation"),
    [
        ("chat", [USER, {"role": "assistant", "tool_calls": [CALL]}, {"role": "tool", "tool_call_id": "c1", "content": "x"}]),
        ("chat", [{"role": "developer", "content": [{"type": "text", "text": "x"}]}, USER]),
        ("responses", [USER, ITEM, {"type": "function_call_output", "call_id": "c1", "output": "x"}]),
        ("responses", [USER, {"type": "reasoning", "id": "r", "summary": []}, {"role": "assistant", "content": "x"}]),
        ("messages", [USER, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [RESULT]}]),
        ("messages", [USER, {"role": "system", "content": "x"}, {"role": "assistant", "content": "y"}]),
        ("gemini", [{"role": "user", "parts": [{"text": "x"}]}]),
    ],
)
def test_what_is_taken(protocol: str, conversation: Any) -> None:
    """Nothing is said of it."""
    assert refused(protocol, conversation) == []


def test_an_output_may_answer_a_call_that_the_provider_holds() -> None:
    output = [{"type": "function_call_output", "call_id": "c1", "output": "x"}]
    assert list(responses_refuses({"model": "m", "input": output}, held=[ITEM])) == []


KEYS = ("role", "content", "type", "tool_calls", "function", "call_id", "id", "parts", "text", "x")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(("role", "content", "type", "tool_calls", "function", "call_id", "id", "parts", "text", "x")),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("protocol", RULES)
@examples(200)
@given(body=st.dictionaries(st.sampled_from(("model", "messages", "input", "contents", "tools", "system", "thinking")), JSON))
def test_a_body_of_any_shape_is_judged(protocol: str, body: dict[str, Any]) -> None:
    """The rules raise nothing, whatever stands where something else is expected."""
    for reason in RULES[protocol][0](body):
        assert isinstance(reason, str)


SPEAKS: dict[str, Callable[[], Speaks]] = {
    "chat": lambda: ChatCompletions(Ids(), PromptCache(), strict=False),
    "responses": lambda: Responses(Ids(), PromptCache(), StoredResponses(Ids()), strict=False, binding=None),
    "messages": lambda: Messages(Ids(), PromptCache(), Threads(), strict=False, binding=None),
    "gemini": lambda: Gemini(Ids(), PromptCache(), strict=False),
}
OPTIONS = (*("n", "include", "tool_choice", "toolConfig", "metadata", "diagnostics", "thread", "conversation", "store"), *KEYS)


@pytest.mark.parametrize("protocol", SPEAKS)
@examples(200)
@given(
    body=st.dictionaries(
        st.sampled_from((*OPTIONS, "messages", "input", "contents", "tools", "system", "thinking", "stream_options")), JSON
    )
)
def test_without_rules_a_body_of_any_shape_is_answered(protocol: str, body: dict[str, Any]) -> None:
    """Or refused: what the provider doesn't understand never is an error of its own."""
    speaks = SPEAKS[protocol]()
    received = Received("POST", "/x", "HTTP/1.1", (), b"")
    with suppress(Refused):
        asked = speaks.read(received, body)
        chosen = echoes(asked)
        assert isinstance(chosen, Reply)
        answer = speaks.answer(asked, chosen)
        json.dumps([answer.whole, list(answer.events)])
        answer.finish(True)


CONVERSATIONS: dict[str, Callable[[int], list[Body]]] = {
    "chat": lambda n: [
        USER,
        {"role": "assistant", "tool_calls": [{**CALL, "id": str(i)} for i in range(n)]},
        *({"role": "tool", "tool_call_id": str(i), "content": "x"} for i in range(n)),
    ],
    "responses": lambda n: [
        *({**ITEM, "call_id": str(i)} for i in range(n)),
        *({"type": "function_call_output", "call_id": str(i), "output": "x"} for i in range(n)),
    ],
    "messages": lambda n: [
        USER,
        {"role": "assistant", "content": [{**USE, "id": str(i)} for i in range(n)]},
        {"role": "user", "content": [{**RESULT, "tool_use_id": str(i)} for i in range(n)]},
    ],
    "gemini": lambda n: [{"role": ("user", "model")[i % 2], "parts": [{"text": "x"}]} for i in range(n)],
}


@pytest.mark.parametrize("protocol", CONVERSATIONS)
def test_the_rules_take_linear_time(protocol: str) -> None:
    """However many calls are made at once."""
    made = {n: CONVERSATIONS[protocol](n) for n in (200, 800)}
    assert growth(lambda n: refused(protocol, made[n]), 200) < 5


async def test_a_provider_that_isnt_strict_takes_what_it_can_read() -> None:
    """Unknown fields and odd roles pass; the body must be a JSON object all the same."""
    import aiohttp

    def sent(provider: LocalProvider, body: str) -> Any:
        return session.post(f"{provider.url}/v1/chat/completions", data=body)

    async with local_provider(strict=False) as provider, aiohttp.ClientSession() as session:
        async with sent(provider, '{"colour": 1, "messages": [{"role": "nobody"}, 7]}') as response:
            assert response.status == 200
        async with sent(provider, "[]") as response:
            assert response.status == 400
