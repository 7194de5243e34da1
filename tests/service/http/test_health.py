"""The HTTP port: liveness, readiness, metrics, and no other route."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from germane.errors import InvalidInput
from germane.service.http.health import app
from germane.service.http.server import HttpServer
from germane.settings.values import Address
from support.http_requests import LOOPBACK, asked

pytestmark = pytest.mark.requirement("OPS-1")


@asynccontextmanager
async def serving(
    *reasons: str, metrics: Callable[[], bytes] | None = None, degraded: Callable[[], Sequence[str]] = tuple
) -> AsyncIterator[HttpServer]:
    server = HttpServer(app(reasons=lambda: reasons, degraded=degraded, metrics=metrics, version="0.1.0"), LOOPBACK)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def test_it_lives_as_long_as_it_answers() -> None:
    """Ready or not: restarting a process that isn't ready would make an overload worse."""
    async with serving("store_not_answering", "loop_lag") as server:
        found = await asked(server, "/health")
    assert (found.status, found.json) == (200, {"status": "alive", "version": "0.1.0"})
    assert found.headers["cache-control"] == "no-store"
    assert "server" not in found.headers


async def test_it_is_ready_or_says_why_not() -> None:
    """503, with every reason."""
    async with serving() as server:
        found = await asked(server, "/ready")
    assert (found.status, found.json) == (200, {"status": "ready", "reasons": []})
    async with serving("stopping", "loop_lag") as server:
        found = await asked(server, "/ready")
    assert (found.status, found.json) == (503, {"status": "not ready", "reasons": ["stopping", "loop_lag"]})


@pytest.mark.requirement("SEARCH-4")
async def test_what_is_missing_does_not_make_it_unready() -> None:
    """Keywords serve without an embedder."""
    async with serving(degraded=lambda: ["embedder_not_answering"]) as server:
        found = await asked(server, "/ready")
    assert (found.status, found.json["reasons"], found.json["degraded"]) == (200, [], ["embedder_not_answering"])


async def test_metrics_are_text_as_prometheus_reads_it() -> None:
    """Made in a thread."""
    async with serving(metrics=lambda: b"germane_ready 1.0\n") as server:
        found = await asked(server, "/metrics")
    assert (found.status, found.body) == (200, b"germane_ready 1.0\n")
    assert found.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"


async def test_metrics_that_are_off_are_not_there() -> None:
    """As any other path."""
    async with serving() as server:
        assert (await asked(server, "/metrics")).status == 404


@pytest.mark.parametrize(
    "path", ["/", "/health/", "/READY", "/metrics/x", "/docs", "/ready/../health", "//elsewhere.example/health"]
)
async def test_nothing_else_is_served(path: str) -> None:
    """404 as JSON, without the path and without leading elsewhere."""
    async with serving(metrics=lambda: b"") as server:
        found = await asked(server, path, headers="Host: elsewhere.example")
    assert (found.status, found.json) == (404, {"error": "not found"})
    assert "location" not in found.headers


async def test_only_reading_is_served() -> None:
    """405 as JSON."""
    async with serving() as server:
        found = await asked(server, "/ready", method="DELETE")
    assert (found.status, found.json) == (405, {"error": "method not allowed"})


@pytest.mark.parametrize(
    "header", ["Host: elsewhere.example", "Host: a b", "Host: x\r\nX-Forwarded-Host: y\r\nX-Forwarded-For: z"]
)
async def test_what_a_request_says_of_its_host_changes_nothing(header: str) -> None:
    """Nor is it repeated."""
    async with serving() as server:
        found = await asked(server, "/ready", headers=header)
    assert found.status in (200, 400)
    assert not any(word in repr(found) for word in ("elsewhere", "X-Forwarded"))


async def test_a_fault_says_no_more_than_that(caplog: pytest.LogCaptureFixture) -> None:
    """What was raised may quote anything."""

    def fails() -> bytes:
        raise ValueError("open sesame")

    async with serving(metrics=fails) as server:
        found = await asked(server, "/metrics")
    assert (found.status, found.json) == (500, {"error": "internal"})


@pytest.mark.parametrize("bytes_", [b"\x16\x03\x01\x02", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"x" * 100_000])
async def test_what_is_no_request_is_refused_and_the_next_is_answered(bytes_: bytes) -> None:
    """Whatever somebody sends."""
    async with serving() as server:
        reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
        writer.write(bytes_)
        writer.write_eof()
        assert b"200 OK" not in await reader.read()
        writer.close()
        assert (await asked(server, "/health")).status == 200


async def test_signals_are_left_to_the_process() -> None:
    """Serving HTTP takes none of them."""
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    async with serving() as server:
        await asked(server, "/health")
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


async def test_an_address_that_is_taken_is_named() -> None:
    """Instead of ending the process."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            InvalidInput, match=rf"http address 127.0.0.1:{port}: can't be listened on \(Address already in use\)"
        ):
            await HttpServer(app(reasons=tuple), Address(host="127.0.0.1", port=port)).start()


async def test_several_can_share_a_port() -> None:
    """As the workers of one service do; when one stops, the others go on."""
    first = HttpServer(app(reasons=tuple), LOOPBACK, reuse_port=True)
    await first.start()
    second = HttpServer(app(reasons=tuple), first.address, reuse_port=True)
    await second.start()
    await first.stop()
    assert (await asked(second, "/health")).status == 200
    await second.stop()


async def test_stopped_it_leaves_nothing_running() -> None:
    """No task, no port; stopping again is fine."""
    before = asyncio.all_tasks()
    async with serving() as server:
        pass
    await server.stop()
    assert asyncio.all_tasks() == before
    with pytest.raises(ConnectionRefusedError):
        await asked(server, "/health")
