"""The official libraries see no difference between a direct call and one through the proxy, and neither does the provider."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import anthropic
import httpx2
import openai
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from germane_testing.provider import (
    DROP,
    Delivery,
    Failure,
    LocalProvider,
    Reply,
    Thinking,
    ToolCall,
    Verbatim,
    local_provider,
)
from germane_testing.provider.replies import Step
from support.proxying import proxying, upstreams_of

pytestmark = pytest.mark.requirement("PROXY-1", "PROXY-3")

ASKED: list[Any] = [{"role": "user", "content": "Wann öffnet das Lager? 🦊"}]
SCHEMA = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
CHAT: dict[str, Any] = {"model": "gpt-5.6", "messages": ASKED}
CHAT_TOOLS = [{"type": "function", "function": {"name": "order", "parameters": SCHEMA}}]
RESPONSE: dict[str, Any] = {"model": "gpt-5.6", "input": "When?"}
RESPONSE_TOOLS = [{"type": "function", "name": "order", "parameters": SCHEMA, "strict": True}]
CLAUDE: dict[str, Any] = {"model": "claude-opus-4-8", "max_tokens": 2000, "messages": ASKED}
CLAUDE_TOOLS: Any = [{"name": "order", "input_schema": SCHEMA}]
THINKS: Any = {"type": "enabled", "budget_tokens": 1024}
LIMITED = (("retry-after-ms", "1"), ("x-should-retry", "true"), ("request-id", "req_1"))
GONE = (("retry-after", "0"), ("x-should-retry", "false"))

Client: TypeAlias = AsyncOpenAI | AsyncAnthropic
Call: TypeAlias = Callable[[Any], Awaitable[Any]]


async def shown(answer: Any) -> Any:
    """An answer, or each event of a stream, as plain data."""
    if hasattr(answer, "__aiter__"):
        return [event.model_dump() async for event in answer]
    return answer.model_dump() if hasattr(answer, "model_dump") else answer


async def outcome(call: Call, client: Any) -> Any:
    """What a call returns, or the error that the library raises."""
    try:
        return await shown(await call(client))
    except (openai.APIError, anthropic.APIError) as error:
        status, headers = getattr(error, "status_code", None), getattr(getattr(error, "response", None), "headers", {})
        told = {name: headers.get(name) for name in ("retry-after", "retry-after-ms", "x-should-retry", "request-id")}
        return type(error).__name__, status, error.message, error.body, getattr(error, "request_id", None), told
    except httpx2.HTTPError as error:  # what Anthropic's library raises in the middle of a stream
        return type(error).__name__, str(error)


def create(kind: str, **given: Any) -> Call:
    async def call(client: Any) -> Any:
        if kind == "chat":
            return await client.chat.completions.create(**{**CHAT, **given})
        if kind == "responses":
            return await client.responses.create(**{**RESPONSE, **given})
        return await client.messages.create(**{**CLAUDE, **given})

    return call


async def raw_headers(client: AsyncOpenAI) -> Any:
    answer = await client.chat.completions.with_raw_response.create(**CHAT, extra_headers={"X-Title": "Lager"})
    own = ("date", "transfer-encoding", "connection", "keep-alive")
    return [pair for pair in answer.headers.multi_items() if pair[0] not in own], answer.status_code, answer.http_version


async def helper_stream(client: AsyncAnthropic) -> Any:
    async with client.messages.stream(**CLAUDE, tools=CLAUDE_TOOLS, thinking=THINKS) as stream:
        return [event.model_dump() async for event in stream], (await stream.get_final_message()).model_dump()


async def conversation(client: AsyncOpenAI) -> Any:
    first = await client.responses.create(**RESPONSE, store=True)
    again = await client.responses.create(model="gpt-5.6", input="And then?", previous_response_id=first.id)
    found = await client.responses.retrieve(first.id)
    await client.responses.delete(first.id)
    return first.model_dump(), again.model_dump(), found.model_dump()


async def models(client: Any) -> Any:
    return [model.model_dump() async for model in client.models.list()]


async def upload(client: Any) -> Any:
    """The provider's echo names its host; what it received is compared apart."""
    file = ("ä.txt", b"\x00\xff" * 50_000)
    if isinstance(client, AsyncOpenAI):
        return repr(type(await client.files.create(file=file, purpose="user_data")))
    return repr(type(await client.beta.files.upload(file=file)))


async def missing(client: AsyncOpenAI) -> Any:
    return await client.models.retrieve("nobody/has: this?")


async def counted(client: AsyncAnthropic) -> Any:
    return await client.messages.count_tokens(model=CLAUDE["model"], messages=ASKED)


ODD = Delivery(writes=(1, 7, 300), comments=True, crlf=True, unknown_events=True)
ZIPPED = Delivery(encoding="gzip", writes=(11,))
TALK = Reply(Thinking("Hm."), "Um sieben 🦊, ", ToolCall("order", {"item": "vase"}), headers=(("x-a", "1"), ("x-a", "2")))
OPENAI: dict[str, tuple[Call, Sequence[Step]]] = {
    "chat": (create("chat"), ["Um sieben."]),
    "chat with raw headers": (raw_headers, [TALK]),
    "chat with tools": (create("chat", tools=CHAT_TOOLS, n=2), [TALK]),
    "chat stream": (create("chat", stream=True, stream_options={"include_usage": True}, tools=CHAT_TOOLS), [TALK]),
    "chat stream in odd pieces": (create("chat", stream=True), [Reply("Um sieben 🦊.", delivery=ODD)]),
    "chat stream, compressed": (create("chat", stream=True), [Reply("Um sieben 🦊.", delivery=ZIPPED)]),
    "chat, compressed": (create("chat"), [Reply("Um sieben 🦊.", delivery=Delivery(encoding="deflate"))]),
    "a cut stream": (create("chat", stream=True), [Reply("Um sieben " * 50, delivery=Delivery(ends="cut", after=700))]),
    "an error in a stream": (create("chat", stream=True), [Reply("a b c", delivery=Delivery(error=Failure(500)))]),
    "responses": (create("responses", tools=RESPONSE_TOOLS), [TALK]),
    "responses stream": (create("responses", tools=RESPONSE_TOOLS, stream=True), [TALK]),
    "a conversation that the provider holds": (conversation, ["One.", "Two."]),
    "models": (models, []),
    "a model that is missing": (missing, []),
    "a file": (upload, []),
    "too many requests, twice": (create("chat"), [Failure(429, headers=LIMITED)] * 2 + ["Now."]),
    "too many requests for ever": (create("chat"), [Failure(429, headers=LIMITED)] * 3),
    "an error that isn't tried again": (create("chat"), [Failure(503, headers=GONE)]),
    "a request that is refused": (create("chat", messages=[]), []),
    "a key that isn't known": (create("responses"), [Failure(401, "Incorrect API key provided", "invalid_api_key")]),
    "garbage": (
        create("chat"),
        [Verbatim("<html>Bad gateway</html>", 502, (("content-type", "text/html"), ("retry-after-ms", "1"))), "Now."],
    ),
}
ANTHROPIC: dict[str, tuple[Call, Sequence[Step]]] = {
    "messages": (create("messages", tools=CLAUDE_TOOLS, thinking=THINKS), [TALK]),
    "messages stream": (create("messages", tools=CLAUDE_TOOLS, stream=True), [TALK]),
    "messages stream in odd pieces": (create("messages", stream=True), [Reply("Um sieben 🦊.", delivery=ODD)]),
    "the library's own stream": (helper_stream, [TALK]),
    "messages, compressed": (create("messages"), [Reply("Um sieben 🦊.", delivery=ZIPPED)]),
    "a cut stream": (create("messages", stream=True), [Reply("Um sieben " * 50, delivery=Delivery(ends="cut", after=700))]),
    "an error in a stream": (create("messages", stream=True), [Reply("a b c", delivery=Delivery(error=Failure(529)))]),
    "beta headers": (create("messages", extra_headers={"anthropic-beta": "a-2026,b-2025", "X-Odd": "1"}), ["Ja."]),
    "tokens": (counted, []),
    "models": (models, []),
    "a file": (upload, []),
    "overloaded, twice": (create("messages"), [Failure(529, headers=LIMITED)] * 2 + ["Now."]),
    "an error that isn't tried again": (create("messages"), [Failure(500, headers=GONE)]),
    "a request that is refused": (create("messages", messages=[{"role": "robot", "content": "x"}]), []),
}


@asynccontextmanager
async def both(make: Callable[[str], Client]) -> AsyncIterator[list[tuple[LocalProvider, Client]]]:
    """A provider that is called directly, and one behind the proxy; say the same to the same script."""
    async with (
        local_provider() as direct,
        local_provider() as behind,
        proxying(upstreams_of(local=behind.url)) as proxy,
        make(direct.url) as first,
        make(f"{proxy.url}/local") as second,
    ):
        yield [(direct, first), (behind, second)]


def from_openai(url: str) -> Client:
    return AsyncOpenAI(base_url=f"{url}/v1", api_key="sk-test", organization="acme")


def from_anthropic(url: str) -> Client:
    return AsyncAnthropic(base_url=url, api_key="sk-test")


def received(provider: LocalProvider) -> list[Any]:
    """What reached the provider, but for the host, the connection, and the boundary that a library makes up for a form."""
    found = []
    for one in provider.requests:
        headers, body = [pair for pair in one.headers if pair[0].lower() not in (b"host", b"connection")], one.body
        if boundary := (one.header("content-type") or "").partition("boundary=")[2].encode():
            headers, body = [(name, value.replace(boundary, b"-")) for name, value in headers], body.replace(boundary, b"-")
        found.append((one.method, one.target, headers, body, one.version))
    return found


def sent(provider: LocalProvider) -> list[bytes]:
    """What the provider answered, as far as it got; an echo names the host."""
    return [bytes(one.sent) for one in provider.requests if one.protocol != "other"]


@pytest.mark.parametrize(("make", "calls"), [(from_openai, OPENAI), (from_anthropic, ANTHROPIC)])
async def test_the_libraries_see_no_difference_and_neither_do_the_providers(
    make: Callable[[str], Client], calls: Mapping[str, tuple[Call, Sequence[Step]]]
) -> None:
    """Answers, streams, errors and retries."""
    async with both(make) as ((direct, first), (behind, second)):
        for named, (call, script) in calls.items():
            direct.script[:], behind.script[:] = script, script
            expected, found = await outcome(call, first), await outcome(call, second)
            assert json.dumps(found, default=repr) == json.dumps(expected, default=repr), named
            assert received(behind) == received(direct), named
            assert sent(behind) == sent(direct), named


@pytest.mark.parametrize("make", [from_openai, from_anthropic])
async def test_a_provider_that_drops_a_call_is_an_error_that_the_library_tries_again(make: Callable[[str], Client]) -> None:
    """Directly it sees a lost connection, through the proxy a 502; both are tried again, and then raised."""
    call = create("chat" if make is from_openai else "messages")
    async with both(make) as ((direct, first), (behind, second)):
        direct.script, behind.script = [DROP, "Now."], [DROP, "Now."]
        assert await outcome(call, first) == await outcome(call, second)
        assert len(behind.requests) == 2
