"""The relay sends parts on as they come, holds little, ends when either side ends, and speaks as the provider does."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from contextlib import suppress
from typing import TypeAlias

import pytest

from germane.service.http.connections import ConnectionLimits
from support.loopback import unused_port
from support.proxying import (
    Message,
    bare_upstream,
    between,
    chunk,
    connected,
    exchanged,
    proxying,
    read_message,
    upstream_of,
    upstreams_of,
)

pytestmark = pytest.mark.requirement("PROXY-1", "PROXY-3")

Reader: TypeAlias = asyncio.StreamReader
Writer: TypeAlias = asyncio.StreamWriter
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
GET = b"GET /proxy/local/v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /proxy/local/v1/x HTTP/1.1\r\nHost: x\r\n"
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def never(message: Message, reader: Reader, writer: Writer) -> bool:
    """An upstream that never answers; it notices when the connection ends."""
    await reader.read()
    return False


async def test_a_part_is_sent_on_before_the_next_one_exists() -> None:
    """No part waits for another one, nor for the end."""
    read = asyncio.Event()

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        writer.write(CHUNKED)
        for part in (b"data: 1\n\n", b"da", b"ta: 2\n\n"):
            writer.write(chunk(part))
            await read.wait()
            read.clear()
        writer.write(b"0\r\n\r\n")
        return True

    async with (
        bare_upstream(answer) as upstream,
        proxying(upstreams_of(local=upstream.url)) as proxy,
        connected(proxy.port) as ends,
    ):
        reader, writer = ends
        writer.write(GET)
        await reader.readuntil(b"\r\n\r\n")
        for part in (b"data: 1\n\n", b"da", b"ta: 2\n\n"):
            assert await reader.readexactly(len(chunk(part))) == chunk(part)
            read.set()
        assert await reader.readexactly(5) == b"0\r\n\r\n"
        assert proxy.parts == [b"data: 1\n\n", b"da", b"ta: 2\n\n"]


async def test_a_slow_caller_slows_the_upstream_and_little_is_held() -> None:
    """Of 64 MiB, what the system's own buffers take; later the caller gets all of it."""
    size, sent = 1 << 20, 0

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (64 * size))
        for number in range(64):
            writer.write(bytes([number]) * size)
            await writer.drain()
            sent += 1
        return True

    async with (
        bare_upstream(answer) as upstream,
        proxying(upstreams_of(local=upstream.url)) as proxy,
        connected(proxy.port) as ends,
    ):
        reader, writer = ends
        writer.write(GET)
        await reader.readuntil(b"\r\n\r\n")
        before = -1
        while sent != before:
            before = sent
            for _ in range(2000):
                await asyncio.sleep(0)
        assert sent < 40
        assert all([await reader.readexactly(size) == bytes([number]) * size for number in range(64)])


async def test_a_slow_upstream_slows_the_caller_and_little_is_held() -> None:
    """Of a body of 64 MiB, what the system's own buffers take; later the upstream gets all of it."""
    size, sent, read = 1 << 20, 0, asyncio.Event()

    async def serve(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await read.wait()
        for number in range(64):
            assert await reader.readexactly(size) == bytes([number]) * size
        writer.write(SHORT)
        await reader.read()

    async def upload(writer: Writer) -> None:
        nonlocal sent
        for number in range(64):
            writer.write(bytes([number]) * size)
            await writer.drain()
            sent += 1

    async with upstream_of(serve) as url, proxying(upstreams_of(local=url)) as proxy, connected(proxy.port) as (reader, writer):
        writer.write(POST + b"Content-Length: %d\r\n\r\n" % (64 * size))
        uploading, before = asyncio.ensure_future(upload(writer)), -1
        while sent != before:
            before = sent
            for _ in range(2000):
                await asyncio.sleep(0)
        assert sent < 40
        read.set()
        await uploading
        assert (await read_message(reader)).body == b"ok"


@pytest.mark.parametrize("begun", [False, True])
async def test_when_the_caller_goes_away_the_upstream_request_ends(begun: bool) -> None:
    """Before the answer, and in the middle of it."""

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        writer.write((CHUNKED + chunk(b"data: 1\n\n")) * begun)
        return await never(message, reader, writer)

    async with between(answer) as (upstream, proxy):
        async with connected(proxy.port) as (reader, writer):
            writer.write(GET)
            if begun:
                await reader.readuntil(b"\r\n\r\n")
            while not upstream.received:  # noqa: ASYNC110
                await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await upstream.ended.acquire()
        assert [one.ended for one in proxy.relayed] == ["caller"]


async def test_when_the_caller_goes_away_with_half_a_body_the_upstream_request_ends() -> None:
    """The upstream sees that the body isn't whole."""
    async with between(SHORT, limit=10) as (upstream, proxy):
        async with connected(proxy.port) as (_, writer):
            writer.write(b"POST /proxy/local/v1/files HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + b"x" * 500)
            while not upstream.opened:  # noqa: ASYNC110
                await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await upstream.ended.acquire()
        assert not upstream.received[0].whole
        assert [one.ended for one in proxy.relayed] == ["caller"]


CUT = [
    CHUNKED + chunk(b"data: 1\n\n"),
    CHUNKED + chunk(b"data: 1\n\n") + b"9\r\ndata",
    b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ndata: 1\n\n",
    CHUNKED + chunk(b"data: 1\n\n") + b"no size\r\n",
]


@pytest.mark.parametrize("cut", CUT)
async def test_an_answer_that_breaks_off_breaks_off_for_the_caller(cut: bytes) -> None:
    """What came before is delivered; no clean end, and no event of the proxy's own."""

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        writer.write(cut)
        return False

    async with between(answer) as (upstream, proxy):
        direct, relayed = await exchanged(upstream.port, GET), await exchanged(proxy.port, GET)
        assert (relayed.first, relayed.whole) == (direct.first, False)
        assert relayed.body == direct.body == b"".join(proxy.parts)
        assert relayed.body.startswith(b"data: 1\n\n")
        assert [one.ended for one in proxy.relayed] == ["upstream"]


async def test_a_stream_that_is_open_when_the_service_stops_breaks_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What was sent of it has been relayed, and the request ends as one whose caller has gone does."""

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        writer.write(CHUNKED + chunk(b"data: 1\n\n"))
        await reader.read()
        return False

    async with bare_upstream(answer) as upstream, proxying(upstreams_of(local=upstream.url)) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        writer.write(GET)
        assert (await reader.readuntil(b"data: 1\n\n")).startswith(b"HTTP/1.1 200 OK")
    with suppress(ConnectionError):
        assert b"0\r\n\r\n" not in await reader.read()
    writer.close()
    assert [one.ended for one in proxy.relayed] == ["caller"]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_over_http_1_0_a_cut_answer_does_not_end_cleanly_either() -> None:
    """There the end of the connection would be the end of the answer."""

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        writer.write(CUT[0])
        return False

    async with (
        bare_upstream(answer) as upstream,
        proxying(upstreams_of(local=upstream.url)) as proxy,
        connected(proxy.port) as ends,
    ):
        ends[1].write(b"GET /proxy/local/v1/models HTTP/1.0\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            await ends[0].read()


async def test_a_stream_may_be_silent_for_longer_than_an_answer_may_take() -> None:
    """While a model thinks, no timer runs."""

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        passed = asyncio.Event()
        for part in (CHUNKED, chunk(b"data: 1\n\n"), b"0\r\n\r\n"):
            asyncio.get_running_loop().call_later(0.05, passed.set)
            await passed.wait()
            passed.clear()
            writer.write(part)
        return True

    limits = ConnectionLimits(answer_seconds=0.01, relayed_seconds=0.01, head_seconds=0.01, idle_seconds=0.01)
    async with between(answer, limits=limits) as (_, proxy):
        assert (await exchanged(proxy.port, GET)).body == b"data: 1\n\n"


async def test_a_caller_who_never_reads_is_dropped_after_a_while() -> None:
    """After `relayed_seconds` without taking a part, which are more than other answers get."""

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (1 << 30))
        while not writer.is_closing():
            writer.write(bytes(1 << 20))
            await writer.drain()
        return False

    limits = ConnectionLimits(relayed_seconds=0.05)
    async with between(answer, limits=limits) as (upstream, proxy):
        raw = socket.create_connection(("127.0.0.1", proxy.port))
        raw.sendall(GET)
        async with asyncio.timeout(60):
            await upstream.ended.acquire()
        raw.close()


MESSAGES = b"POST /proxy/local/v1/messages HTTP/1.1\r\nHost: x\r\nAnthropic-Version: 2023-06-01\r\nContent-Length: 2\r\n\r\n{}"
BROKEN = [
    b"",
    b"nonsense\r\n\r\n",
    b"HTTP/1.1 999 What\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000,
    b"HTTP/1.1 101 Ok\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 50_000,
    b"HTTP/1.1 103 Early Hints\r\n\r\n" * 5_000,
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
    b"HTTP/1.1 200 OK\r\nX-A: a\rX-B: b\r\n\r\n",
]


@pytest.mark.parametrize("said", BROKEN, ids=range(len(BROKEN)))
async def test_an_upstream_that_gives_no_answer_is_a_502_in_the_shape_of_its_protocol(said: bytes) -> None:
    """The libraries read only their provider's errors."""

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        writer.write(said)
        return False

    async with between(answer) as (_, proxy):
        told = await exchanged(proxy.port, GET)
        assert told.first == b"HTTP/1.1 502 Bad Gateway"
        error = json.loads(told.body)["error"]
        assert (error["type"], error["code"], error["param"]) == ("server_error", "upstream_unreachable", None)
        assert "local" in error["message"]
        assert "127.0.0.1" not in error["message"]
        assert not told.header(b"retry-after")
        assert not told.header(b"x-should-retry")
        told = await exchanged(proxy.port, MESSAGES)
        assert json.loads(told.body) == {"type": "error", "error": {"type": "api_error", "message": error["message"]}}
        assert [one.ended for one in proxy.relayed] == ["unreachable"] * 2


async def test_an_upstream_that_is_not_there_is_a_502_and_one_that_does_not_connect_a_504() -> None:
    """The second accepts the connection and never speaks TLS."""
    silent = socket.create_server(("127.0.0.1", 0))
    upstreams = upstreams_of(gone=f"http://127.0.0.1:{unused_port()}", mute=f"https://127.0.0.1:{silent.getsockname()[1]}")
    async with proxying(upstreams, connect_seconds=0.05) as proxy:
        gone = await exchanged(proxy.port, GET.replace(b"local", b"gone"))
        mute = await exchanged(proxy.port, MESSAGES.replace(b"local", b"mute"))
    silent.close()
    assert gone.first == b"HTTP/1.1 502 Bad Gateway"
    assert b"check its url, and that it runs" in gone.body
    assert mute.first == b"HTTP/1.1 504 Gateway Timeout"
    assert json.loads(mute.body)["error"]["type"] == "timeout_error"


async def test_no_redirect_is_followed_and_no_cookie_kept() -> None:
    """Both are the caller's."""
    answer = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n"
    async with between(answer) as (upstream, proxy):
        for _ in range(2):
            told = await exchanged(proxy.port, GET)
            assert (told.first[9:12], told.header(b"location")) == (b"307", [b"http://127.0.0.1:1/"])
        assert [message.headers[1:] for message in upstream.received] == [[], []]


async def test_a_connection_to_an_upstream_is_used_again_by_others() -> None:
    """But not one that the upstream has closed."""
    turn = iter([True, False, True])

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        writer.write(SHORT)
        return next(turn)

    async with between(answer) as (upstream, proxy):
        for _ in range(2):
            await exchanged(proxy.port, GET)
        async with asyncio.timeout(60):
            await upstream.ended.acquire()
        assert (await exchanged(proxy.port, GET)).body == b"ok"
        assert upstream.opened == 2


async def test_a_caller_who_waits_for_a_100_gets_it_and_the_upstream_is_not_asked() -> None:
    """The proxy reads the body itself."""
    async with (
        bare_upstream(SHORT) as upstream,
        proxying(upstreams_of(local=upstream.url)) as proxy,
        connected(proxy.port) as ends,
    ):
        reader, writer = ends
        writer.write(b"POST /proxy/local/v1/x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert (await read_message(reader)).first.startswith(b"HTTP/1.1 100 ")
        writer.write(b"abc")
        assert (await read_message(reader)).body == b"ok"
        assert upstream.received[0].body == b"abc"
        assert not upstream.received[0].header(b"expect")


@pytest.mark.parametrize("framing", [b"Content-Length: 12", b"Transfer-Encoding: chunked"])
async def test_a_body_above_the_limit_goes_on_as_it_comes(framing: bytes) -> None:
    """Its first part reaches the upstream before the last was sent."""
    begun = asyncio.Event()

    def written(part: bytes) -> bytes:
        return chunk(part) if b"chunked" in framing else part

    async def serve(reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert framing in head
        assert await reader.readuntil(b"parts") == written(b"many parts").removesuffix(b"\r\n")
        begun.set()
        assert (await reader.readuntil(b"of")).endswith(b"of")
        writer.write(SHORT)
        await reader.read()

    async with upstream_of(serve) as url, proxying(upstreams_of(local=url), limit=5) as proxy, connected(proxy.port) as ends:
        ends[1].write(POST + framing + b"\r\n\r\n" + written(b"many parts"))
        await begun.wait()
        ends[1].write(written(b"of") + b"0\r\n\r\n" * (b"chunked" in framing))
        assert (await read_message(ends[0])).body == b"ok"


async def test_an_answer_before_the_end_of_the_body_reaches_the_caller() -> None:
    """Such as a refusal of its size, after which the upstream reads no more."""

    async def serve(reader: Reader, writer: Writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")

    async with upstream_of(serve) as url, proxying(upstreams_of(local=url), limit=5) as proxy:
        told = await exchanged(proxy.port, POST + b"Content-Length: 8000000\r\n\r\n" + b"x" * 8_000_000)
        assert told.first.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 502 "))


async def test_a_body_that_stops_coming_is_refused() -> None:
    """In time, with the provider's shape."""
    async with between(SHORT, body_seconds=0.01) as (upstream, proxy):
        told = await exchanged(proxy.port, POST + b"Content-Length: 3\r\n\r\nab")
        assert told.first == b"HTTP/1.1 408 Request Timeout"
        assert json.loads(told.body)["error"]["type"] == "invalid_request_error"
        assert upstream.received == []


async def test_a_copy_that_fails_harms_no_answer() -> None:
    """Nor is it asked for again."""
    asked = []

    class Failing(list[bytes]):
        def append(self, part: bytes) -> None:
            asked.append(part)
            raise RuntimeError

    answer = CHUNKED + chunk(b"a") + chunk(b"b") + b"0\r\n\r\n"
    async with between(answer, parts=Failing()) as (_, proxy):
        assert (await exchanged(proxy.port, GET)).body == b"ab"
        assert asked == [b"a"]
