"""TLS of the HTTP port: its certificate, whose certificates it takes, and the handshakes of its connections.

A connection counts from the moment that it is accepted, with its handshake: silent callers take no more room and no more time
than those of a port without TLS.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from germane.errors import InvalidInput
from germane.service.http.connections import Connections
from germane.settings.serving import ServiceSettings

Protocols = Callable[..., asyncio.Protocol]
"""Makes the protocol of a connection, from the arguments that uvicorn gives."""


def server_context(settings: ServiceSettings) -> ssl.SSLContext | None:
    """Returns what the HTTP port speaks TLS with, the certificate of the gRPC port; None for a service without one. With
    `tls_client_ca`, there is no connection without a certificate by it. Raises `InvalidInput` for files that can't be used; no
    text of the error holds anything of them."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key, password=lambda: b"")  # never ask at a terminal
    except (OSError, ValueError):
        raise InvalidInput("can't be used, or isn't the key of tls_cert", path="tls_key") from None
    if settings.tls_client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(settings.tls_client_ca)
        except (OSError, ValueError):
            raise InvalidInput("holds no certificate that can be read", path="tls_client_ca") from None
    return context


class Handshakes:
    """The handshakes of one HTTP server, on its event loop. Each may take `head_seconds`, as the head of a request may."""

    def __init__(self, context: ssl.SSLContext, connections: Connections) -> None:
        self.context, self.connections = context, connections
        self._running: set[_Handshake] = set()

    def before(self, protocols: Protocols) -> Protocols:
        """Returns a factory of connections that have a handshake, and then what `protocols` makes."""

        def connect(*given: Any, **named: Any) -> asyncio.Protocol:
            return _Handshake(self, lambda: protocols(*given, **named))

        return connect

    def begun(self, handshake: _Handshake) -> None:
        self._running.add(handshake)

    def ended(self, handshake: _Handshake) -> None:
        """Idempotent."""
        self._running.discard(handshake)

    def abort(self) -> None:
        """Closes the connections whose handshake isn't over."""
        for handshake in [*self._running]:
            handshake.drop()


class _Handshake(asyncio.Protocol):
    """A connection until its handshake is over. Then the protocol behind it takes its place."""

    def __init__(self, of: Handshakes, behind: Callable[[], asyncio.Protocol]) -> None:
        self._of, self._behind = of, behind
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._early = bytearray()
        """What the client has sent right behind its part of the handshake."""
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()  # until asyncio's own protocol of TLS reads
        self._transport = transport
        address = transport.get_extra_info("peername")
        self._of.connections.opened(self, str(address[0]) if isinstance(address, tuple) else "")
        self._of.begun(self)
        self._task = asyncio.get_running_loop().create_task(self._shake(transport))

    def data_received(self, data: bytes) -> None:
        self._early += data

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True

    def drop(self) -> None:
        """Closes the connection at once."""
        if self._task is not None:
            self._task.cancel()
        if self._transport is not None:
            self._transport.abort()

    async def _shake(self, plain: asyncio.Transport) -> None:
        seconds, loop = self._of.connections.limits.head_seconds, asyncio.get_running_loop()
        refused, secured = "http_request", None
        try:
            async with asyncio.timeout(seconds):
                # asyncio's own limit is one that isn't reached: it would be told by the same error as any other failure
                secured = await loop.start_tls(
                    plain, self, self._of.context, server_side=True, ssl_handshake_timeout=2 * seconds
                )
        except TimeoutError:
            refused = "http_slow"
        except (OSError, ValueError):  # a client that speaks no TLS, or has no certificate that is taken
            pass
        finally:
            self._of.ended(self)
            self._of.connections.closed(self)
            if secured is None:
                plain.abort()
        if secured is None:
            self._of.connections.count_refusal(refused)
        elif not self._lost:
            self._hand_over(secured)

    def _hand_over(self, secured: asyncio.Transport) -> None:
        protocol = self._behind()
        secured.set_protocol(protocol)
        protocol.connection_made(secured)
        if self._early:
            protocol.data_received(bytes(self._early))
