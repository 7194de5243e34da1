"""The local provider's chat completions, with OpenAI's own SDK: what it parses is what the provider was told to say."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, OpenAI, RateLimitError

from germane_testing.provider import (
    Failure,
    LocalProvider,
    Refusal,
    Reply,
    ToolCall,
    Usage,
    calls_tools,
    local_provider,
    provider_in_thread,
)

ASKED: list[Any] = [{"role": "user", "content": "Where is order 7? Ünïcödé 🦊"}]
ORDER: dict[str, Any] = {
    "type": "object",
    "properties": {"item": {"type": "string", "enum": ["vase"]}, "note": {"type": "string"}},
    "required": ["item"],
}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "order", "parameters": ORDER}}]


@pytest.fixture
async def provider() -> AsyncIterator[LocalProvider]:
    async with local_provider() as provider:
        yield provider


@pytest.fixture
async def client(provider: LocalProvider) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def blocking() -> Iterator[tuple[OpenAI, LocalProvider]]:
    with provider_in_thread() as provider, OpenAI(base_url=f"{provider.url}/v1", api_key="none") as client:
        yield client, provider


async def test_without_a_script_the_users_words_come_back(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """The same request gets the same words."""
    first, second = [await client.chat.completions.create(model="gpt-5.4", messages=ASKED) for _ in range(2)]
    assert first.choices[0].message.content == "You said: Where is order 7? Ünïcödé 🦊"
    assert first.choices == second.choices
    assert first.choices[0].finish_reason == "stop"
    assert provider.refused == []


async def test_a_tool_is_called_once(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """With the arguments that its schema requires; its result is answered with a text."""
    messages = list(ASKED)
    called = await client.chat.completions.create(model="gpt-5.4", messages=messages, tools=TOOLS)
    message = called.choices[0].message
    assert called.choices[0].finish_reason == "tool_calls"
    assert message.tool_calls is not None
    (call,) = message.tool_calls
    assert call.type == "function"
    assert (call.function.name, call.function.arguments) == ("order", '{"item": "vase"}')
    messages += [message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "sent"}]
    said = await client.chat.completions.create(model="gpt-5.4", messages=messages, tools=TOOLS)
    assert str(said.choices[0].message.content).startswith("You said: Where")
    assert provider.refused == []


async def test_a_stream_adds_up_to_the_same_message(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """Text, two calls at once, the reason to stop, and the usage in a chunk of its own."""
    calls = (ToolCall("order", {"item": "vase"}, id="a"), ToolCall("order", {"item": "ü" * 50}))
    provider.script += [Reply("Fünf Vasen — sofort.", *calls)] * 2
    whole = await client.chat.completions.create(model="gpt-5.4", messages=ASKED, tools=TOOLS)
    async with client.chat.completions.stream(
        model="gpt-5.4", messages=ASKED, tools=TOOLS, stream_options={"include_usage": True}
    ) as stream:
        streamed = await stream.get_final_completion()
    one, other = whole.choices[0].message, streamed.choices[0].message
    assert other.content == one.content == "Fünf Vasen — sofort."
    assert streamed.choices[0].finish_reason == "tool_calls"
    pairs = [[(call.function.name, call.function.arguments) for call in message.tool_calls or ()] for message in (one, other)]  # type: ignore[union-attr]
    assert pairs[0] == pairs[1]
    assert streamed.usage is not None
    assert whole.usage is not None
    assert streamed.usage.completion_tokens == whole.usage.completion_tokens


async def test_without_include_usage_a_stream_has_none(client: AsyncOpenAI) -> None:
    """And each chunk has one choice."""
    chunks = [chunk async for chunk in await client.chat.completions.create(model="m", messages=ASKED, stream=True)]
    assert all(chunk.usage is None and len(chunk.choices) == 1 for chunk in chunks)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks).endswith("🦊")


@pytest.mark.parametrize("stream", [False, True])
async def test_n_choices(client: AsyncOpenAI, provider: LocalProvider, stream: bool) -> None:
    """The second has words of its own, the third those of the first."""
    provider.script.append(Reply("one", others=(Reply("two"),)))
    said = ["", "", ""]
    if stream:
        async for chunk in await client.chat.completions.create(model="m", messages=ASKED, n=3, stream=True):
            for piece in chunk.choices:
                said[piece.index] += piece.delta.content or ""
    else:
        whole = await client.chat.completions.create(model="m", messages=ASKED, n=3)
        said = [str(choice.message.content) for choice in whole.choices]
    assert said == ["one", "two", "one"]


async def test_a_refusal_and_a_cut_answer(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """The refusal stands apart from the content, and a length says so."""
    provider.script += [Reply(Refusal("No.")), Reply("half", stop="length", usage=Usage(input=100, cached=10, output=20))]
    refused = (await client.chat.completions.create(model="m", messages=ASKED)).choices[0]
    assert (refused.message.content, refused.message.refusal, refused.finish_reason) == (None, "No.", "stop")
    cut = await client.chat.completions.create(model="m", messages=ASKED)
    assert cut.choices[0].finish_reason == "length"
    assert cut.usage is not None
    assert cut.usage.prompt_tokens_details is not None
    assert (cut.usage.prompt_tokens, cut.usage.prompt_tokens_details.cached_tokens, cut.usage.total_tokens) == (100, 10, 120)


async def test_a_forced_tool_is_called_although_a_result_stands(client: AsyncOpenAI) -> None:
    """`tool_choice` wins over the rule, and "none" leaves the tools alone."""
    forced = await client.chat.completions.create(
        model="m", messages=ASKED, tools=TOOLS, tool_choice={"type": "function", "function": {"name": "order"}}
    )
    none = await client.chat.completions.create(model="m", messages=ASKED, tools=TOOLS, tool_choice="none")
    assert forced.choices[0].message.tool_calls
    assert none.choices[0].message.content


async def test_a_custom_tool_gets_a_text(client: AsyncOpenAI) -> None:
    """As its type says."""
    tools: list[Any] = [{"type": "custom", "custom": {"name": "shell"}}]
    message = (await client.chat.completions.create(model="m", messages=ASKED, tools=tools)).choices[0].message
    assert message.tool_calls is not None
    assert message.tool_calls[0].type == "custom"
    assert message.tool_calls[0].custom.input == "text"


def test_a_blocking_client_retries_as_the_provider_tells_it(blocking: tuple[OpenAI, LocalProvider]) -> None:
    """The SDK waits as long as `retry-after-ms` says, and then sends the same bytes."""
    client, provider = blocking
    provider.script += [Failure(429, headers=(("retry-after-ms", "1"),)), Failure(500, headers=(("retry-after-ms", "1"),))]
    said = client.chat.completions.create(model="m", messages=ASKED)
    assert said.choices[0].message.content
    assert [received.status for received in provider.requests] == [429, 500, 200]
    assert len({received.body for received in provider.requests}) == 1
    assert provider.requests[2].header("x-stainless-retry-count") == "2"


def test_the_client_doesnt_retry_where_the_provider_says_so(blocking: tuple[OpenAI, LocalProvider]) -> None:
    """`x-should-retry: false`."""
    client, provider = blocking
    provider.script.append(Failure(429, "Slow down.", "rate_limit_exceeded", headers=(("x-should-retry", "false"),)))
    with pytest.raises(RateLimitError) as raised:
        client.chat.completions.create(model="m", messages=ASKED)
    assert (raised.value.code, raised.value.type, len(provider.requests)) == ("rate_limit_exceeded", "rate_limit_error", 1)


async def test_what_isnt_valid_is_refused_with_its_reason(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """A result without its call; the script's step stays for the next request."""
    provider.script.append("later")
    wrong: list[Any] = [*ASKED, {"role": "tool", "tool_call_id": "lost", "content": "sent"}]
    with pytest.raises(BadRequestError, match="result of no call"):
        await client.chat.completions.create(model="m", messages=wrong)
    assert provider.refused == ["messages[1]: result of no call"]
    assert provider.bodies == []
    assert (await client.chat.completions.create(model="m", messages=ASKED)).choices[0].message.content == "later"


async def test_calls_after_each_message_of_the_user() -> None:
    """Several at once, as agents of frameworks get them."""
    async with (
        local_provider(rule=calls_tools("By e-mail.", parallel=3, each_turn=True)) as provider,
        AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none") as client,
    ):
        messages: list[Any] = []
        for _ in range(2):
            messages += ASKED
            message = (await client.chat.completions.create(model="m", messages=messages, tools=TOOLS)).choices[0].message
            assert len(message.tool_calls or ()) == 3
            messages.append(message.model_dump(exclude_none=True))
            messages += [{"role": "tool", "tool_call_id": call.id, "content": "x"} for call in message.tool_calls or ()]
            message = (await client.chat.completions.create(model="m", messages=messages, tools=TOOLS)).choices[0].message
            assert message.content == "By e-mail."
            messages.append({"role": "assistant", "content": message.content})
        assert provider.refused == []


async def test_models(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """The list, and one of it."""
    listed = [model.id async for model in await client.models.list()]
    assert listed == list(provider.models)
    assert (await client.models.retrieve(listed[0])).id == listed[0]
