"""Server: the routes served on the event loop that is running. Signals are somebody else's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from typing import Any

import uvicorn
from starlette.applications import Starlette

from germane.errors import InvalidInput
from germane.http.connection import connecting
from germane.http.connections import Connections, Room
from germane.observe.traffic import Traffic
from germane.settings.address import Address

__all__ = ["HttpServer"]

_WAITING = 1024
"""Connections that the system keeps until they are taken."""
_AT_ONCE = 64
"""Connections that are taken in one turn of the event loop: few enough that one of them is read before it is the oldest."""


class HttpServer:
    """`start` listens, `stop` ends; in between it serves. With `shared`, several processes can listen on one port."""

    def __init__(self, app: Starlette, address: Address, *, shared: bool = False, room: Room | None = None) -> None:
        self._app, self._wanted, self._shared = app, address, shared
        self._connections = Connections(room or Room())
        self._server: _Quiet | None = None
        self._task: asyncio.Task[None] | None = None
        self.address = address

    async def start(self) -> None:
        """Raises `InvalidInput` for an address that can't be listened on."""
        listening = _listen(self._wanted, shared=self._shared)
        self.address = Address(host=self._wanted.host, port=listening.getsockname()[1])
        config = uvicorn.Config(
            self._app,
            loop="none",
            http=connecting(self._connections),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_AT_ONCE,
            timeout_keep_alive=ceil(self._connections.room.idle),
            timeout_graceful_shutdown=1,
            h11_max_incomplete_event_size=16 * 1024,
        )
        self._server = _Quiet(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]))
        listens = asyncio.ensure_future(self._server.listening.wait())
        await asyncio.wait([self._task, listens], return_when=asyncio.FIRST_COMPLETED)
        listens.cancel()
        if self._task.done():
            self._task.result()

    @property
    def traffic(self) -> Traffic:
        """What is open now and was turned away so far. From any thread."""
        return self._connections.traffic

    async def stop(self) -> None:
        """Ends what is being answered, within a second. Again is fine."""
        server, task, self._server, self._task = self._server, self._task, None, None
        if server is not None and task is not None:
            server.should_exit = True
            await asyncio.wait([task])


class _Quiet(uvicorn.Server):
    """Takes no signals, and tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(_WAITING)  # uvicorn has one number for both
        self.listening.set()


def _listen(address: Address, *, shared: bool) -> socket.socket:
    found: Any = None
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.socket(found[0], found[1], found[2])
    except OSError as error:
        raise InvalidInput(f"http address {address}: can't be listened on ({error.strerror})") from error
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.setblocking(False)
        made.bind(found[4])
        made.listen(_WAITING)
    except OSError as error:
        made.close()
        raise InvalidInput(f"http address {address}: can't be listened on ({error.strerror})") from error
    return made
