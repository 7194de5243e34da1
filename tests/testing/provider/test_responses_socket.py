"""The local provider's WebSocket of the Responses API, with OpenAI's own SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAI

from germane_testing.provider import (
    DROP,
    Delivery,
    Failure,
    LocalProvider,
    Reply,
    Thinking,
    ToolCall,
    local_provider,
    provider_in_thread,
)

TOOLS: list[Any] = [{"type": "function", "name": "order", "parameters": {"type": "object", "properties": {}}, "strict": False}]


class Gate:
    """A provider's sleep that passes when the test says so."""

    def __init__(self) -> None:
        self.passes = asyncio.Semaphore(0)

    async def __call__(self, seconds: float) -> None:
        await self.passes.acquire()


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
async def provider(gate: Gate) -> AsyncIterator[LocalProvider]:
    async with local_provider(sleep=gate) as provider:
        yield provider


@pytest.fixture
async def connection(provider: LocalProvider) -> AsyncIterator[Any]:
    async with AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none") as client, client.responses.connect() as connection:
        yield connection


async def until(connection: Any, *kinds: str) -> list[Any]:
    """The events up to the first of one of these kinds."""
    events: list[Any] = []
    while not events or events[-1].type not in kinds:
        events.append(await connection.recv())
    return events


ENDS = ("response.completed", "response.incomplete", "error")


async def test_a_response_comes_as_events(connection: Any, provider: LocalProvider) -> None:
    """The same that a stream has, as frames; the provider records what was sent to it."""
    await connection.response.create(model="gpt-5.4", input="When?")
    events = await until(connection, *ENDS)
    assert events[-1].response.output_text == "You said: When?"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    (received,) = provider.requests
    assert (received.protocol, received.method, received.status) == ("responses", "GET", 101)
    assert json.loads(received.frames[0]) == {"type": "response.create", "model": "gpt-5.4", "input": "When?"}


async def test_a_response_that_isnt_stored_goes_on_in_its_connection(connection: Any, provider: LocalProvider) -> None:
    """And in no other."""
    await connection.response.create(model="m", input="I'm Ana.", store=False, tools=TOOLS)
    first = (await until(connection, *ENDS))[-1].response
    call = first.output[-1]
    output = [{"type": "function_call_output", "call_id": call.call_id, "output": "ordered"}]
    await connection.response.create(model="m", input=output, previous_response_id=first.id, tools=TOOLS, store=False)
    assert (await until(connection, *ENDS))[-1].response.output_text == "You said: I'm Ana."
    async with AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none") as client, client.responses.connect() as other:
        await other.response.create(model="m", input="And?", previous_response_id=first.id)
        error = (await until(other, *ENDS))[-1]
    assert (error.type, error.status, error.error.code) == ("error", 400, "previous_response_not_found")


async def test_a_warm_up_says_nothing(connection: Any) -> None:
    """`generate: false` gives an id that the next request continues, and its tokens are cached then."""
    await connection.response.create(model="m", input="Known: " + "tea " * 200, generate=False)
    first = (await until(connection, *ENDS))[-1].response
    assert (first.output, first.usage.output_tokens) == ([], 0)
    await connection.response.create(model="m", input="And?", previous_response_id=first.id)
    second = (await until(connection, *ENDS))[-1].response
    assert second.output_text == "You said: And?"
    assert second.usage.input_tokens_details.cached_tokens > 150


async def test_a_steered_response_ends_at_a_boundary_and_has_a_successor(
    connection: Any, provider: LocalProvider, gate: Gate
) -> None:
    """The input is accepted, the item at hand is finished, and the successor knows the new words."""
    provider.script.append(Reply(Thinking("Hm."), "A long answer.", delivery=Delivery(pause=1.0)))
    await connection.response.create(model="m", input="Sum up.")
    first = (await until(connection, "response.created"))[-1].response
    await connection.response.steer(previous_response_id=first.id, input="In French, please.")
    accepted = (await until(connection, "response.steer.accepted"))[-1]
    for _ in range(9):
        gate.passes.release()
    ended = (await until(connection, *ENDS))[-1]
    assert (ended.type, ended.response.incomplete_details.reason) == ("response.incomplete", "steered")
    assert [item.type for item in ended.response.output] == ["reasoning"]
    successor = (await until(connection, *ENDS))[-1].response
    assert successor.output_text == "You said: In French, please."
    assert successor.previous_response_id == first.id == accepted.steer.previous_response_id


async def test_steering_waits_for_the_results_of_tools(connection: Any, provider: LocalProvider, gate: Gate) -> None:
    """The client is told what is needed, and its next request carries the queued words."""
    provider.script.append(Reply(ToolCall("order", {}), delivery=Delivery(pause=1.0)))
    await connection.response.create(model="m", input="Order one.", tools=TOOLS)
    first = (await until(connection, "response.created"))[-1].response
    await connection.response.steer(previous_response_id=first.id, input=[{"role": "user", "content": "A blue one."}])
    await until(connection, "response.steer.accepted")
    for _ in range(9):
        gate.passes.release()
    pending = (await until(connection, "response.steer.pending"))[-1]
    (needed,) = pending.required_input
    assert (needed.type, needed.name) == ("function_call_output", "order")
    output = [{"type": "function_call_output", "call_id": needed.call_id, "output": "ordered"}]
    await connection.response.create(model="m", input=output, previous_response_id=first.id)
    assert (await until(connection, *ENDS))[-1].response.output_text == "You said: A blue one."


async def test_steering_that_cant_be(connection: Any, provider: LocalProvider) -> None:
    """An unknown response, one that is done, and input that isn't a user's."""
    await connection.response.create(model="m", input="Hello")
    done = (await until(connection, *ENDS))[-1].response
    await connection.response.steer(previous_response_id="resp_lost", input="x")
    await connection.response.steer(previous_response_id=done.id, input="x")
    await connection.response.steer(previous_response_id=done.id, input=[{"role": "system", "content": "x"}])
    codes = [(await until(connection, "response.steer.failed"))[-1].error.code for _ in range(3)]
    assert codes == ["response_not_found", "response_already_completed", "invalid_input"]


async def test_lanes_run_side_by_side(connection: Any, provider: LocalProvider, gate: Gate) -> None:
    """A slow response holds its own lane alone, and the events name their lane; within a lane they keep their order."""
    provider.script += [Reply("slow", delivery=Delivery(wait=1.0)), "fast", "next"]
    for number, lane in enumerate("aab"):
        await connection.response.create(model="m", input=str(number), stream_id=lane)
    fast = (await until(connection, *ENDS))[-1]
    gate.passes.release()
    slow = (await until(connection, *ENDS))[-1]
    last = (await until(connection, *ENDS))[-1]
    ended = [(one.stream_id, one.response.output_text) for one in (fast, slow, last)]
    assert ended == [("b", "fast"), ("a", "slow"), ("a", "next")]


async def test_what_goes_wrong(connection: Any, provider: LocalProvider) -> None:
    """An error, a refusal, an event that nobody knows, an error within the events."""
    provider.script += [
        Failure(429, "Slow down.", "rate_limit_exceeded"),
        Reply("half", delivery=Delivery(error=Failure(500, "Lost.", "server_error"))),
    ]
    await connection.response.create(model="m", input="1")
    limited = (await until(connection, *ENDS))[-1]
    assert (limited.status, limited.error.code) == (429, "rate_limit_exceeded")
    await connection.response.create(model="m", input=[{"type": "function_call_output", "call_id": "x", "output": "y"}])
    assert "no tool call found" in (await until(connection, *ENDS))[-1].error.message
    await connection.send_raw(json.dumps({"type": "response.sing"}))
    assert "response.sing" in (await until(connection, *ENDS))[-1].error.message
    await connection.response.create(model="m", input="2")
    assert [event.type for event in await until(connection, *ENDS)][-2:] == ["response.in_progress", "error"]
    assert provider.refused == ["input[0]: no tool call found for x"]


async def test_a_connection_that_drops(provider: LocalProvider) -> None:
    """The client sees it end."""
    provider.script.append(DROP)
    async with (
        AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none") as client,
        client.responses.connect(max_retries=0) as connection,
    ):
        await connection.response.create(model="m", input="1")
        with pytest.raises(Exception, match=r"close|closed|no close frame"):
            await connection.recv()


def test_a_blocking_connection() -> None:
    with (
        provider_in_thread() as provider,
        OpenAI(base_url=f"{provider.url}/v1", api_key="none") as client,
        client.responses.connect() as connection,
    ):
        connection.response.create(model="m", input="When?")
        events = list[str]()
        while not events or events[-1] not in ENDS:
            events.append(connection.recv().type)
    assert events[-1] == "response.completed"
