"""Requests: what is read of an HTTP request before it is known what it calls: headers, guard and body.

A service that asks for no keys is reached from this machine only. A page in this machine's browser is on this machine too, so
such a service answers only to the machine's own names (DNS rebinding), and to no page of another site.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from starlette.types import Receive, Scope

from germane.service.http.problems import HttpRefused

_JSON = "application/json"
_DISCARDED = 2
"""A body of up to so many times the limit is received to its end and discarded: a client that still sends doesn't read the
refusal, and its system drops it when the connection is closed."""


class HttpRequest:
    """One request; `headers` are the first of each name, in lower case."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.method: str = scope.get("method", "GET")  # a WebSocket's handshake has none
        self.raw_path: bytes = scope["raw_path"]
        self.query: bytes = scope["query_string"]
        self.peer = "http:{}:{}".format(*(scope["client"] or ("", 0)))
        self.headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            self.headers.setdefault(name.decode("latin-1"), value.decode("latin-1"))
        self._receive = receive

    @property
    def metadata(self) -> Iterator[tuple[str, str]]:
        """The headers, as admission reads them."""
        return iter(self.headers.items())

    def check_origin(self) -> None:
        """Raises `HttpRefused` for a request that a page of another site may have sent. For a service without keys."""
        host = self.headers.get("host", "")
        if not is_loopback(host):
            raise HttpRefused(HTTPStatus.FORBIDDEN, "without API keys the service answers to localhost and 127.0.0.1 only")
        origin = self.headers.get("origin")
        if self.headers.get("sec-fetch-site") == "cross-site" or (origin is not None and urlsplit(origin).netloc != host):
            raise HttpRefused(HTTPStatus.FORBIDDEN, "a page of another site can't call the service")

    async def body(self, limit: int, seconds: float) -> bytes:
        """Returns the body, which must be JSON, empty for none. Raises `HttpRefused` for more than `limit` bytes, for a body
        that doesn't come within `seconds`, and for what isn't JSON by its header; `Disconnected` where the caller has gone."""
        declared = self.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > _DISCARDED * limit:
            raise _too_large(limit)
        has_body = "transfer-encoding" in self.headers or declared not in ("", "0")
        if has_body:
            self._check_type()
        try:
            async with asyncio.timeout(seconds):
                return await self._read(limit)
        except TimeoutError:
            raise HttpRefused(HTTPStatus.REQUEST_TIMEOUT, f"the request's body didn't come within {seconds:g} s") from None

    async def _read(self, limit: int) -> bytes:
        parts, size = [], 0
        while True:
            message: Mapping[str, Any] = await self._receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            part = message.get("body", b"")
            size += len(part)
            if size <= limit:
                parts.append(part)
            else:
                parts.clear()
            if size > _DISCARDED * limit or (size > limit and not message.get("more_body", False)):
                raise _too_large(limit)
            if not message.get("more_body", False):
                return b"".join(parts)

    async def gone(self) -> None:
        """Returns when the caller has closed the connection, after the body was read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def _check_type(self) -> None:
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != _JSON:
            raise HttpRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"the body must be {_JSON}: say so in content-type")
        if self.headers.get("content-encoding", "identity").lower() != "identity":
            raise HttpRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body can't be compressed: send it as it is")


class Disconnected(Exception):
    """The caller has closed the connection."""


class RunningRequests:
    """Counts the requests that are being answered, so that a service that stops can wait for them. For one event loop."""

    def __init__(self) -> None:
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Counts a request during the block."""
        self._running += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()

    async def ended(self, seconds: float) -> None:
        """Returns when no request runs, after `seconds` at the latest. With 0, earlier calls return too."""
        if not seconds:
            self._idle.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), seconds)


def is_loopback(host: str) -> bool:
    """Whether a `Host` header names this machine as itself: `localhost`, 127.0.0.1 or [::1], with any port."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def _too_large(limit: int) -> HttpRefused:
    return HttpRefused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {limit:,} bytes", connection="close")
