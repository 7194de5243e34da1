"""The relay sends parts on as they come, holds little, ends when either side ends, and speaks as the provider does."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from germane.errors import InvalidInput
from germane.service.http.connections import ConnectionLimits
from germane.service.proxy.relay import Relay
from germane.settings.upstreams import Upstream
from support.loopback import unused_port
from support.proxying import (
    Answers,
    BareUpstream,
    Message,
    Proxying,
    bare_upstream,
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
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[Reader, Writer]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    try:
        async with asyncio.timeout(60):
            yield reader, writer
    finally:
        writer.close()


@asynccontextmanager
async def between(answers: Answers | bytes, **given: Any) -> AsyncIterator[tuple[BareUpstream, Proxying]]:
    """A proxy in front of one upstream, `local`."""
    async with bare_upstream(answers) as upstream, proxying(upstreams_of(local=upstream.url), **given) as proxy:
        yield upstream, proxy


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


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
]


@pytest.mark.parametrize("said", BROKEN)
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


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1, with its key in the same file."""
    folder = tmp_path_factory.mktemp("certificate")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    made += ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key", "-out", "certificate"]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes((folder / "key").read_bytes() + (folder / "certificate").read_bytes())
    return both


async def test_certificates_are_checked_against_the_upstreams_own_authority(certificate: Path) -> None:
    """Without it, no byte of the request is sent."""
    async with bare_upstream(SHORT, certificate=certificate) as upstream:
        trusted = Upstream(name="trusted", url=upstream.url, ca=certificate)
        other = Upstream(name="other", url=upstream.url)
        async with proxying({"trusted": trusted, "other": other}) as proxy:
            assert (await exchanged(proxy.port, GET.replace(b"local", b"trusted"))).body == b"ok"
            assert len(upstream.received) == 1
            told = await exchanged(proxy.port, GET.replace(b"local", b"other"))
            assert told.first == b"HTTP/1.1 502 Bad Gateway"
            assert b"certificate" in told.body
            assert len(upstream.received) == 1


SECRETS = (b"sk-callers-own", b"operators-key", b"germane-key", b"cookie-of-answer", b"said-in-private")


@pytest.mark.parametrize(("header", "sent"), [("authorization", b"Bearer operators-key"), ("x-api-key", b"operators-key")])
@pytest.mark.parametrize("given", [b"Authorization: Bearer sk-callers-own", b"x-api-key: sk-callers-own", b"X-Other: 1"])
async def test_the_operators_key_stands_in_the_place_of_the_callers(header: str, sent: bytes, given: bytes) -> None:
    """Whatever header the caller used. The caller's own key goes nowhere."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
    async with bare_upstream(answer) as upstream:
        keyed = Upstream(name="local", url=upstream.url, key="operators-key", key_header=header)  # type: ignore[arg-type]
        async with proxying({"local": keyed}) as proxy:
            await exchanged(proxy.port, GET[:-2] + given + b"\r\nX-Last: 1\r\n\r\n")
    (received,) = upstream.received
    assert [value for name, value in received.headers if name.lower() == header.encode()] == [sent]
    assert not any(b"sk-callers-own" in value for _, value in received.headers)
    assert "operators-key" not in repr(keyed)


async def test_germanes_own_headers_stay_here_and_its_answers_headers_are_added() -> None:
    """In any case, and as often as they come."""
    answer = b"HTTP/1.1 200 OK\r\nX-Germane-Tokens: 9\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok"
    async with bare_upstream(answer) as upstream:
        added = [(b"X-Germane-Memories", b"3"), (b"X-Germane-Tokens", b"40")]
        async with proxying(upstreams_of(local=upstream.url), added=added) as proxy:
            own = b"X-Germane-Key: k\r\nx-germane-agent: a\r\nX-GERMANE-USER: u\r\nX-Germane-Skip: true\r\nX-B: 1\r\n\r\n"
            told = await exchanged(proxy.port, GET[:-2] + own)
    assert upstream.received[0].headers == [(b"Host", upstream.url.removeprefix("http://").encode()), (b"X-B", b"1")]
    assert told.headers == [(b"X-A", b"1"), (b"Content-Length", b"2"), *added]


async def test_nothing_secret_stands_in_a_log(caplog: pytest.LogCaptureFixture) -> None:
    """At the lowest level, of a whole exchange, a broken one, and one that can't be made."""
    turn = iter(
        [b"HTTP/1.1 200 OK\r\nSet-Cookie: cookie-of-answer\r\nContent-Length: 15\r\n\r\nsaid-in-private", CUT[0], b"x\r\n\r\n"]
    )

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        writer.write(next(turn))
        return False

    head = b"Authorization: Bearer sk-callers-own\r\nX-Germane-Key: germane-key\r\nContent-Length: 15\r\n\r\nsaid-in-private"
    caplog.set_level(logging.DEBUG)
    async with bare_upstream(answer) as upstream:
        there = Upstream(name="local", url=upstream.url, key="operators-key")
        gone = Upstream(name="gone", url=f"http://127.0.0.1:{unused_port()}", key="operators-key")
        async with proxying({"local": there, "gone": gone}) as proxy:
            for name in (b"local", b"local", b"local", b"gone"):
                told = await exchanged(proxy.port, b"POST" + GET[3:-2].replace(b"local", name) + head)
                assert not any(secret in told.body for secret in SECRETS[:3])
    assert [one.ended for one in proxy.relayed] == ["whole", "upstream", "unreachable", "unreachable"]
    assert not any(secret.decode() in caplog.text for secret in SECRETS)
    assert not any(secret in repr(record.__dict__).encode() for record in caplog.records for secret in SECRETS[:3])


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


SMUGGLED = b"GET /proxy/local/v1/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /proxy/local/v1/x HTTP/1.1\r\nHost: x\r\n"
REFUSED = [
    POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
    POST + b"Content-Length: +5\r\n\r\nabcde",
    POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    POST + b"Host: y\r\nContent-Length: 0\r\n\r\n",
    POST + b"X-A : 1\r\nContent-Length: 0\r\n\r\n",
    POST + b"X-A: 1\x00\r\nContent-Length: 0\r\n\r\n",
    POST.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
]


@pytest.mark.parametrize("head", REFUSED)
async def test_a_request_whose_end_two_servers_could_read_differently_is_refused(head: bytes) -> None:
    """Nothing of it reaches the upstream, nor of what stands behind it."""
    async with (
        bare_upstream(SHORT) as upstream,
        proxying(upstreams_of(local=upstream.url)) as proxy,
        connected(proxy.port) as ends,
    ):
        ends[1].write(head + SMUGGLED)
        told = await ends[0].read()
        assert told.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 "))
        assert told.count(b"HTTP/1.1") == 1
        assert upstream.received == []


async def test_what_stands_behind_a_body_is_a_request_of_its_own() -> None:
    """And one `Content-Length` that is said twice alike is one."""
    async with (
        bare_upstream(SHORT) as upstream,
        proxying(upstreams_of(local=upstream.url)) as proxy,
        connected(proxy.port) as ends,
    ):
        ends[1].write(
            POST + b"Content-Length: 3\r\nContent-Length: 3\r\nX-A: a\r\n b\r\n\r\nabc" + GET.replace(b"local", b"nobody")
        )
        assert (await read_message(ends[0])).body == b"ok"
        assert (await read_message(ends[0])).first.startswith(b"HTTP/1.1 404 ")
        (received,) = upstream.received
        assert (received.body, received.header(b"content-length"), received.header(b"x-a")) == (b"abc", [b"3"], [b"a b"])


async def test_an_answer_with_chunks_and_a_length_is_framed_by_its_chunks() -> None:
    """A client that went by the length would take the rest for another answer."""
    answer = CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n" + chunk(b"abcHTTP/1.1 200 OK") + b"0\r\n\r\n"
    async with between(answer) as (_, proxy):
        told = await exchanged(proxy.port, GET)
        assert (told.body, told.header(b"content-length")) == (b"abcHTTP/1.1 200 OK", [])


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


@pytest.mark.parametrize("method", [b"CONNECT", b"TRACE", b"trace"])
async def test_no_tunnel_is_made_and_nothing_sent_is_shown(method: bytes) -> None:
    """An answer to TRACE would hold the operator's key."""
    async with between(SHORT) as (upstream, proxy):
        told = await exchanged(proxy.port, method + GET[3:])
        assert told.first == b"HTTP/1.1 405 Method Not Allowed"
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


async def test_the_environments_http_proxy_is_asked_for_others_and_never_for_this_machine() -> None:
    """With the name and password in its address; NO_PROXY names exceptions."""
    async with bare_upstream(SHORT) as upstream, bare_upstream(SHORT) as gateway:
        far = {name: Upstream(name=name, url=f"http://{name}.invalid:81", plaintext=True) for name in ("far", "near")}
        address = gateway.url.replace("//", "//me:a%20b@")
        environ = {"HTTP_PROXY": address, "NO_PROXY": "localhost,.near.invalid", "https_proxy": "http://127.0.0.1:1"}
        async with proxying({**far, **upstreams_of(local=upstream.url)}, environ=environ) as proxy:
            assert (await exchanged(proxy.port, GET)).body == b"ok"
            assert (await exchanged(proxy.port, GET.replace(b"local", b"near"))).first == b"HTTP/1.1 502 Bad Gateway"
            assert gateway.received == []
            assert (await exchanged(proxy.port, GET.replace(b"local", b"far"))).body == b"ok"
    (asked,) = gateway.received
    assert asked.first == b"GET http://far.invalid:81/v1/models HTTP/1.1"
    assert asked.header(b"host") == [b"far.invalid:81"]
    assert asked.header(b"proxy-authorization") == [b"Basic bWU6YSBi"]


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1", "http://:80", "http://a:b"])
def test_an_environment_whose_proxy_cannot_be_used_is_refused_at_the_start(address: str) -> None:
    """Before the first request."""
    with pytest.raises(InvalidInput, match="https_proxy must be"):
        Relay(upstreams_of(far="https://far.invalid"), environ={"https_proxy": address}).open()
