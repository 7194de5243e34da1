"""Client connection: a client's one gRPC channel, opened by its first call; guards against forks and other loops."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

from germane.grpc.calling.channel import ServerAddress
from germane.grpc.calling.fallback_policy import Fallback
from germane.grpc.stubs.context_pb2_grpc import ContextAssemblyServiceStub

__all__ = ["ClientConnection"]

C = TypeVar("C")


class ClientConnection(Generic[C]):
    """Opens a channel with `dial` when the first call needs one. Thread-safe.

    `loop` is the caller's event loop, None for blocking callers. A channel belongs to one loop: after `asyncio.run` has ended
    that loop, a call from the next loop opens a new channel. gRPC doesn't survive a fork, so in a child process a connection
    that was used before the fork raises `Fallback`.
    """

    def __init__(self, address: ServerAddress, dial: Callable[[ServerAddress], C]) -> None:
        self.address = address
        self._dial = dial
        self._lock = Lock()
        self._channel: C | None = None
        self._stub: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0
        self._closed = False

    def channel(self, loop: asyncio.AbstractEventLoop | None = None) -> C:
        """Returns the channel. Raises `Fallback` after `close`, after a fork, and while another loop uses the channel."""
        self._open(loop)
        assert self._channel is not None
        return self._channel

    def stub(self, loop: asyncio.AbstractEventLoop | None = None) -> Any:
        """Returns the stub of `ContextAssemblyService` on the channel. Raises as `channel` does."""
        self._open(loop)
        return self._stub

    def close(self) -> C | None:
        """Refuses all further calls. Returns the channel that the caller must close now, None where there is none.

        A channel that was opened before a fork is the parent's to close, and one whose loop is closed can't be closed any more.
        """
        with self._lock:
            self._closed = True
            channel, self._channel = self._channel, None
            loop = self._loop
            return channel if self._process == os.getpid() and not (loop is not None and loop.is_closed()) else None

    def _open(self, loop: asyncio.AbstractEventLoop | None) -> None:
        with self._lock:
            if self._closed:
                raise Fallback("client_error:closed")
            if self._channel is not None:
                if self._process != os.getpid():
                    raise Fallback("client_error:forked")
                if self._loop is loop:
                    return
                if self._loop is not None and not self._loop.is_closed():
                    raise Fallback("client_error:other_loop")
            self._channel = self._dial(self.address)
            self._stub = ContextAssemblyServiceStub(self._channel)  # type: ignore[call-overload]
            self._loop, self._process = loop, os.getpid()
