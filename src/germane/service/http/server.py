"""HTTP server: runs uvicorn on the running event loop, with limits of its own, and leaves signals to the process."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.types import ASGIApp

from germane.errors import InvalidInput
from germane.service.http.connections import ConnectionLimits, Connections, TakesBody, protocol_factory
from germane.service.http.tls import Handshakes
from germane.settings.values import Address
from germane.types.traffic import Traffic

if TYPE_CHECKING:
    from germane.service.http.sockets import Sockets

_LISTEN_BACKLOG = 1024
"""Connections that the system queues until the server accepts them."""
_ACCEPTED_AT_ONCE = 64
"""Connections accepted in one iteration of the event loop. The number is small so that a new connection is read before further
new ones make it the oldest, which would be dropped."""
_ENDING_SECONDS = 1
"""For open requests to end when the server stops. Then their connections are dropped, which ends them as a caller who has gone
does; uvicorn itself would cancel their tasks, and log each as an error."""


class HttpServer:
    """Serves `app` from `start` until `stop`, over `tls` where it is given. With `reuse_port` several processes can listen on
    the same port (`SO_REUSEPORT`). After `start`, `address` has the port that the system chose if port 0 was asked for.
    `sockets` says which requests for a WebSocket reach `app`; by default none does, and each is a request like any other."""

    def __init__(
        self,
        app: ASGIApp,
        address: Address,
        *,
        reuse_port: bool = False,
        limits: ConnectionLimits | None = None,
        takes_body: TakesBody = lambda target: False,
        sockets: Sockets | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._takes_body, self._sockets = takes_body, sockets
        self._app, self._requested, self._reuse_port = app, address, reuse_port
        self._connections = Connections(limits or ConnectionLimits())
        self._handshakes = None if tls is None else Handshakes(tls, self._connections)
        self._server: _SignalFreeServer | None = None
        self._task: asyncio.Task[None] | None = None
        self.address = address

    async def start(self) -> None:
        """Returns once the server listens. Raises `InvalidInput` for an address that can't be listened on."""
        listener = _listen(self._requested, reuse_port=self._reuse_port)
        self.address = Address(host=self._requested.host, port=listener.getsockname()[1])
        protocols = protocol_factory(self._connections, self._takes_body, self._sockets)
        config = uvicorn.Config(
            self._app,
            loop="none",
            http=protocols if self._handshakes is None else self._handshakes.before(protocols),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_ACCEPTED_AT_ONCE,
            timeout_keep_alive=ceil(self._connections.limits.idle_seconds),
            timeout_graceful_shutdown=2 * _ENDING_SECONDS,
            h11_max_incomplete_event_size=16 * 1024,
        )
        self._server = _SignalFreeServer(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))
        listening = asyncio.ensure_future(self._server.listening.wait())
        await asyncio.wait([self._task, listening], return_when=asyncio.FIRST_COMPLETED)
        listening.cancel()
        if self._task.done():
            self._task.result()

    @property
    def traffic(self) -> Traffic:
        """Open connections now, and refusals since `start`. Thread-safe."""
        return self._connections.traffic

    async def stop(self) -> None:
        """Stops listening and gives open requests one second to end. Idempotent."""
        server, task, self._server, self._task = self._server, self._task, None, None
        if server is not None and task is not None:
            server.should_exit = True
            if self._handshakes is not None:
                self._handshakes.abort()
            await asyncio.wait([task], timeout=_ENDING_SECONDS)
            self._connections.drop_all()
            await asyncio.wait([task])


class _SignalFreeServer(uvicorn.Server):
    """uvicorn's server without signal handlers; sets `listening` once its sockets accept connections."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_LISTEN_BACKLOG)  # uvicorn uses `backlog` for both the queue and one iteration
        self.listening.set()


def _listen(address: Address, *, reuse_port: bool) -> socket.socket:
    resolved: Any = None
    try:
        resolved = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(resolved[0], resolved[1], resolved[2])
    except OSError as error:
        raise InvalidInput(f"http address {address}: can't be listened on ({error.strerror})") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.setblocking(False)
        listener.bind(resolved[4])
        listener.listen(_LISTEN_BACKLOG)
    except OSError as error:
        listener.close()
        advice = "choose another port; 0 takes a free one" if error.errno == errno.EADDRINUSE else ""
        raise InvalidInput(f"http address {address}: can't be listened on ({error.strerror})", advice=advice) from error
    return listener
