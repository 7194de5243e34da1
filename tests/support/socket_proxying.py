"""Socket proxying: the WebSockets of a proxy on a real port, with hooks of the test's own, and upstreams that echo or follow a
script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from germane.service.http.connections import ConnectionLimits
from germane.service.http.problems import HttpRefused
from germane.service.http.requests import HttpRequest
from germane.service.http.server import HttpServer
from germane.service.http.sockets import Sockets
from germane.service.proxy.refusals import refusal
from germane.service.proxy.relay import Relay
from germane.service.proxy.requests import ProxyRequest
from germane.service.proxy.routes import is_proxied, proxy_route
from germane.service.proxy.socket import ProxySockets, Touch, denying
from germane.service.proxy.socket_responses import SocketResponse
from germane.settings.upstreams import Upstream
from support.http_requests import LOOPBACK
from support.proxying import upstreams_of

__all__ = [
    "SocketProxying",
    "create",
    "echo",
    "generated",
    "opened",
    "socket_proxying",
    "until_closed",
    "upstream_of",
]

Serving = Callable[[ServerConnection], Awaitable[None]]


@dataclass
class SocketProxying:
    """A running proxy. `responses` are those that it told; `ended` is released when a connection's application ends."""

    sockets: ProxySockets
    relay: Relay
    server: HttpServer | None = None
    touch: Touch[Any] | None = None
    remembers: bool = False
    checks_origin: bool = True
    responses: list[SocketResponse[Any]] = field(default_factory=list)
    ended: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))

    @property
    def port(self) -> int:
        assert self.server is not None
        return self.server.address.port

    def url(self, upstream: str = "mine", path: str = "/v1/responses", scheme: str = "ws") -> str:
        return f"{scheme}://127.0.0.1:{self.port}/proxy/{upstream}{path}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await self._answer(scope, receive, send)
        finally:
            self.ended.release()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        http = HttpRequest(scope, receive)
        try:
            request = ProxyRequest(scope, receive)
            if self.checks_origin:
                request.http.check_origin()
            route = proxy_route(request.target, self.relay.upstreams)
        except HttpRefused as refused:
            is_socket = scope["type"] == "websocket"
            await refusal(http, refused).send(http, denying(send) if is_socket else send)
            return
        if scope["type"] != "websocket":
            await self.relay.send(request, route, send, body=b"")
            return
        answered = self.responses.append if self.remembers else None
        await self.sockets.serve(request, route, receive, send, touch=self.touch, answered=answered)


@asynccontextmanager
async def socket_proxying(
    *,
    max_bytes: int = 1 << 20,
    touch_seconds: float = 30.0,
    beat_seconds: float = 30.0,
    limits: ConnectionLimits | None = None,
    upstreams: dict[str, Upstream] | None = None,
    given: dict[str, Any] | None = None,
    **addresses: str,
) -> AsyncIterator[SocketProxying]:
    """Serves until the block ends. `addresses` are upstreams by name, `given` fields of `SocketProxying`."""
    relay = Relay(upstreams or upstreams_of(**addresses), connect_seconds=30.0)
    app = SocketProxying(ProxySockets(relay, touch_seconds=touch_seconds, beat_seconds=beat_seconds), relay, **(given or {}))
    app.server = HttpServer(
        app, LOOPBACK, takes_body=is_proxied, sockets=Sockets(takes=is_proxied, max_bytes=max_bytes), limits=limits
    )
    relay.open()
    await app.server.start()
    try:
        yield app
    finally:
        await app.server.stop()
        await relay.close()


@asynccontextmanager
async def upstream_of(serving: Serving, **options: Any) -> AsyncIterator[str]:
    """Serves WebSockets until the block ends, and yields the address."""
    async with serve(serving, "127.0.0.1", 0, **({"compression": None, "max_size": None} | options)) as server:
        (listener,) = server.sockets
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


async def echo(connection: ServerConnection) -> None:
    """Sends back what comes."""
    async for message in connection:
        await connection.send(message)


class _Connect(connect):
    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


def opened(url: str, **options: Any) -> connect:
    """A client's connection, without a proxy and without compression. It follows no redirect."""
    return _Connect(url, **({"proxy": None, "compression": None, "max_size": None, "open_timeout": 60} | options))


def create(words: Any = "Hello.", **fields: Any) -> str:
    return json.dumps({"type": "response.create", "model": "gpt-5.4", "input": words, **fields})


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
