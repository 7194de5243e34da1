"""A WebSocket through the proxy is the WebSocket without it: messages, handshake, end. Only creates are touched."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from openai import AsyncOpenAI
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from germane.dialects.replies import read_reply
from germane.service.proxy.socket import Touched
from germane_testing.provider import Delivery, Failure, Reply, ToolCall, local_provider
from support.socket_proxying import create, echo, generated, opened, socket_proxying, until_closed, upstream_of

pytestmark = pytest.mark.requirement("PROXY-1")

SECRET = "sk-secret-of-the-caller"


async def events_of(connection: ClientConnection, count: int = 1) -> list[dict[str, Any]]:
    """The events up to the end of so many responses."""
    found = []
    while count:
        found.append(json.loads(await connection.recv()))
        count -= found[-1]["type"] in ("response.completed", "response.failed", "error")
    return found


async def upper(text: str, event: Mapping[str, Any]) -> Touched[str]:
    return Touched(text.replace("Hello", "HELLO"), "a call")


@pytest.mark.parametrize("reads", [False, True])
async def test_messages_pass_as_they_came_and_in_their_order(reads: bool) -> None:
    """Also where each is read: lanes may part what is sent at once, here each is answered before the next."""
    sent = generated(7, 1000)
    given = {"remembers": reads, "touch": unchanged if reads else None}
    async with upstream_of(echo) as url, socket_proxying(mine=url, given=given) as proxy, opened(proxy.url()) as connection:
        back = []
        for message in sent:
            await connection.send(message)
            back.append(await connection.recv())
    assert back == sent


async def unchanged(text: str, event: Mapping[str, Any]) -> Touched[str]:
    await asyncio.sleep(0)
    return Touched(text)


async def test_messages_sent_at_once_arrive_in_their_order() -> None:
    """Without lanes all of them, and of each lane its own; what has no lane keeps its place among all."""
    lanes = Random(5).choices(["a", "b", None], k=300)
    sent = [create(f"{number}", stream_id=lane) if lane else f"note {number}" for number, lane in enumerate(lanes)]
    random = Random(6)

    async def slowly(text: str, event: Mapping[str, Any]) -> Touched[str]:
        for _ in range(random.randrange(20)):
            await asyncio.sleep(0)
        return Touched(text)

    async with (
        upstream_of(echo) as url,
        socket_proxying(mine=url, given={"touch": slowly}) as proxy,
        opened(proxy.url()) as connection,
    ):
        for message in sent:
            await connection.send(message)
        back = [str(await connection.recv()) for _ in sent]
    for one in "ab":
        mine = [text for text, lane in zip(sent, lanes, strict=True) if lane in (one, None)]
        assert [text for text in back if f'"{one}"' in text or text.startswith("note")] == mine


async def test_the_sdk_sees_no_difference() -> None:
    """The same events as without the proxy, the same frames at the provider."""

    async def talk(base: str) -> tuple[list[str], list[str]]:
        async with AsyncOpenAI(base_url=base, api_key=SECRET) as client, client.responses.connect() as connection:
            events = []
            await connection.response.create(model="gpt-5.4", input="Hello.", stream_id="a")
            await connection.response.create(model="gpt-5.4", input="And you?", instructions="Be brief.")
            ends = 0
            while ends < 2:
                events.append((await connection.recv()).to_json())
                ends += '"response.completed"' in events[-1]
        return events, provider.requests[-1].frames

    async with local_provider() as provider:
        direct = await talk(f"{provider.url}/v1")
    async with local_provider() as provider, socket_proxying(openai=provider.url) as proxy:
        through = await talk(proxy.url("openai", "/v1", "http"))
        assert provider.refused == []
    assert through == direct


async def test_a_create_is_touched_and_its_response_is_told() -> None:
    """With what the function gave for it. The caller's own words are told, not those that were sent."""
    async with (
        local_provider() as provider,
        socket_proxying(openai=provider.url, given={"touch": upper, "remembers": True}) as proxy,
        opened(proxy.url("openai")) as connection,
    ):
        await connection.send(create())
        events = await events_of(connection)
    assert provider.bodies == [] or provider.refused == []
    assert provider.requests[0].frames == [create("HELLO.")]
    (told,) = proxy.responses
    assert (told.id, told.call, told.whole) == (events[0]["response"]["id"], "a call", True)
    assert told.messages == [{"role": "user", "content": "Hello."}]
    assert read_reply("openai-responses", told.reply.decode(), events=True) == events[-1]["response"]["output"]


async def test_a_warm_up_is_touched_and_its_words_are_told_with_what_continues_it() -> None:
    """The provider holds the touched words, and the create that continues them brings only its own."""
    async with (
        local_provider() as provider,
        socket_proxying(openai=provider.url, given={"touch": upper, "remembers": True}) as proxy,
        opened(proxy.url("openai")) as connection,
    ):
        await connection.send(create("Hello, prepared.", generate=False))
        warm = (await events_of(connection))[-1]["response"]
        assert warm["output"] == []
        await connection.send(create("Hello, said.", previous_response_id=warm["id"]))
        await events_of(connection)
    assert provider.refused == []
    assert provider.requests[0].frames[0] == create("HELLO, prepared.", generate=False)
    warmed, told = proxy.responses
    assert (warmed.generates, warmed.id, warmed.call) == (False, warm["id"], "a call")
    assert [message["content"] for message in told.messages] == ["Hello, prepared.", "Hello, said."]


TOOLS = [{"type": "function", "name": "order", "parameters": {"type": "object", "properties": {}}}]


@pytest.mark.parametrize("calls", [False, True])
async def test_words_that_steer_pass_untouched_and_are_told(calls: bool) -> None:
    """With the response that the provider begins by itself, or with the tool's result for which they wait."""
    go = asyncio.Event()
    first = Reply(ToolCall("order", {}) if calls else "One.", delivery=Delivery(pause=1))
    async with (
        local_provider(script=[first, "Two."], sleep=lambda seconds: go.wait()) as provider,
        socket_proxying(openai=provider.url, given={"touch": upper, "remembers": True}) as proxy,
        opened(proxy.url("openai")) as connection,
    ):
        await connection.send(create(tools=TOOLS, stream_id="a"))
        id = json.loads(await connection.recv())["response"]["id"]
        steer = json.dumps({"type": "response.steer", "input": "Hello again.", "previous_response_id": id})
        await connection.send(steer)
        assert json.loads(await connection.recv())["type"] == "response.steer.accepted"
        go.set()
        ended = (await events_of(connection))[-1]["response"]
        result = []
        if calls:
            assert json.loads(await connection.recv())["type"] == "response.steer.pending"
            result = [{"type": "function_call_output", "call_id": ended["output"][0]["call_id"], "output": "done"}]
            await connection.send(create(result, previous_response_id=id, tools=TOOLS, stream_id="a"))
        await events_of(connection)
    assert provider.refused == []
    assert provider.requests[0].frames[1] == steer
    assert [told.messages for told in proxy.responses] == [
        [{"role": "user", "content": "Hello."}],
        [{"role": "user", "content": "Hello again."}, *result],
    ]


async def test_what_is_touched_delays_only_its_own_lane() -> None:
    """Whoever comes later in the lane waits; whoever is in another doesn't."""
    go = asyncio.Event()

    async def touch(text: str, event: Mapping[str, Any]) -> Touched[str]:
        if event["stream_id"] == "slow" and "first" in text:
            await go.wait()
        return Touched(text)

    slow, late = create("first", stream_id="slow"), create("second", stream_id="slow")
    other, note = create("other", stream_id="quick"), "a note in no lane"
    async with (
        upstream_of(echo) as url,
        socket_proxying(mine=url, given={"touch": touch}) as proxy,
        opened(proxy.url()) as connection,
    ):
        for message in (slow, late, other):
            await connection.send(message)
        assert await connection.recv() == other
        await connection.send(note)
        go.set()
        assert [await connection.recv() for _ in range(3)] == [slow, late, note]


@pytest.mark.parametrize("hangs", [True, False])
@pytest.mark.requirement("PROXY-2")
async def test_a_create_that_cannot_be_touched_goes_as_it_came(hangs: bool, caplog: pytest.LogCaptureFixture) -> None:
    """After its time, or at once where the function fails. The log says so once, without a word of it."""

    async def touch(text: str, event: Mapping[str, Any]) -> Touched[str]:
        if hangs:
            await asyncio.Event().wait()
        raise ValueError(text)

    async with (
        local_provider() as provider,
        socket_proxying(openai=provider.url, touch_seconds=0.01, given={"touch": touch, "remembers": True}) as proxy,
        opened(proxy.url("openai")) as connection,
    ):
        for _ in range(2):
            await connection.send(create("Hello."))
            await events_of(connection)
    assert provider.requests[0].frames == [create("Hello.")] * 2
    assert [(told.call, told.messages[0]["content"]) for told in proxy.responses] == [(None, "Hello.")] * 2
    assert len(caplog.records) == 1
    assert "Hello" not in caplog.text


async def test_a_fault_in_what_is_told_a_response_is_no_fault_of_the_connection() -> None:
    def broken(response: object) -> None:
        raise ValueError

    async with local_provider() as provider, socket_proxying(openai=provider.url, given={"remembers": True}) as proxy:
        proxy.responses = type("Broken", (), {"append": staticmethod(broken)})()
        async with opened(proxy.url("openai")) as connection:
            for _ in range(2):
                await connection.send(create())
                assert (await events_of(connection))[-1]["type"] == "response.completed"


async def test_errors_of_the_provider_pass_and_nothing_is_told() -> None:
    """The response after it is."""
    failure = Failure(429, message="slow down", code="rate_limit_exceeded")
    async with (
        local_provider(script=[failure]) as provider,
        opened(provider.url.replace("http", "ws") + "/v1/responses") as connection,
    ):
        await connection.send(create("Refused."))
        direct = await connection.recv()
    async with (
        local_provider(script=[failure]) as provider,
        socket_proxying(openai=provider.url, given={"remembers": True}) as proxy,
        opened(proxy.url("openai")) as connection,
    ):
        await connection.send(create("Refused."))
        assert await connection.recv() == direct
        await connection.send(create("Taken."))
        await events_of(connection)
    assert [told.messages[0]["content"] for told in proxy.responses] == ["Taken."]


# The end of a connection.


async def test_an_upstream_that_dies_in_the_middle_is_a_connection_that_dies() -> None:
    """No close, no error of its own; what came is told."""
    cut = Reply("One two three.", delivery=Delivery(characters=4, ends="cut", after=1500))
    async with (
        local_provider(script=[cut]) as provider,
        socket_proxying(openai=provider.url, given={"remembers": True}) as proxy,
        opened(proxy.url("openai")) as connection,
    ):
        await connection.send(create())
        assert await until_closed(connection) == (1006, "")
        await proxy.ended.acquire()
    (told,) = proxy.responses
    assert not told.whole
    assert told.messages == [{"role": "user", "content": "Hello."}]


async def test_a_caller_that_dies_in_the_middle_ends_the_upstreams_connection(caplog: pytest.LogCaptureFixture) -> None:
    """It breaks off there too, and what came is told. Nobody has to hear of it."""
    seen: list[int | None] = []

    async def serving(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send('{"type": "response.created", "response": {"id": "r1"}}')
        await connection.send('{"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}')
        await connection.wait_closed()
        seen.append(connection.close_code)

    async with upstream_of(serving) as url, socket_proxying(mine=url, given={"remembers": True}) as proxy:
        async with opened(proxy.url()) as connection:
            await connection.send(create())
            await connection.recv()
            await connection.recv()
            connection.transport.abort()
        await proxy.ended.acquire()
    assert seen == [1006]
    (told,) = proxy.responses
    assert b"Hi" in told.reply
    assert not told.whole
    assert caplog.records == []


CLOSES = [(1000, ""), (1000, "done"), (1001, "bye"), (1008, "é" * 60), (1011, ""), (3000, "x"), (4999, "own"), (None, "")]


async def test_the_upstreams_close_reaches_the_caller() -> None:
    """Behind all that it sent."""
    closes = iter(CLOSES)

    async def serving(connection: ServerConnection) -> None:
        await connection.send("last words")
        await close(connection, *next(closes))

    async with upstream_of(serving) as url, socket_proxying(mine=url) as proxy:
        for code, reason in CLOSES:
            async with opened(proxy.url()) as connection:
                assert await connection.recv() == "last words"
                assert await until_closed(connection) == (1005 if code is None else code, reason)


async def test_the_callers_close_reaches_the_upstream() -> None:
    """Behind all that the caller sent."""
    seen = asyncio.Queue[object]()

    async def serving(connection: ServerConnection) -> None:
        seen.put_nowait(await connection.recv())
        await connection.wait_closed()
        seen.put_nowait((connection.close_code, connection.close_reason))

    async with upstream_of(serving) as url, socket_proxying(mine=url, given={"touch": unchanged}) as proxy:
        for code, reason in CLOSES:
            async with opened(proxy.url()) as connection:
                await connection.send(create())
                await close(connection, code, reason)
            assert [await seen.get(), await seen.get()] == [create(), (1005 if code is None else code, reason)]


async def test_the_callers_close_reaches_an_upstream_that_still_speaks() -> None:
    """What it says then reaches nobody."""
    seen = asyncio.Queue[object]()

    async def serving(connection: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            while True:
                await connection.send("more" * 5000)
        seen.put_nowait(connection.close_code)

    async with upstream_of(serving) as url, socket_proxying(mine=url, given={"remembers": True}) as proxy:
        for _ in range(20):
            async with opened(proxy.url(), max_queue=None) as connection:
                await connection.recv()
                await connection.close(3000, "enough")
            assert await seen.get() == 3000


async def close(connection: ClientConnection | ServerConnection, code: int | None, reason: str) -> None:
    if code is not None:
        await connection.close(code, reason)
    else:  # the library itself always gives a code
        connection.protocol.send_close()
        connection.send_data()
        await connection.wait_closed()


async def test_a_caller_that_closes_while_its_last_message_is_touched_has_it_sent() -> None:
    go = asyncio.Event()
    arrived = asyncio.Queue[object]()

    async def touch(text: str, event: Mapping[str, Any]) -> Touched[str]:
        await go.wait()
        return Touched(text)

    async def serving(connection: ServerConnection) -> None:
        async for message in connection:
            arrived.put_nowait(message)
        arrived.put_nowait(connection.close_code)

    async with upstream_of(serving) as url, socket_proxying(mine=url, given={"touch": touch}) as proxy:
        async with opened(proxy.url()) as connection:
            await connection.send(create())
        go.set()
        assert [await arrived.get(), await arrived.get()] == [create(), 1000]


async def test_fifty_connections_at_once() -> None:
    """Each has its own answers."""
    async with (
        local_provider() as provider,
        socket_proxying(openai=provider.url, given={"touch": unchanged, "remembers": True}) as proxy,
    ):

        async def talk(number: int) -> None:
            async with opened(proxy.url("openai")) as connection:
                for turn in range(3):
                    await connection.send(create(f"I am {number}, turn {turn}."))
                    output = (await events_of(connection))[-1]["response"]["output"]
                    assert f"I am {number}, turn {turn}." in output[0]["content"][0]["text"]

        await asyncio.gather(*map(talk, range(50)))
        assert provider.refused == []
    assert len(proxy.responses) == 150
