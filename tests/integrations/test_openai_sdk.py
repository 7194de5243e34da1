"""OpenAI SDK: the transport with the real SDK against a strict local provider."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI

from germane import Agent, sync
from germane.integrations.openai_sdk import BlockingMemoryTransport, MemoryTransport, memory
from germane.ports.models import Embedder
from germane_testing.provider import Delivery, Failure, LocalProvider, Reply, ToolCall, answers, provider_in_thread

pytestmark = pytest.mark.requirement("ADAPT-1")
MODEL = "gpt-5.4"
SAID = "By e-mail, then."
FACT = "My greyhound Biscuit eats oolong tea leaves."
ASKS = "What does my greyhound Biscuit eat?"
AT_ONCE = (("retry-after-ms", "1"),)
Ask = Callable[..., Any]


@pytest.fixture
def provider() -> Iterator[LocalProvider]:
    with provider_in_thread(keep_alive=False, rule=answers(SAID)) as served:
        yield served


@pytest.fixture
def agent(embedder: Embedder) -> Iterator[sync.Agent]:
    with sync.Germane.open(":memory:", embedder=embedder) as opened:
        yield opened.agent("support", user="caroline")


@pytest.fixture
def transport(agent: sync.Agent) -> BlockingMemoryTransport:
    return memory(agent, session="tuesday")


@pytest.fixture
def client(provider: LocalProvider, transport: BlockingMemoryTransport) -> Iterator[OpenAI]:
    with opened(provider, transport) as client:
        yield client


def opened(provider: LocalProvider, transport: BlockingMemoryTransport) -> OpenAI:
    return OpenAI(base_url=f"{provider.url}/v1", api_key="none", http_client=DefaultHttpxClient(transport=transport))


def chat(client: OpenAI, text: str, **options: Any) -> Any:
    return client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": text}], **options)


def respond(client: OpenAI, text: str, **options: Any) -> Any:
    return client.responses.create(model=MODEL, input=text, **options)


both = pytest.mark.parametrize("ask", [chat, respond])


def kept(agent: sync.Agent, session: str = "tuesday") -> list[str]:
    return [one.text for one in reversed(agent.messages(session).messages)]


def own_words(body: dict[str, Any]) -> Any:
    return body["input"] if "input" in body else body["messages"]


@both
def test_what_one_conversation_said_is_known_in_the_next(
    ask: Ask, client: OpenAI, transport: BlockingMemoryTransport, provider: LocalProvider, agent: sync.Agent
) -> None:
    """The headers name session and user of a call, and don't reach the provider."""
    ask(client, FACT, extra_headers={"X-Germane-Session": "monday", "X-Germane-User": "caroline"})
    assert transport.flush()
    ask(client, ASKS)
    assert transport.flush()
    first, second = provider.bodies
    assert own_words(first) in ([{"role": "user", "content": FACT}], FACT)
    assert FACT in str(own_words(second))
    assert ASKS in str(own_words(second))
    assert kept(agent, "monday") == [FACT, SAID]
    assert kept(agent) == [ASKS, SAID]
    assert not [name for one in provider.requests for name, _ in one.headers if b"germane" in name.lower()]
    assert provider.refused == []


@both
def test_where_nothing_is_known_the_bytes_are_the_sdks(ask: Ask, client: OpenAI, provider: LocalProvider) -> None:
    """Also behind a proxied call with germane's headers."""
    with OpenAI(base_url=f"{provider.url}/v1", api_key="none") as plain:
        ask(plain, "Grüße, “Biscuit”", temperature=1.0)
    ask(client, "Grüße, “Biscuit”", temperature=1.0, extra_headers={"X-Germane-Session": "monday"})
    first, second = provider.requests
    assert first.body == second.body
    assert [name for name, _ in first.headers] == [name for name, _ in second.headers]


@both
@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_a_stream_is_relayed_as_it_came_and_recorded(
    ask: Ask, encoding: Any, client: OpenAI, transport: BlockingMemoryTransport, provider: LocalProvider, agent: sync.Agent
) -> None:
    """Byte for byte; the words are put together from a copy, the calls too."""
    call = ToolCall("order", {"item": "vase"})
    delivery = Delivery(characters=3, encoding=encoding) if encoding else Delivery(characters=3)
    provider.script += [Reply("One moment.", call, delivery=delivery), Reply("One moment.", call, delivery=delivery)]
    function = {"name": "order", "parameters": {"type": "object", "properties": {}}}
    tool = {"type": "function", "function": function} if ask is chat else {"type": "function", "strict": False, **function}
    api: Any = client.chat.completions if ask is chat else client.responses
    asked = {"messages" if ask is chat else "input": [{"role": "user", "content": ASKS}]}
    with api.with_streaming_response.create(model=MODEL, stream=True, tools=[tool], **asked) as response:
        raw = b"".join(response.http_response.iter_raw())
    assert raw == provider.requests[0].sent
    assert transport.flush()
    assert kept(agent) == [ASKS, 'One moment.\norder({"item": "vase"})'] or kept(agent) == [
        ASKS,
        "One moment.",
        'order({"item": "vase"})',
    ]
    assert len([1 for _ in ask(client, ASKS, stream=True, tools=[tool])]) > 5


@both
def test_of_a_stream_that_is_closed_early_the_words_that_came_are_recorded(
    ask: Ask, client: OpenAI, transport: BlockingMemoryTransport, provider: LocalProvider, agent: sync.Agent
) -> None:
    """Once."""
    provider.script += [Reply("One two three four five six", delivery=Delivery(characters=4, writes=(64,)))]
    stream = ask(client, "Count.", stream=True)
    for event in stream:
        if "thre" in str(event):
            break
    stream.close()
    assert transport.flush()
    first, second = kept(agent)
    assert first == "Count."
    assert second.startswith("One two thr")


@both
@pytest.mark.parametrize("status", [500, 429])
def test_a_retry_carries_the_same_texts_and_the_turn_is_recorded_once(
    ask: Ask, client: OpenAI, transport: BlockingMemoryTransport, provider: LocalProvider, agent: sync.Agent, status: int
) -> None:
    """The transport sees each attempt."""
    agent.remember(FACT)
    provider.script += [Failure(status, headers=AT_ONCE), Failure(status, headers=AT_ONCE)]
    ask(client, ASKS)
    assert transport.flush()
    first, second, third = [one.body for one in provider.requests]
    assert FACT in str(json.loads(first))
    assert first == second == third
    assert kept(agent) == [ASKS, SAID]


@both
def test_an_error_of_the_provider_is_the_sdks_own(
    ask: Ask, client: OpenAI, transport: BlockingMemoryTransport, provider: LocalProvider, agent: sync.Agent
) -> None:
    """Nothing is recorded of it."""
    provider.script += [Failure(400, "no such thing")]
    with pytest.raises(openai.BadRequestError, match="no such thing"):
        ask(client, FACT)
    assert transport.flush()
    assert kept(agent) == []


def test_tools_over_turns_of_chat(
    client: OpenAI, transport: BlockingMemoryTransport, provider: LocalProvider, agent: sync.Agent
) -> None:
    """Each message is recorded once, however often it is sent; the texts of earlier turns stay where they are."""
    agent.remember(FACT)
    tool: Any = {"type": "function", "function": {"name": "order", "parameters": {"type": "object", "properties": {}}}}
    history: list[Any] = []
    for turn in range(3):
        history.append({"role": "user", "content": f"{ASKS} That is question {turn}."})
        provider.script += [Reply(ToolCall("order", {})), Reply(f"Leaves, {turn}.")]
        for _ in range(2):
            message = client.chat.completions.create(model=MODEL, messages=history, tools=[tool]).choices[0].message
            history.append(message)
            calls = message.tool_calls or ()
            history += [{"role": "tool", "tool_call_id": call.id, "content": f"ordered {turn}"} for call in calls]
    assert transport.flush()
    assert provider.refused == []
    assert len(kept(agent)) == 12
    sent = [body["messages"] for body in provider.bodies]
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(sent))


def test_of_a_response_that_the_provider_holds_only_the_new_words_are_touched(
    client: OpenAI, transport: BlockingMemoryTransport, provider: LocalProvider, agent: sync.Agent
) -> None:
    """Outputs of calls go as they came; the instructions, which the provider doesn't hold, come each time."""
    agent.directive("Be kind.")
    agent.remember(FACT)
    tool: Any = {"type": "function", "name": "order", "parameters": {"type": "object", "properties": {}}, "strict": False}
    provider.script += [Reply(ToolCall("order", {})), Reply("Ordered.")]
    first = respond(client, ASKS, tools=[tool], instructions="Be brief.")
    output: Any = {"type": "function_call_output", "call_id": first.output[-1].call_id, "output": "done"}
    client.responses.create(model=MODEL, previous_response_id=first.id, input=[output], tools=[tool], instructions="Be brief.")
    assert transport.flush()
    assert provider.refused == []
    asked, answered = [one.json() for one in provider.requests]
    assert FACT in str(asked["input"])
    assert answered["input"] == [output]
    assert all("Be kind." in body["instructions"] and "Be brief." in body["instructions"] for body in (asked, answered))
    assert kept(agent) == [ASKS, "order({})", "done", "Ordered."]


def test_several_answers_are_recorded_with_the_chosen_one(
    client: OpenAI, transport: BlockingMemoryTransport, agent: sync.Agent
) -> None:
    """Which one that is, the next request tells."""
    chat(client, FACT, n=2)
    assert transport.flush()
    assert kept(agent) == [FACT]


def test_other_requests_go_as_they_came(client: OpenAI, provider: LocalProvider, agent: sync.Agent) -> None:
    """Lists, stored responses, and what has no JSON."""
    agent.directive("Be kind.")
    client.models.list()
    client.post("/embeddings", body={"model": MODEL, "input": FACT}, cast_to=object)
    client.files.create(file=b"text", purpose="user_data", extra_headers={"X-Germane-Session": "monday"})
    assert provider.requests[1].json() == {"model": MODEL, "input": FACT}
    assert b"text" in provider.requests[2].body
    assert not [name for one in provider.requests for name, _ in one.headers if b"germane" in name.lower()]


@pytest.mark.parametrize("ask", [chat, respond])
def test_an_engine_that_fails_stops_no_request(
    ask: Ask, provider: LocalProvider, agent: sync.Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the caller sent is answered."""

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("out of order")

    for name in ("assemble", "fallback", "record"):
        monkeypatch.setattr(agent, name, fail, raising=True)
    with opened(provider, memory(agent, session="tuesday")) as client:
        ask(client, FACT)
    assert own_words(provider.bodies[0]) in ([{"role": "user", "content": FACT}], FACT)


async def test_the_asynchronous_client(germane: Any, provider: LocalProvider) -> None:
    """Closing it waits for what is still to be recorded."""
    agent: Agent = germane.agent("support", user="caroline")
    for session, text in (("monday", FACT), ("tuesday", ASKS)):
        transport = memory(agent, session=session)
        http = DefaultAsyncHttpxClient(transport=transport)
        async with AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none", http_client=http) as client:
            asked: Any = [{"role": "user", "content": text}]
            stream: Any = await client.chat.completions.create(model=MODEL, messages=asked, stream=True)
            assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]) == SAID
    assert FACT in str(provider.bodies[-1]["messages"])
    assert [one.text for one in (await agent.messages("tuesday")).messages] == [SAID, ASKS]


async def test_a_hanging_engine_stops_no_asynchronous_request(germane: Any, provider: LocalProvider) -> None:
    """Neither does one whose fallback hangs."""
    agent: Any = germane.agent("support", user="caroline")

    async def hang(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    agent.assemble = agent.fallback = hang
    http = DefaultAsyncHttpxClient(transport=MemoryTransport(agent, session="tuesday", deadline=0.01))
    async with AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none", http_client=http) as client:
        reply: Any = await client.responses.create(model=MODEL, input=FACT)
    assert reply.output_text == SAID
    assert provider.bodies[0]["input"] == FACT
