"""A WebSocket through the proxy is the WebSocket without it: messages, handshake, end. Only creates are touched."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from openai import AsyncOpenAI
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.http11 import Request, Response

from germane.dialects.replies import read_reply
from germane.service.proxy.socket import Touched
from germane_testing.provider import Delivery, Failure, Reply, ToolCall, local_provider
from support.loopback import unused_port
from support.proxying import bare_upstream, exchanged
from support.socket_proxying import echo, opened, socket_proxying, upstream_of

pytestmark = pytest.mark.requirement("PROXY-1")

SECRET = "sk-secret-of-the-caller"


def create(words: Any = "Hello.", **fields: Any) -> str:
    return json.dumps({"type": "response.create", "model": "gpt-5.4", "input": words, **fields})


async def events_of(connection: ClientConnection, count: int = 1) -> list[dict[str, Any]]:
    """The events up to the end of so many responses."""
    found = []
    while count:
        found.append(json.loads(await connection.recv()))
        count -= found[-1]["type"] in ("response.completed", "response.failed", "error")
    return found


async def upper(text: str, event: Mapping[str, Any]) -> Touched[str]:
    return Touched(text.replace("Hello", "HELLO"), "a call")


async def until_closed(connection: ClientConnection) -> tuple[int | None, str | None]:
    try:
        while True:
            await connection.recv()
    except ConnectionClosed:
        return connection.close_code, connection.close_reason


def generated(seed: int, count: int) -> list[str | bytes]:
    """Messages of many kinds: events, almost events, odd characters, bytes, none at all."""
    random = Random(seed)
    texts = [
        "",
        "{}",
        "[]",
        "\u2028\ud7ff\U0001f600",
        '{"type": "response.steer"}',
        '{ "type" :"response.create"}',
        "\x00",
        "7",
    ]
    found: list[str | bytes] = []
    for number in range(count):
        match random.randrange(4):
            case 0:
                found.append(random.randbytes(random.choice([0, 1, 125, 126, 127, 5000, 70_000])))
            case 1:
                found.append(random.choice(texts))
            case 2:
                lane = random.choice(["a", "b", "", 7, None, ["a"]])
                found.append(create(f"words {number} é", stream_id=lane, n=10**30, q=1.0))
            case _:
                found.append("".join(map(chr, random.choices(range(1, 0xD7FF), k=random.choice([1, 60, 3000])))))
    return found


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
    (told,) = proxy.exchanges
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
    warmed, told = proxy.exchanges
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
    assert [told.messages for told in proxy.exchanges] == [
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
    assert [(told.call, told.messages[0]["content"]) for told in proxy.exchanges] == [(None, "Hello.")] * 2
    assert len(caplog.records) == 1
    assert "Hello" not in caplog.text


async def test_a_fault_in_what_is_told_a_response_is_no_fault_of_the_connection() -> None:
    def broken(exchange: object) -> None:
        raise ValueError

    async with local_provider() as provider, socket_proxying(openai=provider.url, given={"remembers": True}) as proxy:
        proxy.exchanges = type("Broken", (), {"append": staticmethod(broken)})()
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
    assert [told.messages[0]["content"] for told in proxy.exchanges] == ["Taken."]


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
    (told,) = proxy.exchanges
    assert not told.whole
    assert told.messages == [{"role": "user", "content": "Hello."}]


async def test_a_caller_that_dies_in_the_middle_ends_the_upstreams_connection() -> None:
    """It breaks off there too, and what came is told."""
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
    (told,) = proxy.exchanges
    assert b"Hi" in told.reply
    assert not told.whole


CLOSES = [(1000, ""), (1000, "done"), (1001, "bye"), (1008, "é" * 60), (1011, ""), (3000, "x"), (4999, "own"), (None, "")]


@pytest.mark.parametrize(("code", "reason"), CLOSES)
async def test_the_upstreams_close_reaches_the_caller(code: int | None, reason: str) -> None:
    async def serving(connection: ServerConnection) -> None:
        await connection.send("last words")
        await close(connection, code, reason)

    async with upstream_of(serving) as url, socket_proxying(mine=url) as proxy, opened(proxy.url()) as connection:
        assert await connection.recv() == "last words"
        assert await until_closed(connection) == (1005 if code is None else code, reason)


@pytest.mark.parametrize(("code", "reason"), CLOSES)
async def test_the_callers_close_reaches_the_upstream(code: int | None, reason: str) -> None:
    """Behind all that the caller sent."""
    seen: list[object] = []

    async def serving(connection: ServerConnection) -> None:
        seen.append(await connection.recv())
        await connection.wait_closed()
        seen.append((connection.close_code, connection.close_reason))

    async with upstream_of(serving) as url, socket_proxying(mine=url, given={"touch": unchanged}) as proxy:
        async with opened(proxy.url()) as connection:
            await connection.send(create())
            await close(connection, code, reason)
        await proxy.ended.acquire()
    assert seen == [create(), (1005 if code is None else code, reason)]


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


# The handshake.


async def test_the_upstream_gets_the_callers_headers_and_query() -> None:
    """As they are written, in their order. Germane's own don't go."""
    seen: list[Request] = []

    async def serving(connection: ServerConnection) -> None:
        assert connection.request is not None
        seen.append(connection.request)

    headers = [
        ("Authorization", f"Bearer {SECRET}"),
        ("OpenAI-Beta", "a=1"),
        ("X-Germane-Key", "ours"),
        ("x-germane-user", "ana"),
        ("OpenAI-Beta", "b=2"),
        ("x-Odd-Case", "é".encode().decode("latin-1")),
    ]
    async with upstream_of(serving, subprotocols=["two"]) as url, socket_proxying(mine=url) as proxy:
        target = proxy.url(path="/agent:a/v1/responses?model=gpt-5.4&x=%2F")
        async with opened(
            target, additional_headers=headers, subprotocols=["one", "two"], user_agent_header="mine/1"
        ) as connection:
            await until_closed(connection)
            assert connection.subprotocol == "two"
            assert connection.request is not None
            own = connection.request.headers
    (request,) = seen
    assert request.path == "/v1/responses?model=gpt-5.4&x=%2F"
    changed = ("host", "connection", "upgrade", "sec-websocket-key", "x-germane-key", "x-germane-user")
    written, arrived = (
        [(name, value.encode(errors="surrogateescape")) for name, value in one.raw_items() if name.lower() not in changed]
        for one in (own, request.headers)
    )
    assert arrived == written
    assert [name.lower() for name, _ in request.headers.raw_items() if name.lower() in changed] == [
        "host",
        "sec-websocket-key",
        "connection",
        "upgrade",
    ]
    assert request.headers["Host"] in url


async def test_the_answer_to_the_handshake_has_the_upstreams_headers() -> None:
    def answer(connection: ServerConnection, request: Request, response: Response) -> None:
        response.headers["X-Request-Id"] = "req_1"
        response.headers["x-odd-Case"] = "1"
        response.headers["x-odd-Case"] = "2"

    async with (
        upstream_of(echo, process_response=answer) as url,
        socket_proxying(mine=url) as proxy,
        opened(proxy.url()) as connection,
    ):
        assert connection.response is not None
        shown = list(connection.response.headers.raw_items())
    assert [one for one in shown if one[0].lower().startswith("x-")] == [
        ("X-Request-Id", "req_1"),
        ("x-odd-Case", "1"),
        ("x-odd-Case", "2"),
    ]
    assert len([name for name, _ in shown if name.lower() in ("date", "server", "upgrade", "connection")]) == 4


@pytest.mark.parametrize("status", [401, 403, 404, 426, 429, 503, 302])
async def test_a_refused_handshake_is_refused_in_the_upstreams_words(status: int) -> None:
    """Status, headers, body. A redirect isn't followed."""
    body = b'{"error": {"message": "no", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}}'

    def refuse(connection: ServerConnection, request: Request) -> Response:
        response = connection.respond(status, "")
        response.headers["X-Request-Id"] = "req_1"
        response.headers["retry-after-ms"] = "7"
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(body))
        if status == 302:
            response.headers["Location"] = f"{url}/elsewhere"
        response.body = body
        refused.append(request.path)
        return response

    refused: list[str] = []
    async with upstream_of(echo, process_request=refuse) as url, socket_proxying(mine=url) as proxy:
        with pytest.raises(InvalidStatus) as caught:
            await opened(proxy.url())
        response = caught.value.response
    assert (response.status_code, response.body) == (status, body)
    assert (response.headers["X-Request-Id"], response.headers["retry-after-ms"]) == ("req_1", "7")
    assert refused == ["/v1/responses"]


async def test_an_upstream_that_cannot_be_reached_is_said_in_the_providers_shape() -> None:
    """Before the handshake, so that no client takes it for an answer."""
    async with socket_proxying(mine=f"http://127.0.0.1:{unused_port()}") as proxy:
        with pytest.raises(InvalidStatus) as caught:
            await opened(proxy.url())
    response = caught.value.response
    assert response.status_code == 502
    assert json.loads(response.body)["error"]["code"] == "upstream_unreachable"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: no\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\n" + b"x" * (1 << 21),
        b"HTTP/1.1 401 No\r\ncontent-length: 100\r\n\r\nshort",
        b"nonsense\r\n\r\n",
        b"",
    ],
)
async def test_an_upstream_that_is_no_websocket_is_a_bad_gateway(answer: bytes) -> None:
    """Whatever it says."""

    async def say(message: object, reader: object, writer: asyncio.StreamWriter) -> bool:
        writer.write(answer)
        return False

    async with bare_upstream(say) as upstream, socket_proxying(mine=upstream.url) as proxy:
        with pytest.raises(InvalidStatus) as caught:
            await opened(proxy.url())
        assert caught.value.response.status_code == 502
        await upstream.ended.acquire()


# Compression.


async def test_compression_is_asked_of_the_upstream_where_the_caller_offers_it() -> None:
    """Between the caller and the proxy there is none."""
    sent = generated(8, 100)
    async with upstream_of(extensions_then_echo, compression="deflate") as url, socket_proxying(mine=url) as proxy:
        async with opened(proxy.url(), compression="deflate") as connection:
            assert await connection.recv() == "permessage-deflate"
            assert connection.protocol.extensions == []
            for message in sent:
                await connection.send(message)
                assert await connection.recv() == message
        async with opened(proxy.url()) as connection:
            assert await connection.recv() == ""


async def extensions_then_echo(connection: ServerConnection) -> None:
    await connection.send(" ".join(one.name for one in connection.protocol.extensions))
    await echo(connection)


async def test_a_bomb_of_the_upstream_stops_at_the_bound() -> None:
    """It is closed as the caller's library would close it."""

    async def bomb(connection: ServerConnection) -> None:
        await connection.send(b"\0" * (65 << 20))
        await connection.wait_closed()

    async with (
        upstream_of(bomb, compression="deflate") as url,
        socket_proxying(mine=url) as proxy,
        opened(proxy.url(), compression="deflate") as connection,
    ):
        assert (await until_closed(connection))[0] == 1009


@pytest.mark.parametrize(
    ("bytes_", "code"),
    [
        (b"\xc1\x02hi", 1002),  # compressed, which nobody offered
        (b"\x81\x82\0\0\0\0hi", 1002),  # masked
        (b"\x83\x00", 1002),  # an opcode of nobody's
        (b"\x80\x00", 1002),  # the rest of nothing
        (b"\x81\x02\xff\xfe", 1007),
        (b"\x88\x02\x03\xe7", 1002),  # 999
        (b"\x82\x7f" + (65 << 20).to_bytes(8, "big"), 1009),
    ],
)
async def test_an_upstream_that_breaks_the_protocol_is_closed_as_the_callers_library_would(bytes_: bytes, code: int) -> None:
    """What came before is delivered."""

    async def serving(connection: ServerConnection) -> None:
        await connection.send("fine")
        connection.transport.write(bytes_)
        await connection.wait_closed()

    async with upstream_of(serving) as url, socket_proxying(mine=url) as proxy, opened(proxy.url()) as connection:
        assert await connection.recv() == "fine"
        assert (await until_closed(connection))[0] == code


# Who may connect, and what is written down.


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 403),
    ],
)
@pytest.mark.requirement("PROXY-3")
async def test_pages_of_other_sites_cannot_connect(headers: dict[str, str], status: int) -> None:
    """Nor by a name of their own for this machine. The upstream isn't asked."""
    asked: list[object] = []

    async def serving(connection: ServerConnection) -> None:
        asked.append(connection)

    async with upstream_of(serving) as url, socket_proxying(mine=url) as proxy:
        head = {"Host": f"127.0.0.1:{proxy.port}", **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
        request = f"GET /proxy/mine/v1/responses HTTP/1.1\r\n{lines}Connection: Upgrade\r\nUpgrade: websocket\r\n{key}\r\n"
        answer = await exchanged(proxy.port, request.encode())
    assert answer.first.split()[1] == str(status).encode()
    assert b'"error"' in answer.body
    assert asked == []


async def test_the_services_own_pages_can_connect() -> None:
    async with (
        upstream_of(echo) as url,
        socket_proxying(mine=url) as proxy,
        opened(proxy.url(), origin=f"http://127.0.0.1:{proxy.port}") as connection,
    ):
        await connection.send("hello")
        assert await connection.recv() == "hello"


async def test_an_unknown_upstream_is_refused() -> None:
    async with upstream_of(echo) as url, socket_proxying(mine=url) as proxy:
        with pytest.raises(InvalidStatus) as caught:
            await opened(proxy.url("yours"))
    assert caught.value.response.status_code == 404


@pytest.mark.requirement("PROXY-3")
async def test_no_key_and_no_word_is_written_to_a_log(caplog: pytest.LogCaptureFixture) -> None:
    """At any level, of the service and of the libraries that it uses; by either side's faults neither."""
    caplog.set_level(logging.DEBUG)

    async def serving(connection: ServerConnection) -> None:
        await connection.send(f"{SECRET} {await connection.recv()!r}")
        await connection.recv()
        connection.transport.write(b"\xff" + SECRET.encode())
        await connection.wait_closed()

    silent = logging.getLogger("test.silent")
    silent.setLevel(logging.CRITICAL)
    async with upstream_of(serving, logger=silent) as url, socket_proxying(mine=url, given={"touch": fails}) as proxy:
        target = proxy.url(path=f"/v1/responses?key={SECRET}")
        for last in (f"{SECRET}", None):
            async with opened(
                target,
                additional_headers={"Authorization": f"Bearer {SECRET}", "X-Germane-Key": SECRET},
                subprotocols=[f"openai-insecure-api-key.{SECRET}"],
                logger=silent,
            ) as connection:
                await connection.send(create(SECRET))
                await connection.recv()
                if last is None:
                    connection.transport.write(b"\xff" + SECRET.encode())
                else:
                    await connection.send(last)
                await until_closed(connection)
    with pytest.raises(InvalidStatus):
        async with socket_proxying(mine=f"http://127.0.0.1:{unused_port()}") as proxy:
            await opened(proxy.url(), additional_headers={"Authorization": SECRET}, logger=silent)
    assert SECRET not in caplog.text


async def fails(text: str, event: Mapping[str, Any]) -> Touched[str]:
    raise ValueError(text)


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
    assert len(proxy.exchanges) == 150
