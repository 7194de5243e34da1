"""Upstream socket: one WebSocket to an upstream, opened with a caller's headers over the relay's connections.

The handshake and the bytes go over the relay, so that TLS, proxies and the operator's key are the same as for other requests;
the frames are read and written by `websockets`. Compression is offered where the caller offers extensions.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpcore2
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidState
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory
from websockets.frames import CloseCode, Opcode
from websockets.headers import build_extension
from websockets.typing import Subprotocol
from websockets.uri import WebSocketURI

from germane.service.http.problems import HttpRefused
from germane.service.proxy.headers import Headers, back, onward
from germane.service.proxy.relay import FAULTS, Relay
from germane.service.proxy.requests import ProxyRequest
from germane.service.proxy.routes import ProxyRoute

_LOGGER = logging.getLogger("germane.proxy.frames")
_LOGGER.setLevel(logging.CRITICAL)  # the library writes headers and messages at DEBUG
_MAX_MESSAGE = 64 * 1024**2
"""Bytes of one message of an upstream: an event repeats the whole output, images included."""
_MAX_REFUSAL = 1024**2
_READ_BYTES = 32 * 1024
_HANDSHAKE_SECONDS = 30.0
_HANDSHAKE = (b"connection", b"upgrade")
_OWN = b"sec-websocket-"
_LAST_BEAT = 3
"""Beats without a sign of life after which an upstream counts as gone."""


@dataclass(frozen=True, slots=True)
class Closed:
    """How a side closed its connection: with a code and a reason, or without (`code` None). `cut` says that it broke off."""

    code: int | None = None
    reason: str = ""
    cut: bool = False


class HandshakeRefused(Exception):
    """The upstream refuses the WebSocket with an answer of its own."""

    def __init__(self, status: int, headers: Headers, body: bytes) -> None:
        super().__init__(f"the upstream refuses the WebSocket with {status}")
        self.status, self.headers, self.body = status, headers, body


class UpstreamSocket:
    """An open WebSocket. `headers` are those of the upstream's answer that go back to the caller, `subprotocol` is the one that
    it chose. One task may receive; any number may send."""

    def __init__(self, response: httpcore2.Response, protocol: ClientProtocol, *, beat_seconds: float) -> None:
        self._response, self._protocol, self._beat_seconds = response, protocol, beat_seconds
        self._stream = response.extensions["network_stream"]
        self.headers = [(name, value) for name, value in back(response.headers) if not name.lower().startswith(_OWN)]
        self.subprotocol = protocol.subprotocol
        self.closed: Closed | None = None
        """How the connection ended; None while it is open."""
        self._messages: deque[str | bytes] = deque()
        self._partial, self._is_text = bytearray(), False
        self._writing = asyncio.Lock()
        self._reads, self._silent_beats = False, 0
        self._beating = asyncio.create_task(self._beat())

    @classmethod
    async def connect(cls, relay: Relay, request: ProxyRequest, route: ProxyRoute, *, beat_seconds: float) -> UpstreamSocket:
        """Asks the upstream for a WebSocket as the caller asked for it. Raises `HandshakeRefused`, and `HttpRefused` where the
        upstream can't be reached or doesn't answer as it must."""
        offered = _values(request.headers, b"sec-websocket-protocol")
        protocol = ClientProtocol(
            _NOWHERE,
            subprotocols=[Subprotocol(name.strip()) for value in offered for name in value.split(",")] or None,
            extensions=[ClientPerMessageDeflateFactory()],
            max_size=_MAX_MESSAGE,
            logger=_LOGGER,
        )
        try:
            async with asyncio.timeout(_HANDSHAKE_SECONDS):
                response = await relay.upgrade(route, _handshake(onward(request.headers, route.upstream, None), protocol))
        except TimeoutError:
            raise _bad_handshake(route, HTTPStatus.GATEWAY_TIMEOUT) from None
        if response.status != HTTPStatus.SWITCHING_PROTOCOLS:
            raise await _refused(response, route)
        protocol.receive_data(_head(response.headers))
        protocol.events_received()
        if protocol.handshake_exc is not None:
            await response.aclose()
            raise _bad_handshake(route, HTTPStatus.BAD_GATEWAY)
        return cls(response, protocol, beat_seconds=beat_seconds)

    async def send(self, message: str | bytes) -> None:
        """Sends one message, behind those that were given before. Raises one of `FAULTS` where the connection has ended."""
        try:
            if isinstance(message, str):
                self._protocol.send_text(message.encode())
            else:
                self._protocol.send_binary(message)
        except InvalidState:
            raise ConnectionResetError from None
        await self._flush()

    async def receive(self) -> str | bytes | None:
        """Returns the next message, None when the connection has ended."""
        while not self._messages and self.closed is None:
            await self._read()
        return self._messages.popleft() if self._messages else None

    async def close(self, closed: Closed) -> None:
        """Says that the caller has closed. The upstream's answer is the end of what is received."""
        try:
            self._protocol.send_close(closed.code, closed.reason)
            await self._flush()
        except (InvalidState, *FAULTS):  # the upstream closes at the same time
            return

    async def aclose(self) -> None:
        """Ends the connection at once. Idempotent."""
        self._beating.cancel()
        await self._response.aclose()

    async def _read(self) -> None:
        self._reads = True
        try:
            data = await self._stream.read(_READ_BYTES)
        except Exception:  # also where TLS has to write by itself while a message is written
            data = b""
        self._reads, self._silent_beats = False, 0
        if not data:
            self.closed = Closed(cut=True)
            return
        self._protocol.receive_data(data)
        for frame in self._protocol.events_received():
            if frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):  # type: ignore[union-attr]
                self._take(frame)
        told = self._protocol.close_rcvd
        if self._protocol.parser_exc is not None:  # the caller's own library would close with this
            sent = self._protocol.close_sent
            self.closed = Closed(cut=True) if sent is None else Closed(sent.code)
        elif told is not None:
            self.closed = Closed(None if told.code == CloseCode.NO_STATUS_RCVD else told.code, told.reason)
        if not self._writing.locked():  # pongs, and the answer to a close: else who writes now writes them too
            try:
                await self._flush()
            except FAULTS:
                self.closed = self.closed or Closed(cut=True)

    def _take(self, frame: Any) -> None:
        if frame.opcode is not Opcode.CONT:
            self._partial, self._is_text = bytearray(), frame.opcode is Opcode.TEXT
        self._partial += frame.data
        if not frame.fin:
            return
        message, self._partial = self._partial, bytearray()
        if not self._is_text:
            self._messages.append(bytes(message))
            return
        try:
            self._messages.append(message.decode())
        except UnicodeDecodeError:
            self._protocol.fail(CloseCode.INVALID_DATA)
            self.closed = Closed(CloseCode.INVALID_DATA)

    async def _flush(self) -> None:
        async with self._writing:
            while data := b"".join(self._protocol.data_to_send()):
                await self._stream.write(data)

    async def _beat(self) -> None:
        """Pings while nothing comes. What isn't read since the caller is slow doesn't count. Beats are counted and not time, so
        that a busy event loop isn't taken for a silent upstream."""
        while self._silent_beats < _LAST_BEAT:
            await asyncio.sleep(self._beat_seconds)
            self._silent_beats += self._reads
            if self._silent_beats and not self._writing.locked():
                try:
                    self._protocol.send_ping(b"")
                    await self._flush()
                except (InvalidState, *FAULTS):
                    return
        await self._stream.aclose()


_NOWHERE = WebSocketURI(False, "upstream", 80, "/", "")  # the relay knows where it is


def _values(headers: Headers, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


def _handshake(headers: Headers, protocol: ClientProtocol) -> list[tuple[bytes, bytes]]:
    """The caller's headers with a key of this handshake's own. Where the caller offers extensions, those that are understood
    here are offered."""
    found = list[tuple[bytes, bytes]]()
    factories = list(protocol.available_extensions or ())
    for name, value in headers:
        lower = name.lower()
        if lower == _OWN + b"key":
            found.append((name, protocol.key.encode()))
        elif lower == _OWN + b"extensions":
            if factories:
                offered = build_extension([(one.name, one.get_request_params()) for one in factories])
                found.append((name, offered.encode()))
                factories = []
        else:
            found.append((name, value))
    return [*found, (b"Connection", b"Upgrade"), (b"Upgrade", b"websocket")]


def _head(headers: Headers) -> bytes:
    """The answer to the handshake, with the headers that its parser checks."""
    checked = [one for one in headers if one[0].lower() in _HANDSHAKE or one[0].lower().startswith(_OWN)]
    lines = [b"HTTP/1.1 101 Switching Protocols", *(name + b": " + value for name, value in checked)]
    return b"\r\n".join([*lines, b"", b""])


async def _refused(response: httpcore2.Response, route: ProxyRoute) -> Exception:
    """What the upstream refuses with, whole."""
    body = bytearray()
    stream = response.stream
    assert isinstance(stream, AsyncIterable)
    try:
        async with asyncio.timeout(_HANDSHAKE_SECONDS):
            async for part in stream:
                body += part
                if len(body) > _MAX_REFUSAL:
                    return _bad_handshake(route, HTTPStatus.BAD_GATEWAY)
    except (TimeoutError, *FAULTS):
        return _bad_handshake(route, HTTPStatus.BAD_GATEWAY)
    finally:
        await response.aclose()
    return HandshakeRefused(response.status, back(response.headers), bytes(body))


def _bad_handshake(route: ProxyRoute, status: HTTPStatus) -> HttpRefused:
    return HttpRefused(status, f"the service's upstream {route.upstream.name} doesn't answer as a WebSocket does")
