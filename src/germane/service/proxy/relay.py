"""Relay: sends a request to an upstream as it came, and the answer back as it comes, byte for byte.

Nothing is added, encoded, decoded, followed or tried again: a redirect goes back to the caller, cookies are nobody's, and what
the caller's library would do after an error it does. A part of an answer is sent on at once, and the next one is read when the
caller has taken it, so that a slow caller slows the upstream and little is held. An answer that breaks off breaks off for the
caller too.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

import httpcore2
from starlette.types import Send

from germane.errors import InvalidInput
from germane.service.http.problems import HttpRefused
from germane.service.http.requests import Disconnected
from germane.service.proxy.headers import Headers, back, onward
from germane.service.proxy.refusals import refusal, unreachable
from germane.service.proxy.requests import ProxyRequest
from germane.service.proxy.routes import ProxyRoute
from germane.settings.upstreams import Upstream
from germane.types.traffic import Ended

_CONNECT_SECONDS = 10.0
_WRITE_SECONDS = 600.0
"""For the upstream to take a piece of a body. Meanwhile nothing else tells whether the caller is still there."""
_KEPT_SECONDS = 15.0
"""That a connection to an upstream is kept for a next request. One that the upstream has closed isn't used."""
_KEPT = 100
"""Unused connections to one upstream that are kept."""
_PIECE = 256 * 1024
"""Bytes of a body that are written at once, so that the event loop goes on."""
_BODILESS = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
"""Answers without a body, as those to HEAD are. Their connection isn't used again: a server that sends one all the same would
have it taken for the answer to somebody else's request."""
_LAST_STATUS = 599
"""The server's library sends no answer with a status above."""
FAULTS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpcore2.ProxyError,
    OSError,
)
"""What the connection to an upstream fails with."""

logging.getLogger("httpcore2").setLevel(logging.WARNING)  # at DEBUG it writes the headers of answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Relayed:
    """What became of a request. `status` and `headers` are the upstream's; without an answer, the status of the error that the
    caller got, and none."""

    ended: Ended
    status: int = 0
    headers: Headers = ()


class Relay:
    """The connections to the `upstreams`, all used on one event loop. `environ` may name HTTP proxies, as other
    programs read them (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`)."""

    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        *,
        environ: Mapping[str, str] | None = None,
        connect_seconds: float = _CONNECT_SECONDS,
    ) -> None:
        self.upstreams = upstreams
        self._environ = environ or {}
        self._timeouts = {"connect": connect_seconds, "pool": connect_seconds, "read": None, "write": _WRITE_SECONDS}
        self._pools: dict[str, httpcore2.AsyncConnectionPool] = {}

    def open(self) -> None:
        """Prepares the connections; requests connect. Idempotent. Raises `InvalidInput` for a certificate or a proxy that can't
        be used."""
        if self._pools:
            return
        trusted = httpcore2.default_ssl_context() if any(one.secure for one in self.upstreams.values()) else None
        for name, upstream in self.upstreams.items():
            self._pools[name] = httpcore2.AsyncConnectionPool(
                ssl_context=trusted if upstream.ca is None else _trusting(upstream),
                proxy=_proxy(upstream, self._environ),
                max_connections=None,  # the server's own limit of connections bounds them
                max_keepalive_connections=_KEPT,
                keepalive_expiry=_KEPT_SECONDS,
            )

    async def close(self) -> None:
        """Closes the connections. Idempotent."""
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await pool.aclose()

    async def send(
        self,
        request: ProxyRequest,
        route: ProxyRoute,
        send: Send,
        *,
        body: bytes | AsyncIterable[bytes],
        headers: Headers | None = None,
        added: Headers = (),
        on_part: Callable[[bytes], object] | None = None,
    ) -> Relayed:
        """Relays a request with this body and these `headers` (None: as they came), and its answer. `added` are headers that
        the answer gets beside its own. `on_part` is called with each part of its body once that was sent on; it must return at
        once, and if it raises, it isn't called again.

        Raises nothing but cancellation. Where the upstream can't be reached, or closes without an answer, the caller gets 502
        or 504 in the provider's shape.
        """
        answer = _Answer(request, send, added, on_part)
        try:
            async with _while_present(request, body_read=isinstance(body, bytes)) as present:
                sent = _pieces(body) if isinstance(body, bytes) else _followed(body, present)
                upstream = route.upstream
                came = request.headers if headers is None else headers
                framed = onward(came, upstream, body if isinstance(body, bytes) else None)
                response = await self._asked(route, request.method, framed, sent)
                try:
                    return await answer.relay(response, present)
                finally:
                    if request.method.upper() == "HEAD" or response.status in _BODILESS or not _is_spent(response):
                        await response.extensions["network_stream"].aclose()
                    await response.aclose()
        except (Disconnected, _Gone):
            return answer.ended("caller")
        except HttpRefused as refused:  # the rest of the body doesn't come
            return await answer.failed(refused)
        except FAULTS as error:
            return await answer.failed(unreachable(route.upstream, error))

    async def upgrade(self, route: ProxyRoute, headers: Headers) -> httpcore2.Response:
        """Returns the upstream's answer to the handshake of a WebSocket: 101, with the connection in the extension
        `network_stream`, or what it refuses with. It must be closed. Raises `HttpRefused` where there is no answer."""
        try:
            return await self._asked(route, "GET", headers, None)
        except FAULTS as error:
            raise unreachable(route.upstream, error) from None

    async def _asked(
        self, route: ProxyRoute, method: str, headers: Headers, content: AsyncIterable[bytes] | None
    ) -> httpcore2.Response:
        """Sends a request. Raises what the upstream's connection fails with."""
        upstream = route.upstream
        scheme = "https" if upstream.secure else "http"
        url = httpcore2.URL(scheme=scheme, host=upstream.host, port=upstream.port, target=route.target)
        asked = httpcore2.Request(method, url, headers=headers, content=content, extensions={"timeout": self._timeouts})
        return await self._pools[upstream.name].handle_async_request(asked)


def _is_spent(response: httpcore2.Response) -> bool:
    """Whether nothing that was received stands behind an answer that was read to its end. Else its connection isn't used again:
    what stands there would be taken for the answer to somebody else's request. What comes later is seen by httpcore itself.

    httpcore, h11 and anyio each hold bytes that were received, and none tells so by a public name. Where one of them keeps
    them elsewhere in another version, this is false, and a test fails, since no connection is used again.
    """
    try:
        parser = response.stream._stream._connection._h11_state  # type: ignore[union-attr]
        stream = response.extensions["network_stream"]._stream
        held = [*parser.trailing_data[:1]]
        while hasattr(stream, "transport_stream"):  # TLS; one inside another where an HTTP proxy is spoken to over TLS
            held += [stream._read_bio.pending, stream._ssl_object.pending()]
            stream = stream.transport_stream
        return not any([*held, stream._protocol.read_queue])
    except AttributeError:
        return False


class _Answer:
    """The answer to one request on its way to the caller."""

    def __init__(self, request: ProxyRequest, send: Send, added: Headers, on_part: Callable[[bytes], object] | None) -> None:
        self._request, self._send, self._added, self._on_part = request, send, added, on_part
        self._begun = False
        self._status, self._headers = 0, list[tuple[bytes, bytes]]()

    async def relay(self, response: httpcore2.Response, present: _Presence) -> Relayed:
        """Sends it as it comes. Raises what the upstream's connection fails with."""
        if not HTTPStatus.OK <= response.status <= _LAST_STATUS:
            raise httpcore2.RemoteProtocolError
        self._status, self._headers = response.status, response.headers
        self._request.wire.relaying(response.extensions["reason_phrase"])
        self._begun = True
        headers = back(response.headers, self._added)
        await self._send({"type": "http.response.start", "status": response.status, "headers": headers})
        stream = response.stream
        assert isinstance(stream, AsyncIterable)
        async for part in stream:
            await self._send({"type": "http.response.body", "body": part, "more_body": True})
            self._copy(part)
        present.stop()  # at the end of an answer, the server says that the caller has gone
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        return self.ended("whole")

    def _copy(self, part: bytes) -> None:
        try:
            if self._on_part is not None:
                self._on_part(part)
        except Exception:
            self._on_part = None

    async def failed(self, refused: HttpRefused) -> Relayed:
        """The upstream gave no answer, or no whole one. An answer that has begun is cut."""
        if self._begun:
            self._request.wire.cut()
            await self._request.gone()
            return self.ended("upstream")
        self._status = refused.status
        await refusal(self._request.http, refused).send(self._request.http, self._send)
        return self.ended("unreachable")

    def ended(self, how: Ended) -> Relayed:
        return Relayed(ended=how, status=self._status, headers=self._headers)


# The caller may go away at any time: the request to the upstream then ends too.


class _Gone(Exception):
    """The caller has closed the connection."""


class _Presence:
    """Whether the caller is still there. The connection is watched from `watch` on: before, the body is read from it."""

    def __init__(self, request: ProxyRequest, scope: asyncio.Timeout) -> None:
        self._request, self._scope = request, scope
        self._watching: asyncio.Task[None] | None = None
        self._stopped = False

    def watch(self) -> None:
        """Ends the block of `_while_present` as soon as the caller has gone. Idempotent."""
        if self._watching is None and not self._stopped:
            self._watching = asyncio.ensure_future(self._request.gone())
            self._watching.add_done_callback(self._left)

    def stop(self) -> None:
        self._stopped = True
        if self._watching is not None:
            self._watching.cancel()

    def _left(self, watching: asyncio.Task[None]) -> None:
        if not (watching.cancelled() or self._stopped):
            with suppress(RuntimeError):  # the block has just ended
                self._scope.reschedule(asyncio.get_running_loop().time())


@asynccontextmanager
async def _while_present(request: ProxyRequest, *, body_read: bool) -> AsyncGenerator[_Presence, None]:
    """Runs the block while the caller is there. With `body_read` it is watched from the beginning. Raises `_Gone`."""
    try:
        async with asyncio.timeout(None) as scope:
            present = _Presence(request, scope)
            if body_read:
                present.watch()
            try:
                yield present
            finally:
                present.stop()
    except TimeoutError:
        if scope.expired():
            raise _Gone from None
        raise


async def _pieces(body: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]


async def _followed(body: AsyncIterable[bytes], present: _Presence) -> AsyncGenerator[bytes, None]:
    """The parts of the body; afterwards the connection is watched."""
    try:
        async for part in body:
            yield part
    finally:
        if hasattr(body, "aclose"):
            await body.aclose()
        present.watch()


# How an upstream is connected to.


def _trusting(upstream: Upstream) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=upstream.ca)
    except (OSError, ssl.SSLError):
        raise InvalidInput("holds no certificates that can be read", path=f"upstreams.{upstream.name}.ca") from None


def _proxy(upstream: Upstream, environ: Mapping[str, str]) -> httpcore2.Proxy | None:
    """The HTTP proxy that the environment names for the upstream. This machine itself is reached without."""
    named = {name.lower(): value for name, value in environ.items() if value and name.lower().endswith("_proxy")}
    named |= {name: value for name, value in environ.items() if value and name.endswith("_proxy")}
    address = named.get("https_proxy" if upstream.secure else "http_proxy") or named.get("all_proxy")
    if not address or upstream.loopback:
        return None
    if proxy_bypass_environment(f"{upstream.host}:{upstream.port}", {"no": named.get("no_proxy", "")}):
        return None
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise InvalidInput("must be an address such as http://proxy.example.com:3128", path="https_proxy") from None
    auth = (unquote(parts.username).encode(), unquote(parts.password or "").encode()) if parts.username else None
    return httpcore2.Proxy(f"{parts.scheme}://{host}:{port}", auth=auth)
