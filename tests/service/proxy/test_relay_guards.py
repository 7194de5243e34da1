"""What the relay never does: send secrets astray, trust a stranger, or read a request otherwise than the upstream does."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from germane.errors import InvalidInput
from germane.service.proxy.relay import Relay
from germane.settings.upstreams import Upstream
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

pytestmark = pytest.mark.requirement("PROXY-3")

Reader: TypeAlias = asyncio.StreamReader
Writer: TypeAlias = asyncio.StreamWriter
CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
GET = b"GET /proxy/local/v1/models HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /proxy/local/v1/x HTTP/1.1\r\nHost: x\r\n"
SHORT = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextmanager
def corked(writer: Writer) -> Iterator[None]:
    """Has what is written in the block go out at once, where the system can."""
    connected, option = writer.get_extra_info("socket"), getattr(socket, "TCP_CORK", None)
    if option is not None:
        connected.setsockopt(socket.IPPROTO_TCP, option, 1)
    yield
    if option is not None:
        connected.setsockopt(socket.IPPROTO_TCP, option, 0)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 and far.invalid, with its key in the same file."""
    folder = tmp_path_factory.mktemp("certificate")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    made += [
        "-subj",
        "/CN=test",
        "-addext",
        "subjectAltName=IP:127.0.0.1,DNS:far.invalid",
        "-keyout",
        "key",
        "-out",
        "certificate",
    ]
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


GIVEN = [b"Authorization: Bearer sk-callers-own", b"x-api-key: sk-callers-own", b"X-Other: 1"]
GIVEN.append(b"X-Goog-Api-Key: sk-callers-own\r\n" + GIVEN[1] + b"\r\n" + GIVEN[0])


async def test_the_operators_key_stands_in_the_place_of_the_callers() -> None:
    """Whatever header the caller used. The caller's own key goes nowhere."""
    async with bare_upstream(SHORT) as upstream:
        bearer = Upstream(name="bearer", url=upstream.url, key="operators-key")
        alone = Upstream(name="alone", url=upstream.url, key="operators-key", key_header="x-api-key")
        async with proxying({"bearer": bearer, "alone": alone}) as proxy:
            expected = ((bearer, b"authorization", b"Bearer operators-key"), (alone, b"x-api-key", b"operators-key"))
            for keyed, header, sent in expected:
                for given in GIVEN:
                    request = GET[:-2].replace(b"local", keyed.name.encode()) + given + b"\r\nX-Last: 1\r\n\r\n"
                    assert (await exchanged(proxy.port, request)).body == b"ok"
                    received = upstream.received.pop()
                    assert received.header(header) == [sent], given
                    assert not any(b"sk-callers-own" in value for _, value in received.headers), given
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
        [
            b"HTTP/1.1 200 OK\r\nSet-Cookie: cookie-of-answer\r\nContent-Length: 15\r\n\r\nsaid-in-private",
            CHUNKED + chunk(b"data: 1\n\n"),
            b"x\r\n\r\n",
        ]
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


SMUGGLED = b"GET /proxy/local/v1/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
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


async def test_a_request_whose_end_two_servers_could_read_differently_is_refused() -> None:
    """Nothing of it reaches the upstream, nor of what stands behind it."""
    async with between(SHORT) as (upstream, proxy):
        for head in REFUSED:
            async with connected(proxy.port) as (reader, writer):
                writer.write(head + SMUGGLED)
                told = await reader.read()
            assert told.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 ")), head
            assert told.count(b"HTTP/1.1") == 1, head
            assert upstream.received == [], head


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


@pytest.mark.parametrize(
    ("method", "first"), [(b"HEAD", b"200 OK"), (b"GET", b"204 No Content"), (b"GET", b"304 Not Modified")]
)
async def test_a_body_that_an_upstream_must_not_send_is_nobodys_answer(method: bytes, first: bytes) -> None:
    """It looks like an answer, and would be taken for the next one on the same connection."""
    other = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nanother"
    turn = iter([b"HTTP/1.1 " + first + b"\r\n\r\n" + other, SHORT])

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        writer.write(next(turn))
        return True

    async with between(answer) as (_, proxy):
        assert (await exchanged(proxy.port, method + GET[3:], bodiless=True)).first[9:12] == first[:3]
        assert (await exchanged(proxy.port, GET)).body == b"ok"


@pytest.mark.parametrize("framing", [SHORT, CHUNKED + chunk(b"ok") + b"0\r\n\r\n"], ids=["length", "chunks"])
@pytest.mark.parametrize("secure", [False, True])
async def test_what_stands_behind_an_answer_is_nobodys(certificate: Path, framing: bytes, secure: bool) -> None:
    """A connection with bytes behind a whole answer isn't used again; one without is."""
    behind = iter([b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nanother", b"", b""])

    async def answer(message: Message, reader: Reader, writer: Writer) -> bool:
        with corked(writer):
            writer.write(framing)
            writer.write(next(behind))  # over TLS, a record of its own
        return True

    async with bare_upstream(answer, certificate=certificate if secure else None) as upstream:
        local = Upstream(name="local", url=upstream.url, ca=certificate if secure else None)
        async with proxying({"local": local}) as proxy:
            told = [await exchanged(proxy.port, GET) for _ in range(3)]
    assert [one.body for one in told] == [b"ok"] * 3
    assert upstream.opened == 2


@pytest.mark.parametrize("method", [b"CONNECT", b"TRACE", b"trace"])
async def test_no_tunnel_is_made_and_nothing_sent_is_shown(method: bytes) -> None:
    """An answer to TRACE would hold the operator's key."""
    async with between(SHORT) as (upstream, proxy):
        told = await exchanged(proxy.port, method + GET[3:])
        assert told.first == b"HTTP/1.1 405 Method Not Allowed"
        assert upstream.received == []


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


async def test_through_an_http_proxy_tls_is_spoken_with_the_upstream_itself(certificate: Path) -> None:
    """The proxy sees where to, and its own password; the upstream sees neither, and the request."""
    async with bare_upstream(SHORT, certificate=certificate) as upstream:
        asked: list[Message] = []

        async def tunnel(reader: Reader, writer: Writer) -> None:
            asked.append(await read_message(reader))
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", upstream.port)
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")

            async def pipe(source: Reader, target: Writer) -> None:
                while data := await source.read(1 << 16):
                    target.write(data)

            try:
                await asyncio.gather(pipe(reader, far_writer), pipe(far_reader, writer))
            finally:
                far_writer.close()

        async with upstream_of(tunnel) as gateway:
            environ = {"https_proxy": gateway.replace("//", "//me:word@")}
            far = Upstream(name="local", url="https://far.invalid", ca=certificate, key="operators-key")
            async with proxying({"local": far}, environ=environ) as proxy:
                assert (await exchanged(proxy.port, GET)).body == b"ok"
    assert asked[0].first == b"CONNECT far.invalid:443 HTTP/1.1"
    assert asked[0].header(b"proxy-authorization") == [b"Basic bWU6d29yZA=="]
    assert not asked[0].header(b"authorization")
    (received,) = upstream.received
    assert received.first == b"GET /v1/models HTTP/1.1"
    assert received.headers == [(b"Host", b"far.invalid"), (b"Authorization", b"Bearer operators-key")]


@pytest.mark.parametrize("address", ["socks5://127.0.0.1:1", "http://:80", "http://a:b"])
def test_an_environment_whose_proxy_cannot_be_used_is_refused_at_the_start(address: str) -> None:
    """Before the first request."""
    with pytest.raises(InvalidInput, match="https_proxy must be"):
        Relay(upstreams_of(far="https://far.invalid"), environ={"https_proxy": address}).open()


def test_an_authority_that_holds_no_certificate_is_refused_at_the_start(tmp_path: Path) -> None:
    """The error names the upstream, and shows nothing of the file."""
    (tmp_path / "ca.pem").write_text("-----BEGIN CERTIFICATE-----\nsecret\n-----END CERTIFICATE-----\n", "utf-8")
    mine = Upstream(name="mine", url="https://127.0.0.1:1", ca=tmp_path / "ca.pem")
    with pytest.raises(InvalidInput) as refused:
        Relay({"mine": mine}).open()
    assert str(refused.value) == "upstreams.mine.ca holds no certificates that can be read"
