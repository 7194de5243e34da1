"""Proxying: a relay to upstreams on a real port, with nothing of memory, and an upstream that is a bare socket."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from germane.service.http.connections import ConnectionLimits
from germane.service.http.problems import HttpRefused
from germane.service.http.requests import Disconnected, HttpRequest
from germane.service.http.server import HttpServer
from germane.service.proxy.refusals import refusal
from germane.service.proxy.relay import Relay, Relayed
from germane.service.proxy.requests import ProxyRequest
from germane.service.proxy.routes import is_proxied, proxy_route
from germane.settings.upstreams import Upstream
from support.http_requests import LOOPBACK

__all__ = [
    "BareUpstream",
    "Headers",
    "Message",
    "Proxying",
    "bare_upstream",
    "exchanged",
    "proxying",
    "read_message",
    "upstreams_of",
]

Headers = list[tuple[bytes, bytes]]


@dataclass
class Proxying:
    """A running proxy. `relayed` says what became of each request, in the order in which they ended; `parts` are the parts of
    all answers, as they were sent on."""

    relay: Relay
    url: str = ""
    port: int = 0
    limit: int = 1 << 20
    body_seconds: float = 60.0
    added: Headers = field(default_factory=list)
    relayed: list[Relayed] = field(default_factory=list)
    parts: list[bytes] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            request = ProxyRequest(scope, receive)
            route = proxy_route(request.target, self.relay.upstreams)
            body = await request.body(self.limit, self.body_seconds)
        except HttpRefused as refused:
            http = HttpRequest(scope, receive)
            await refusal(http, refused).send(http, send)
        except Disconnected:
            return
        else:
            on_part = self.parts.append
            self.relayed.append(await self.relay.send(request, route, send, body=body, added=self.added, on_part=on_part))


def upstreams_of(**addresses: str) -> Mapping[str, Upstream]:
    return {name: Upstream(name=name, url=url) for name, url in addresses.items()}


@asynccontextmanager
async def proxying(
    upstreams: Mapping[str, Upstream],
    *,
    environ: Mapping[str, str] | None = None,
    connect_seconds: float = 30.0,
    limits: ConnectionLimits | None = None,
    **given: Any,
) -> AsyncIterator[Proxying]:
    """Serves a proxy until the block ends. `given` are fields of `Proxying`."""
    relay = Relay(upstreams, environ=environ, connect_seconds=connect_seconds)
    app = Proxying(relay, **given)
    server = HttpServer(app, LOOPBACK, takes_body=is_proxied, limits=limits)
    relay.open()
    await server.start()
    app.port = server.address.port
    app.url = f"http://{server.address.host}:{server.address.port}/proxy"
    try:
        yield app
    finally:
        await server.stop()
        await relay.close()


# A message of HTTP/1.1 as it stands on the wire.


@dataclass
class Message:
    """The first line, the headers as they are written, and the body without its chunks. `whole` is false where the connection
    ended before the body did."""

    first: bytes
    headers: Headers
    body: bytes
    whole: bool = True

    def header(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key.lower() == name]


async def read_message(reader: asyncio.StreamReader, *, bodiless: bool = False, until_end: bool = False) -> Message:
    """Reads one message; without length and chunks it ends with its head, or with the connection. Raises `EOFError` where none
    came."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head[:-4].split(b"\r\n")
    headers = [(line.partition(b":")[0], line.partition(b":")[2].strip(b" \t")) for line in lines]
    found = Message(first, headers, b"")
    body = bytearray()
    try:
        if bodiless or first.startswith(b"HTTP/1.1 1"):
            pass
        elif found.header(b"transfer-encoding"):
            while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
                body += (await reader.readexactly(size + 2))[:-2]
            while await reader.readuntil(b"\r\n") != b"\r\n":
                pass
        elif length := found.header(b"content-length"):
            body += await reader.readexactly(int(length[0]))
        elif until_end:
            body += await reader.read()
    except asyncio.IncompleteReadError as error:
        body += error.partial
        found.whole = False
    except (ConnectionError, ValueError):
        found.whole = False
    found.body = bytes(body)
    return found


async def exchanged(port: int, request: bytes, *, bodiless: bool = False) -> Message:
    """Sends bytes to a port of this machine, and reads the answer to them; interim ones are passed over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    writer.write(request)
    try:
        async with asyncio.timeout(60):
            while reader.at_eof() is False:
                answer = await read_message(reader, bodiless=bodiless, until_end=True)
                if not answer.first.startswith(b"HTTP/1.1 1"):
                    return answer
            raise EOFError
    finally:
        writer.close()


Answers = Callable[[Message, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


@dataclass
class BareUpstream:
    """What was received, message by message; `ended` counts the connections that have ended."""

    url: str
    port: int
    received: list[Message] = field(default_factory=list)
    opened: int = 0
    ended: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))


@asynccontextmanager
async def bare_upstream(answers: Answers | bytes, *, certificate: Path | None = None) -> AsyncIterator[BareUpstream]:
    """Listens on a free port, reads requests, and answers each with these bytes, or by a function; a function that returns
    false ends the connection. With a `certificate` it speaks TLS."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.opened += 1
        try:
            while True:
                message = await read_message(reader)
                found.received.append(message)
                if isinstance(answers, bytes):
                    writer.write(answers)
                    await writer.drain()
                elif not await answers(message, reader, writer):
                    break
        finally:
            found.ended.release()

    async with upstream_of(serve, certificate=certificate) as url:
        found = BareUpstream(url, int(url.rpartition(":")[2]))
        yield found


@asynccontextmanager
async def upstream_of(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]], *, certificate: Path | None = None
) -> AsyncIterator[str]:
    """Listens on a free port with a function for each connection, which is closed when the function returns; yields the
    address."""
    tls = None if certificate is None else ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    if tls is not None and certificate is not None:
        tls.load_cert_chain(certificate)
    running = set[asyncio.Task[None]]()

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(EOFError, ConnectionError, asyncio.CancelledError):
                await serve(reader, writer)
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(run(reader, writer))
        running.add(task)
        task.add_done_callback(running.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=1 << 20, ssl=tls)
    try:
        yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a port of this machine."""
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
    """The data as one chunk of HTTP."""
    return b"%x\r\n%b\r\n" % (len(data), data)
