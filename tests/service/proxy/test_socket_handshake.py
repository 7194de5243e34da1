"""The handshake of a WebSocket through the proxy is the upstream's; broken upstreams and other sites' pages gain nothing."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import InvalidStatus
from websockets.http11 import Request, Response
from websockets.utils import accept_key

from germane.service.proxy.socket import Touched
from germane.settings.upstreams import Upstream
from support.loopback import unused_port
from support.proxying import Message, bare_upstream, exchanged
from support.socket_proxying import create, echo, generated, opened, socket_proxying, until_closed, upstream_of

pytestmark = pytest.mark.requirement("PROXY-3")

SECRET = "sk-secret-of-the-caller"


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


async def test_a_refused_handshake_is_refused_in_the_upstreams_words() -> None:
    """Status, headers, body. A redirect isn't followed."""
    body = b'{"error": {"message": "no", "type": "invalid_request_error", "param": null, "code": "invalid_api_key"}}'
    statuses, asked = [401, 403, 404, 426, 429, 503, 302], list[str]()

    def refuse(connection: ServerConnection, request: Request) -> Response:
        response = connection.respond(statuses[len(asked)], "")
        asked.append(request.path)
        response.headers["X-Request-Id"] = "req_1"
        response.headers["retry-after-ms"] = "7"
        response.headers["Location"] = f"{url}/elsewhere"
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(body))
        response.body = body
        return response

    async with upstream_of(echo, process_request=refuse) as url, socket_proxying(mine=url) as proxy:
        for status in statuses:
            with pytest.raises(InvalidStatus) as caught:
                await opened(proxy.url())
            response = caught.value.response
            assert (response.status_code, response.body) == (status, body)
            assert (response.headers["X-Request-Id"], response.headers["retry-after-ms"]) == ("req_1", "7")
    assert asked == ["/v1/responses"] * len(statuses)


async def test_an_upstream_that_cannot_be_reached_is_said_in_the_providers_shape() -> None:
    """Before the handshake, so that no client takes it for an answer."""
    async with socket_proxying(mine=f"http://127.0.0.1:{unused_port()}") as proxy:
        with pytest.raises(InvalidStatus) as caught:
            await opened(proxy.url())
    response = caught.value.response
    assert response.status_code == 502
    assert json.loads(response.body)["error"]["code"] == "upstream_unreachable"


async def test_an_upstream_that_is_no_websocket_is_a_bad_gateway() -> None:
    """Whatever it says."""
    switching = b"HTTP/1.1 101 Switching Protocols\r\n"
    answers = [
        switching + b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: no\r\n\r\n",
        switching + b"\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\n" + b"x" * (1 << 21),
        b"HTTP/1.1 401 No\r\ncontent-length: 100\r\n\r\nshort",
        b"nonsense\r\n\r\n",
        b"",
    ]
    said = iter(answers)

    async def say(message: object, reader: object, writer: asyncio.StreamWriter) -> bool:
        writer.write(next(said))
        return False

    async with bare_upstream(say) as upstream, socket_proxying(mine=upstream.url) as proxy:
        for _ in answers:
            with pytest.raises(InvalidStatus) as caught:
                await opened(proxy.url())
            assert caught.value.response.status_code == 502
            await upstream.ended.acquire()


async def test_an_upstream_over_tls(certificate: Path) -> None:
    """Its certificate is checked as for other requests; the operator's key stands in the place of the caller's."""
    trusted = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trusted.load_cert_chain(certificate)
    keys: list[str] = []

    async def serving(connection: ServerConnection) -> None:
        assert connection.request is not None
        keys.append(connection.request.headers["Authorization"])
        await echo(connection)

    async with upstream_of(serving, ssl=trusted) as url:
        secure = url.replace("http:", "https:")
        mine = Upstream(name="mine", url=secure, ca=certificate, key="sk-operator")
        async with socket_proxying(upstreams={"mine": mine, "other": Upstream(name="other", url=secure)}) as proxy:
            async with opened(proxy.url(), additional_headers={"Authorization": SECRET}) as connection:
                for message in generated(9, 50):
                    await connection.send(message)
                    assert await connection.recv() == message
            with pytest.raises(InvalidStatus) as caught:
                await opened(proxy.url("other"))
    assert caught.value.response.status_code == 502
    assert keys == ["Bearer sk-operator"]


@pytest.mark.parametrize("alive", [True, False])
async def test_a_silent_upstream_is_pinged_and_cut_where_it_gives_no_sign(alive: bool) -> None:
    """One that answers may think for as long as it likes."""

    async def serving(message: Message, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        (key,) = message.header(b"sec-websocket-key")
        accept = accept_key(key.decode()).encode()
        head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
        writer.write(head + accept + b"\r\n\r\n")
        for _ in range(4):
            assert (await reader.readexactly(6))[:2] == b"\x89\x80"
            if alive:
                writer.write(b"\x8a\x00")
        writer.write(b"\x81\x04here")
        return False

    async with (
        bare_upstream(serving) as upstream,
        socket_proxying(mine=upstream.url, beat_seconds=0.05) as proxy,
        opened(proxy.url()) as connection,
    ):
        if alive:
            assert await connection.recv() == "here"
        assert (await until_closed(connection))[0] == 1006


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


BROKEN = [
    (b"\xc1\x02hi", 1002),  # compressed, which nobody offered
    (b"\x81\x82\0\0\0\0hi", 1002),  # masked
    (b"\x83\x00", 1002),  # an opcode of nobody's
    (b"\x80\x00", 1002),  # the rest of nothing
    (b"\x81\x02\xff\xfe", 1007),
    (b"\x88\x02\x03\xe7", 1002),  # 999
    (b"\x82\x7f" + (65 << 20).to_bytes(8, "big"), 1009),
]


async def test_an_upstream_that_breaks_the_protocol_is_closed_as_the_callers_library_would() -> None:
    """What came before is delivered."""
    broken = iter(BROKEN)

    async def serving(connection: ServerConnection) -> None:
        await connection.send("fine")
        connection.transport.write(next(broken)[0])
        await connection.wait_closed()

    async with upstream_of(serving) as url, socket_proxying(mine=url) as proxy:
        for _, code in BROKEN:
            async with opened(proxy.url()) as connection:
                assert await connection.recv() == "fine"
                assert (await until_closed(connection))[0] == code


# Who may connect, and what is written down.


async def test_pages_of_other_sites_cannot_connect() -> None:
    """Nor by a name of their own for this machine. The upstream isn't asked."""
    asked: list[object] = []

    async def serving(connection: ServerConnection) -> None:
        asked.append(connection)

    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
    async with upstream_of(serving) as url, socket_proxying(mine=url) as proxy:
        for foreign in ("Origin: https://evil.example", "Origin: null", "Sec-Fetch-Site: cross-site", "Host: evil.example"):
            host = "" if foreign.startswith("Host") else f"Host: 127.0.0.1:{proxy.port}\r\n"
            first = f"GET /proxy/mine/v1/responses HTTP/1.1\r\n{host}{foreign}\r\n"
            head = f"{first}Connection: Upgrade\r\nUpgrade: websocket\r\n{key}\r\n"
            answer = await exchanged(proxy.port, head.encode())
            assert answer.first.split()[1] == b"403"
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
