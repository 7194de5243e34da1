"""Proxy requests: a request for an upstream as it came, with the spelling and the order of its headers, and its body."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.types import Receive, Scope

from germane.service.http.connections import HttpWire
from germane.service.http.problems import HttpRefused
from germane.service.http.requests import Disconnected, HttpRequest
from germane.service.proxy.headers import OWN

_REFUSED = ("CONNECT", "TRACE")
"""Methods that aren't relayed: the first asks for a tunnel, the second shows the caller what the upstream was sent."""


class ProxyRequest:
    """One request. `method`, `target` and `headers` are as the client wrote them; `http` is the same request as the service's
    other routes read it. Raises `HttpRefused` for a method that isn't relayed."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.wire = HttpWire.of(scope)
        self.http = HttpRequest(scope, receive)
        self.target, self.headers = self.wire.target, self.wire.headers
        self.method = self.http.method
        self._receive = receive
        if self.method.upper() in _REFUSED:
            raise HttpRefused(HTTPStatus.METHOD_NOT_ALLOWED, "the proxy relays neither CONNECT nor TRACE")

    @property
    def own(self) -> Mapping[str, str]:
        """The first value of each of germane's own headers, by the end of its name in lower case: `key`, `agent` …"""
        start = OWN.decode()
        return {name.removeprefix(start): value for name, value in self.http.headers.items() if name.startswith(start)}

    @property
    def is_ambiguous(self) -> bool:
        """Whether one of germane's own headers stands there twice with different values, as where a gateway adds its own behind
        a caller's."""
        own = {(name.lower(), value) for name, value in self.headers if name.lower().startswith(OWN)}
        return len({name for name, _ in own}) < len(own)

    async def body(self, limit: int, seconds: float) -> bytes | AsyncGenerator[bytes, None]:
        """Returns the whole body where it has at most `limit` bytes, else its parts as they come. Raises `HttpRefused` where
        no part of it comes for `seconds`, and `Disconnected` where the caller has gone; so do the parts."""
        declared = self.http.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > limit:
            return self._rest([], seconds)
        parts, size, more = list[bytes](), 0, True
        while more:
            part, more = await self._part(seconds)
            parts.append(part)
            size += len(part)
            if size > limit and more:
                return self._rest(parts, seconds)
        return b"".join(parts)

    async def gone(self) -> None:
        """Returns when the caller has closed the connection, after the body was read or is no longer wanted."""
        await self.http.gone()

    async def _rest(self, read: Sequence[bytes], seconds: float) -> AsyncGenerator[bytes, None]:
        """The parts that were read, and those that still come."""
        for part in read:
            yield part
        more = True
        while more:
            part, more = await self._part(seconds)
            if part:
                yield part

    async def _part(self, seconds: float) -> tuple[bytes, bool]:
        try:
            async with asyncio.timeout(seconds):
                message: Mapping[str, Any] = await self._receive()
        except TimeoutError:
            text = f"no part of the request's body came for {seconds:g} s"
            raise HttpRefused(HTTPStatus.REQUEST_TIMEOUT, text, connection="close") from None
        if message["type"] == "http.disconnect":
            raise Disconnected
        return message.get("body", b""), message.get("more_body", False)
