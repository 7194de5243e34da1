"""How the local provider sends its answers: pieces, encodings, noise, and each way to fail."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Sequence
from hashlib import sha256
from typing import Any

import aiohttp
import pytest
from anthropic import APIConnectionError as AnthropicConnectionError
from anthropic import APIStatusError as AnthropicStatusError
from anthropic import AsyncAnthropic
from openai import APIConnectionError, APIError, APITimeoutError, AsyncOpenAI, InternalServerError
from yarl import URL

from germane_testing.provider import (
    DROP,
    HANG,
    Delivery,
    Failure,
    LocalProvider,
    Reply,
    Verbatim,
    local_provider,
    too_long,
)

SAID = "Fünf Vasen 🦊 — sofort."
ASKED: list[Any] = [{"role": "user", "content": "When?"}]
CHAT = {"model": "m", "messages": ASKED}
CLAUDE: dict[str, Any] = {"model": "claude-opus-4-8", "max_tokens": 9, "messages": ASKED}


@pytest.fixture
async def slept() -> list[float]:
    return []


@pytest.fixture
async def provider(slept: list[float]) -> AsyncIterator[LocalProvider]:
    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with local_provider(sleep=sleep) as provider:
        yield provider


@pytest.fixture
async def openai(provider: LocalProvider) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
async def claude(provider: LocalProvider) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=provider.url, api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
async def raw(provider: LocalProvider) -> AsyncIterator[aiohttp.ClientSession]:
    """A client that decodes nothing."""
    async with aiohttp.ClientSession(provider.url, auto_decompress=False) as session:
        yield session


async def streamed(openai: AsyncOpenAI) -> str:
    chunks = await openai.chat.completions.create(model="m", messages=ASKED, stream=True)
    return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices])


DELIVERIES: Sequence[Delivery] = (
    Delivery(characters=1),
    Delivery(writes=(1,)),
    Delivery(writes=(7, 3, 1_000)),
    Delivery(comments=True, crlf=True),
    Delivery(unknown_events=True),
    Delivery(encoding="gzip"),
    Delivery(encoding="deflate", writes=(5,)),
)


@pytest.mark.parametrize("delivery", DELIVERIES)
async def test_the_sdks_read_every_stream(
    openai: AsyncOpenAI, claude: AsyncAnthropic, provider: LocalProvider, delivery: Delivery
) -> None:
    """Cut in the middle of a character or a line, compressed, with comments, other line ends, and events of unknown kinds."""
    provider.script += [Reply(SAID, delivery=delivery)] * 3
    assert await streamed(openai) == SAID
    events = [event async for event in await openai.responses.create(model="m", input="When?", stream=True)]
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == SAID
    async with claude.messages.stream(**CLAUDE) as stream:
        assert "".join([text async for text in stream.text_stream]) == SAID
    assert provider.refused == []


async def test_a_write_may_end_within_a_character(provider: LocalProvider, raw: aiohttp.ClientSession) -> None:
    """The bytes are UTF-8, not escapes, and the record has them as they were written."""
    provider.script.append(Reply(SAID, delivery=Delivery(writes=(1,))))
    async with raw.post("/v1/chat/completions", json={**CHAT, "stream": True}) as response:
        body = await response.read()
    assert "Fünf Vasen 🦊".encode() in body
    assert bytes(provider.requests[0].sent) == body


@pytest.mark.parametrize("accepted", ["gzip", "identity"])
async def test_an_encoding_is_used_where_the_client_takes_it(
    provider: LocalProvider, raw: aiohttp.ClientSession, accepted: str
) -> None:
    """Otherwise the answer comes as it is."""
    provider.script.append(Reply(SAID, delivery=Delivery(encoding="gzip")))
    async with raw.post("/v1/chat/completions", json=CHAT, headers={"Accept-Encoding": accepted}) as response:
        body = await response.read()
        assert response.headers.get("Content-Encoding") == ("gzip" if accepted == "gzip" else None)
        assert response.headers["Content-Length"] == str(len(body))
    assert (body[:2] == b"\x1f\x8b") is (accepted == "gzip")


async def test_waits_and_pauses_go_through_the_providers_sleep(
    openai: AsyncOpenAI, provider: LocalProvider, slept: list[float]
) -> None:
    """Nothing takes real time."""
    provider.script.append(Reply("one", delivery=Delivery(wait=5.0, pause=0.5)))
    assert await streamed(openai) == "one"
    assert slept == [5.0, 0.5, 0.5, 0.5]


@pytest.mark.parametrize("streams", [False, True])
async def test_an_answer_that_is_cut(provider: LocalProvider, raw: aiohttp.ClientSession, streams: bool) -> None:
    """After so many bytes the connection ends, before the length or the last chunk."""
    provider.script.append(Reply(SAID, delivery=Delivery(ends="cut", after=30)))
    async with raw.post("/v1/chat/completions", json={**CHAT, "stream": streams}) as response:
        body = await response.content.readexactly(30)
        with pytest.raises(aiohttp.ClientPayloadError):
            await response.content.read()
    assert bytes(provider.requests[0].sent) == body


async def test_the_sdks_see_a_cut_stream_as_an_error(
    openai: AsyncOpenAI, claude: AsyncAnthropic, provider: LocalProvider
) -> None:
    """And a connection that is closed before an answer."""
    provider.script += [Reply(SAID, delivery=Delivery(ends="cut", after=300)), DROP, DROP]
    for _ in range(2):
        with pytest.raises(APIConnectionError):
            await streamed(openai)
    with pytest.raises(AnthropicConnectionError):
        await claude.messages.create(**CLAUDE)


@pytest.mark.parametrize("step", [HANG, Reply(SAID, delivery=Delivery(ends="stall", after=9))])
async def test_an_answer_that_never_comes_or_stops(openai: AsyncOpenAI, provider: LocalProvider, step: Any) -> None:
    """The client's own time-out ends it; the provider's end doesn't wait for it."""
    provider.script.append(step)
    with pytest.raises(APITimeoutError):
        await openai.with_options(timeout=0.05).chat.completions.create(model="m", messages=ASKED)
    await provider.requests[0].ended.wait()


async def test_a_provider_that_closes_ends_what_hangs() -> None:
    """The request ends with the block, and the client sees a closed connection."""
    async with local_provider(script=[HANG]) as provider:
        client = AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0)
        asking = asyncio.create_task(client.chat.completions.create(model="m", messages=ASKED))
        while not provider.requests:  # noqa: ASYNC110 - the client connects in the meantime
            await asyncio.sleep(0)
    with pytest.raises(APIConnectionError):
        await asking
    await client.close()


async def test_an_error_in_a_stream(openai: AsyncOpenAI, claude: AsyncAnthropic, provider: LocalProvider) -> None:
    """Each protocol in its own shape, behind the events that came before."""
    provider.script += [Reply(SAID, delivery=Delivery(error=Failure(529, "Overloaded", "overloaded_error")))] * 3
    with pytest.raises(APIError, match="Overloaded"):
        await streamed(openai)
    events = [event async for event in await openai.responses.create(model="m", input="When?", stream=True)]
    assert [event.type for event in events] == ["response.created", "response.in_progress", "error"]
    with pytest.raises(AnthropicStatusError, match="Overloaded"):
        async with claude.messages.stream(**CLAUDE) as stream:
            await stream.get_final_message()


async def test_garbage_a_page_and_a_body_of_ones_own(openai: AsyncOpenAI, provider: LocalProvider) -> None:
    """Status and bytes as the test says."""
    provider.script += [
        Verbatim("<html>Sign in</html>", 502, (("content-type", "text/html"),)),
        Failure(503, body=b"upstream connect error"),
    ]
    for said in ("Sign in", "upstream connect error"):
        with pytest.raises(InternalServerError) as raised:
            await openai.chat.completions.create(model="m", messages=ASKED)
        assert said in raised.value.response.text


async def test_a_redirect_and_headers_that_come_twice(provider: LocalProvider, raw: aiohttp.ClientSession) -> None:
    """Headers of a reply are added, never merged."""
    headers = (("set-cookie", "a=1"), ("set-cookie", "b=2"), ("server", "envoy"), ("x-odd", "ä"))
    provider.script += [Verbatim(status=307, headers=(("location", "http://169.254.169.254/"),)), Reply("x", headers=headers)]
    async with raw.post("/v1/chat/completions", json=CHAT, allow_redirects=False) as response:
        assert (response.status, response.headers["location"]) == (307, "http://169.254.169.254/")
    async with raw.post("/v1/chat/completions", json=CHAT) as response:
        assert response.headers.getall("set-cookie") == ["a=1", "b=2"]


async def test_a_prompt_that_is_too_long(openai: AsyncOpenAI, claude: AsyncAnthropic, provider: LocalProvider) -> None:
    """In the words of each provider."""
    provider.script += [too_long, too_long]
    with pytest.raises(APIError) as raised:
        await openai.chat.completions.create(model="m", messages=ASKED)
    assert raised.value.code == "context_length_exceeded"
    with pytest.raises(AnthropicStatusError, match="prompt is too long"):
        await claude.messages.create(**CLAUDE)


async def test_requests_are_recorded_as_they_came(provider: LocalProvider) -> None:
    """Headers with their case, order and duplicates, the target with its query, the body's bytes."""
    body = b'{ "model":"m",  "messages" : [{"role":"user","content":"\xc3\xbc"}] }'
    host, _, port = provider.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = b"POST /any/v1/chat/completions?a=1&a=%20 HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nx-two: \xff\r\n"
    writer.write(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert (await reader.readline()) == b"HTTP/1.1 200 OK\r\n"
    writer.close()
    await writer.wait_closed()
    (received,) = provider.requests
    assert (received.method, received.target) == ("POST", "/any/v1/chat/completions?a=1&a=%20")
    assert received.headers == (
        *((b"Host", b"x"), (b"X-Two", b"1"), (b"x-two", b"\xff")),
        (b"Content-Length", str(len(body)).encode()),
    )
    assert received.header_values("X-TWO") == ["1", "ÿ"]
    assert (received.body, received.path, received.protocol) == (body, "/any/v1/chat/completions", "chat")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_any_other_path_is_echoed(provider: LocalProvider, raw: aiohttp.ClientSession, method: str) -> None:
    """So that what a proxy copies can be compared."""
    body = bytes(range(256)) * 999
    async with raw.request(
        method, URL(f"{provider.url}/v1/files/7?x=%2F", encoded=True), data=body, headers={"X-Mine": "1"}
    ) as response:
        told = await response.json()
    assert (told["method"], told["target"], told["length"]) == (method, "/v1/files/7?x=%2F", len(body))
    assert told["sha256"] == sha256(body).hexdigest()
    assert ["X-Mine", "1"] in told["headers"]
    assert provider.requests[0].protocol == "other"


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"7", b"\xff\xfe", b'{"model": "m", "messages": "x"}', b'{"messages": [' + b"[" * 100_000]
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/models/m:generateContent"])
async def test_a_body_of_another_shape_is_refused(
    provider: LocalProvider, raw: aiohttp.ClientSession, path: str, body: bytes
) -> None:
    """With an error in the shape of the path's protocol."""
    async with raw.post(path, data=body) as response:
        assert response.status == 400
        error = (await response.json())["error"]
    assert error["message"]
    assert provider.requests[0].refusals


async def test_what_arrives_compressed_is_read(provider: LocalProvider, raw: aiohttp.ClientSession) -> None:
    """The record keeps the bytes as they came."""
    body = gzip.compress(json.dumps(CHAT).encode())
    async with raw.post("/v1/chat/completions", data=body, headers={"Content-Encoding": "gzip"}) as response:
        assert response.status == 200
    assert provider.requests[0].body == body
    assert provider.bodies == [CHAT]
