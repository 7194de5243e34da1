"""WebSockets are taken for an application's own targets, counted and limited as connections are; hostile peers gain nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Close, Frame, Opcode

from germane.service.http.connections import ConnectionLimits
from germane.service.http.server import HttpServer
from germane.service.http.sockets import Sockets
from support.http_requests import LOOPBACK, asked

pytestmark = pytest.mark.requirement("OPS-1")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
HANDSHAKE = (
    b"GET /socket/x?y=1 HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
)
MAX_BYTES = 100_000


def is_taken(target: bytes) -> bool:
    return target.startswith(b"/socket/")


async def echoing(scope: Any, receive: Any, send: Any) -> None:
    """Answers HTTP with the scope's type, and sends back what comes over a WebSocket."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"http"})
        return
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] != "websocket.disconnect":
        await send({**message, "type": "websocket.send"})


class Watched:
    """An application that holds what it is told, once it may, and answers a message with another."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.goes_on, self.disconnected = asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await self.goes_on.wait()
        while True:
            self.messages.append(await receive())
            if self.messages[-1]["type"] == "websocket.disconnect":
                self.disconnected.set()
                return
            with suppress(OSError):
                await send({"type": "websocket.send", "text": "late"})


@asynccontextmanager
async def serving(app: Any = echoing, **limits: float) -> AsyncIterator[HttpServer]:
    sockets = Sockets(takes=is_taken, max_bytes=MAX_BYTES)
    server = HttpServer(app, LOOPBACK, limits=ConnectionLimits(**limits), sockets=sockets)  # type: ignore[arg-type]
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def raw(server: HttpServer, head: bytes = HANDSHAKE + b"\r\n") -> AsyncIterator[Streams]:
    """A connection on which the head was sent, and the answer's head read."""
    reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
    writer.write(head)
    try:
        assert b"101 Switching" in await reader.readuntil(b"\r\n\r\n")
        yield reader, writer
    finally:
        writer.close()


async def rest(reader: asyncio.StreamReader) -> bytes:
    """All that comes until the end of the connection."""
    found = bytearray()
    with suppress(ConnectionError):
        async with asyncio.timeout(60):
            while data := await reader.read(1 << 16):
                found += data
    return bytes(found)


def frame(opcode: Opcode, data: bytes = b"", fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=True)


def closing(code: int, reason: str = "") -> bytes:
    return Frame(Opcode.CLOSE, Close(code, reason).serialize()).serialize(mask=False)


async def test_a_websocket_is_counted_among_the_connections_until_it_ends() -> None:
    async with serving() as server:
        async with connect(f"ws://127.0.0.1:{server.address.port}/socket/", proxy=None) as connection:
            await connection.send("hello")
            assert await connection.recv() == "hello"
            assert connection.protocol.extensions == []
            assert server.traffic.used == {"http": 1}
        await none_open(server)


async def none_open(server: HttpServer) -> None:
    async with asyncio.timeout(60):
        while server.traffic.used["http"]:  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_other_requests_are_answered_without_an_upgrade() -> None:
    """Another target, another method, another protocol or none, an older version."""
    others = [
        HANDSHAKE.replace(b"/socket/", b"/other/"),
        HANDSHAKE.replace(b"GET", b"POST") + b"Content-Length: 0\r\n",
        HANDSHAKE.replace(b"Upgrade: websocket", b"Upgrade: h2c"),
        HANDSHAKE.replace(b", Upgrade", b""),
        HANDSHAKE.replace(b"HTTP/1.1", b"HTTP/1.0"),
    ]
    async with serving() as server:
        for head in others:
            reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
            writer.write(head + b"\r\n")
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            writer.close()


async def test_a_server_without_websockets_answers_all_as_requests() -> None:
    server = HttpServer(echoing, LOOPBACK)
    await server.start()
    try:
        headers = HANDSHAKE.decode().partition("\r\n")[2].rstrip()
        assert (await asked(server, "/socket/x", headers=headers.replace("keep-alive, ", ""))).status == 200
    finally:
        await server.stop()


async def test_an_upgrade_behind_another_request_of_the_connection() -> None:
    """No timer of the first request ends the WebSocket."""
    async with serving(idle_seconds=0.01, head_seconds=0.01, answer_seconds=0.01) as server:
        first = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
        writer.write(first + HANDSHAKE + b"\r\n")
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        while b"101 Switching" not in await reader.readuntil(b"\r\n"):
            pass
        await reader.readuntil(b"\r\n\r\n")
        other, closes = await asyncio.open_connection(server.address.host, server.address.port)
        assert await rest(other) == b""  # its time is over, which began later
        closes.close()
        writer.write(frame(Opcode.TEXT, b"hello"))
        assert await reader.readexactly(7) == b"\x81\x05hello"
        writer.close()


async def test_a_handshake_that_is_none_reaches_no_application() -> None:
    """A body in it, frames before its answer, a missing or second key. It is answered, and the connection ends."""
    called: list[Any] = []
    key = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    heads = [
        HANDSHAKE + b"Content-Length: 5\r\n\r\n",
        HANDSHAKE + b"Transfer-Encoding: chunked\r\n\r\n",
        HANDSHAKE + b"\r\n" + frame(Opcode.TEXT, b"early"),
        HANDSHAKE.replace(b"Version: 13", b"Version: 8") + b"\r\n",
        HANDSHAKE.replace(b"AAAA==", b"A") + b"\r\n",
        HANDSHAKE.replace(key, b"") + b"\r\n",
        HANDSHAKE + key.replace(b"AAAA==", b"BAAA==") + b"\r\n",
        HANDSHAKE + b"Sec-WebSocket-Protocol: " + b"a" * 9000 + b"\r\n\r\n",
    ]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        called.append(scope)

    async with serving(app) as server:
        for head in heads:
            reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
            writer.write(head)
            assert (await rest(reader))[9:12] in (b"400", b"426")
            writer.close()
        await none_open(server)
    assert called == []


async def test_the_scope_has_the_request_as_it_came() -> None:
    """Names in lower case as ASGI wants them, and beside it the wire's own spelling."""
    scopes: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)
        await send({"type": "websocket.accept"})

    async with serving(app) as server, raw(server, HANDSHAKE + b"X-Odd: 1\r\nx-ODD: \xe9\r\n\r\n") as (reader, _):
        assert await rest(reader) == b""
    (scope,) = scopes
    assert (scope["type"], scope["raw_path"], scope["query_string"]) == ("websocket", b"/socket/x", b"y=1")
    assert [one for one in scope["headers"] if one[0] == b"x-odd"] == [(b"x-odd", b"1"), (b"x-odd", b"\xe9")]
    assert scope["extensions"]["germane.wire"].headers[-2:] == [(b"X-Odd", b"1"), (b"x-ODD", b"\xe9")]


LARGE = b"\x82\xff" + (MAX_BYTES + 1).to_bytes(8, "big") + b"\0\0\0\0"
HOSTILE: list[tuple[bytes, int]] = [
    (b"\x81\x02hi", 1002),  # not masked
    (b"\xc1\x82\0\0\0\0hi", 1002),  # compressed, which nobody offered
    (frame(Opcode.CONT, b"hi"), 1002),
    (frame(Opcode.TEXT, b"a", fin=False) + frame(Opcode.TEXT, b"b"), 1002),
    (b"\x83\x80\0\0\0\0", 1002),  # an opcode of nobody's
    (b"\x09\x80\0\0\0\0", 1002),  # a ping in two parts
    (b"\x89\xfe\x00\x7e\0\0\0\0" + b"x" * 126, 1002),  # a ping that is too long
    (b"\x88\x81\0\0\0\0\x03", 1002),  # half a code
    (b"\x88\x82\0\0\0\0\x03\xed", 1002),  # 1005
    (b"\x88\x84\0\0\0\0\x03\xe8\xff\xfe", 1007),
    (frame(Opcode.TEXT, b"\xff\xfe"), 1007),
    (frame(Opcode.TEXT, b"\xed\xa0\x80"), 1007),  # half a character of UTF-16
    (LARGE, 1009),
    (b"\x82\xff" + (1 << 63).to_bytes(8, "big") + b"\0\0\0\0", 1009),
    (frame(Opcode.TEXT, b"x" * 60_000, fin=False) + frame(Opcode.CONT, b"x" * 60_000), 1009),
]


async def test_a_frame_against_the_protocol_ends_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    """With the code that the protocol has for it. A message before it arrives; what is still to be sent is no fault."""
    apps = [Watched() for _ in HOSTILE]
    calls = iter(apps)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await next(calls)(scope, receive, send)

    async with serving(app) as server:
        for (bytes_, code), watched in zip(HOSTILE, apps, strict=True):
            watched.goes_on.set()
            async with raw(server) as (reader, writer):
                writer.write(frame(Opcode.TEXT, b"fine") + bytes_)
                said = await rest(reader)
            await watched.disconnected.wait()
            assert (said[:1], said[2:4]) == (b"\x88", code.to_bytes(2, "big"))
            assert [one.get("text", one.get("code")) for one in watched.messages] == ["fine", code]
        await none_open(server)
    assert caplog.records == []


async def test_frames_before_the_answer_to_the_handshake_end_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    """Where they break the protocol; the application learns that the peer has gone."""
    connected = asyncio.Semaphore(0)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        connected.release()
        assert (await receive())["type"] == "websocket.disconnect"

    async with serving(app) as server:
        for count, bad in enumerate((b"\x83\x80\0\0\0\0", frame(Opcode.TEXT, b"\xff")), 1):
            reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
            writer.write(HANDSHAKE + b"\r\n")
            await connected.acquire()
            writer.write(bad)
            assert await rest(reader) == b""
            writer.close()
            assert server.traffic.refused["http_request"] == count
    assert caplog.records == []


async def test_fragments_are_one_message_and_empty_ones_take_no_memory() -> None:
    """However many there are, and with pings between them."""
    async with serving() as server, raw(server) as (reader, writer):
        writer.write(frame(Opcode.TEXT, b"a", fin=False))
        for _ in range(3000):
            writer.write(frame(Opcode.CONT, b"", fin=False))
        writer.write(frame(Opcode.PING, b"?") + frame(Opcode.CONT, "é".encode()[:1], fin=False))
        writer.write(frame(Opcode.CONT, "é".encode()[1:]))
        assert await reader.readexactly(3 + 5) == b"\x8a\x01?" + b"\x81\x03a" + "é".encode()


@pytest.mark.parametrize("whole", [True, False])
async def test_a_message_that_does_not_go_on_ends_the_connection(whole: bool) -> None:
    """Behind a whole fragment, or within a frame; a connection that is silent between two messages stays."""
    async with serving(answer_seconds=0.02) as server, raw(server) as (idle, _), raw(server) as (reader, writer):
        writer.write(frame(Opcode.TEXT, b"x", fin=False) if whole else frame(Opcode.TEXT, b"x" * 1000)[:500])
        assert await rest(reader) == b""
        assert server.traffic.refused["http_slow"] == 1
        assert server.traffic.used["http"] == 1
        assert not idle.at_eof()


async def test_a_peer_that_does_not_read_ends_its_connection_and_takes_little_memory() -> None:
    """What it is sent waits in the application, not in the server."""
    sent = 0

    async def app(scope: Any, receive: Any, send: Any) -> None:
        nonlocal sent
        await receive()
        await send({"type": "websocket.accept"})
        with suppress(OSError):
            while True:
                await send({"type": "websocket.send", "bytes": b"x" * 50_000})
                sent += 50_000

    async with serving(app, relayed_seconds=0.05) as server, raw(server) as (_, writer):
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await none_open(server)
        assert server.traffic.refused["http_slow"] == 1
        writer.transport.abort()
    assert sent < 20 << 20


async def test_pings_of_a_peer_that_does_not_read_take_no_memory() -> None:
    """The latest is answered when it reads again."""
    app = Pausing()
    async with serving(app) as server, raw(server) as (reader, writer):
        await app.blocked()
        for _ in range(200):
            writer.write(frame(Opcode.PING, b"x" * 100) * 100)
            await writer.drain()
        writer.write(frame(Opcode.PING, b"last") + frame(Opcode.TEXT, b"seen"))
        await app.seen.wait()
        assert app.buffered() < 1 << 20
        assert b"\x8a\x04last" in await some(reader, b"\x8a\x04last")


async def test_a_peer_that_closes_without_reading_is_still_told_so() -> None:
    """A ping that came with its close doesn't take the place of the answer."""
    app = Pausing()
    async with serving(app) as server, raw(server) as (reader, writer):
        await app.blocked()
        writer.write(frame(Opcode.PING, b"?") + frame(Opcode.CLOSE, Close(1000, "").serialize()))
        assert (await rest(reader)).endswith(b"\x88\x02\x03\xe8")


async def test_a_connection_whose_application_has_ended_does_not_wait_for_its_peer() -> None:
    """Little is left to be read, and the peer doesn't read it."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while not send.__self__.transport.get_write_buffer_size():
            await send({"type": "websocket.send", "bytes": b"x" * 10_000})

    async with serving(app, answer_seconds=0.05) as server, raw(server) as (_, writer):
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await none_open(server)
        writer.transport.abort()


async def test_a_server_that_stops_while_a_peer_closes_says_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    stopped = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        await receive()
        send.__self__.shutdown()
        stopped.set()

    async with serving(app) as server, raw(server) as (reader, writer):
        writer.write(frame(Opcode.CLOSE, Close(1000, "").serialize()))
        assert await rest(reader) == b"\x88\x02\x03\xe8"
        await stopped.wait()
    assert caplog.records == []


async def some(reader: asyncio.StreamReader, until: bytes) -> bytes:
    found = bytearray()
    async with asyncio.timeout(60):
        while until not in found[-100_000:]:
            found += await reader.read(1 << 16)
    return bytes(found)


class Pausing:
    """Sends until nothing more goes, then waits for a message."""

    def __init__(self) -> None:
        self.seen = asyncio.Event()
        self.sending: asyncio.Task[None] | None = None
        self.send: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        self.send = send
        self.sending = asyncio.create_task(self._fill(send))
        while (await receive())["type"] != "websocket.disconnect":
            self.seen.set()
        self.sending.cancel()

    async def _fill(self, send: Any) -> None:
        for _ in range(400):
            await send({"type": "websocket.send", "bytes": b"x" * 50_000})

    async def blocked(self) -> None:
        while self.send is None or self.send.__self__.writable.is_set():  # noqa: ASYNC110
            await asyncio.sleep(0)

    def buffered(self) -> int:
        return int(self.send.__self__.transport.get_write_buffer_size())


async def test_messages_wait_in_the_system_while_the_application_is_busy() -> None:
    """No more than one read of them is held."""
    app = Watched()
    async with serving(app) as server, raw(server) as (_, writer):
        part = frame(Opcode.BINARY, b"x" * 50_000)
        filled = False
        for _ in range(400):
            writer.write(part)
            filled = writer.transport.get_write_buffer_size() > 1 << 20
            await asyncio.sleep(0)
        assert filled
        app.goes_on.set()
        await writer.drain()
        writer.write(frame(Opcode.CLOSE, Close(1000, "done").serialize()))
        await app.disconnected.wait()
    assert len(app.messages) == 401
    assert app.messages[-1] == {"type": "websocket.disconnect", "code": 1000, "reason": "done"}


@pytest.mark.parametrize(("end", "code"), [(frame(Opcode.CLOSE), 1005), (b"", 1006)], ids=["closed", "cut"])
async def test_a_close_is_told_apart_from_a_connection_that_breaks_off(end: bytes, code: int) -> None:
    app = Watched()
    app.goes_on.set()
    async with serving(app) as server, raw(server) as (_, writer):
        writer.write(frame(Opcode.TEXT, b"x") + end)
        if not end:
            writer.close()
        await app.disconnected.wait()
    assert app.messages[-1]["code"] == code


async def test_beyond_the_limit_a_websocket_ends_after_connections_that_wait_for_a_request() -> None:
    async with serving(max_connections=2, max_per_address=2) as server, raw(server) as (reader, writer):
        waiting = await asyncio.open_connection(server.address.host, server.address.port)
        assert (await asked(server, "/")).status == 200
        assert await rest(waiting[0]) == b""
        writer.write(frame(Opcode.TEXT, b"hello"))
        assert await reader.readexactly(7) == b"\x81\x05hello"
        assert server.traffic.refused["http_full"] == 1
        waiting[1].close()


async def test_a_stopped_server_says_that_it_restarts() -> None:
    async with serving() as server, connect(f"ws://127.0.0.1:{server.address.port}/socket/", proxy=None) as connection:
        await connection.send("hello")
        await connection.recv()
        await server.stop()
        with pytest.raises(ConnectionClosed):
            await connection.recv()
        assert connection.close_code == 1012


async def test_a_refused_handshake_is_no_error_of_the_service(caplog: pytest.LogCaptureFixture) -> None:
    """Anybody could fill the log with it."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.http.response.start", "status": 403, "headers": [(b"content-length", b"0")]})
        await send({"type": "websocket.http.response.body", "body": b""})

    async with serving(app) as server:
        with pytest.raises(InvalidStatus, match="403"):
            await connect(f"ws://127.0.0.1:{server.address.port}/socket/", proxy=None)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


Answering = Callable[[Any, Any, Any], Awaitable[None]]


async def test_an_application_that_fails_ends_its_connection_alone() -> None:
    """Before the handshake with 500, after it without a close."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if scope["query_string"]:
            await send({"type": "websocket.accept"})
        raise ValueError

    logging.getLogger("germane.http").disabled = True
    try:
        async with serving(app) as server:
            async with raw(server) as (reader, _):
                assert await rest(reader) == b""
            reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
            writer.write(HANDSHAKE.replace(b"?y=1", b"") + b"\r\n")
            assert b" 500 " in await rest(reader)
            writer.close()
            await none_open(server)
    finally:
        logging.getLogger("germane.http").disabled = False
