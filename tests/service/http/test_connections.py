"""HTTP connections that are silent, slow or malformed are dropped or refused, and never keep a new client out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import h11
import pytest

from germane.service.http.connections import ConnectionLimits, Connections, _StrictParser
from germane.service.http.health import app
from germane.service.http.server import HttpServer
from support.http_requests import LOOPBACK, asked

pytestmark = pytest.mark.requirement("OPS-1")

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def serving(**limits: float) -> AsyncIterator[HttpServer]:
    server = HttpServer(app(reasons=tuple, metrics=lambda: b"x"), LOOPBACK, limits=ConnectionLimits(**limits))  # type: ignore[arg-type]
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@asynccontextmanager
async def silent(server: HttpServer, count: int, address: str = "127.0.0.1") -> AsyncIterator[list[Streams]]:
    """Opens `count` connections that send nothing; yields when the server has accepted all of them."""
    known = server.traffic.used["http"]
    found = [
        await asyncio.open_connection(server.address.host, server.address.port, local_addr=(address, 0)) for _ in range(count)
    ]
    while server.traffic.used["http"] < known + count:  # noqa: ASYNC110
        await asyncio.sleep(0)
    try:
        yield found
    finally:
        for _, writer in found:
            writer.close()


async def said(server: HttpServer, request: bytes) -> bytes:
    """Everything that the server sends until it closes the connection."""
    reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
    writer.write(request)
    try:
        async with asyncio.timeout(60):
            return await reader.read()
    finally:
        writer.close()


async def ended(streams: Streams) -> None:
    """Returns when the server has closed the connection."""
    async with asyncio.timeout(60):
        try:
            assert await streams[0].read() == b""
        except ConnectionError:
            return


async def test_health_is_answered_through_more_silent_connections_than_there_is_room_for() -> None:
    """No request is refused as too busy."""
    async with serving() as server, silent(server, 150):
        assert (await asked(server, "/health")).status == 200


async def test_the_connection_that_was_silent_longest_makes_room_for_a_new_one() -> None:
    """And no other."""
    async with serving(max_connections=3, max_per_address=3) as server, silent(server, 3) as open:
        assert (await asked(server, "/health")).status == 200
        await ended(open[0])
        open[1][1].write(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"200 OK" in await open[1][0].read()
        assert server.traffic.refused["http_full"] == 1


async def test_one_address_makes_room_among_its_own() -> None:
    """Connections from other addresses aren't dropped for it."""
    async with (
        serving(max_connections=9, max_per_address=2) as server,
        silent(server, 1, "127.0.0.2") as others,
        silent(server, 2) as own,
    ):
        assert (await asked(server, "/health")).status == 200
        await ended(own[0])
        others[0][1].write(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert b"200 OK" in await others[0][0].read()


@pytest.mark.parametrize("bytes_", [b"", b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: "])
async def test_a_head_that_does_not_come_ends_the_connection(bytes_: bytes) -> None:
    """Nothing, or a part of it."""
    async with serving(head_seconds=0.01) as server:
        reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
        writer.write(bytes_)
        await ended((reader, writer))
        writer.close()
        assert server.traffic.refused["http_slow"] == 1


async def test_a_slow_head_after_an_answer_ends_the_connection_too() -> None:
    """The time counts from its first byte."""
    async with serving(head_seconds=0.01) as server:
        reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
        writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /hea")
        assert b"200 OK" in await reader.readuntil(b"}")
        await ended((reader, writer))
        writer.close()


async def test_a_connection_that_is_done_is_kept_for_a_while_and_no_longer() -> None:
    """As a probe that keeps it likes."""
    async with serving(idle_seconds=0.01) as server:
        reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
        writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"200 OK" in await reader.readuntil(b"}")
        await ended((reader, writer))
        writer.close()


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5",
        b"Transfer-Encoding: chunked",
        b"Content-Length: 5000",
        b"Content-Length: 5\r\nContent-Length: 6",
        b"Content-Length: " + b"9" * 5000,
    ],
)
async def test_a_body_or_a_length_that_is_said_twice_is_refused(head: bytes) -> None:
    """The connection is closed, so that bytes after the head can't become a second request."""
    async with serving() as server:
        smuggled = b"GET /ready HTTP/1.1\r\nHost: y\r\n\r\n"
        told = await said(server, b"POST /health HTTP/1.1\r\nHost: x\r\n" + head + b"\r\n\r\n" + smuggled)
        assert told.startswith(b"HTTP/1.1 400 ")
        assert told.count(b"HTTP/1.1") == 1
        assert (await asked(server, "/health")).status == 200


class Kept:
    """A connection that knows whether it was dropped."""

    def __init__(self) -> None:
        self.dropped = False

    def drop(self) -> None:
        self.dropped = True


def test_a_connection_that_is_answered_goes_last() -> None:
    """And still goes: a new one always gets in."""
    table = Connections(ConnectionLimits(max_connections=2, max_per_address=2))
    first, second, third, fourth = Kept(), Kept(), Kept(), Kept()
    for one in (first, second):
        table.opened(one, "a")
    table.answering(first)
    table.opened(third, "a")
    assert [one.dropped for one in (first, second, third)] == [False, True, False]
    table.answering(third)
    table.opened(fourth, "a")
    assert [one.dropped for one in (first, third, fourth)] == [True, False, False]
    for one in (first, second, third, fourth, fourth):
        table.closed(one)
    assert table.traffic.used == {"http": 0}


async def test_the_head_of_an_answer_goes_out_with_its_first_part() -> None:
    """Where its length is known; a stream's head isn't held back. So one write wakes the client."""
    parser = _StrictParser(lambda target: True, 1 << 14)
    for length, held in (((b"content-length", b"2"), True), ((b"transfer-encoding", b"chunked"), False)):
        parser.receive_data(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert isinstance(parser.next_event(), h11.Request)
        assert isinstance(parser.next_event(), h11.EndOfMessage)
        head = parser.send(h11.Response(status_code=200, headers=[length]))
        part = parser.send(h11.Data(data=b"ok"))
        assert head is not None
        assert part is not None
        assert (head == b"") == held
        assert part.startswith(b"HTTP/1.1 200") == held
        assert b"ok" in part
        parser.send(h11.EndOfMessage())
        parser.start_next_cycle()
