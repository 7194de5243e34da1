"""Line: the one connection of a client, opened when it is first needed, and where it can't be used any more."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

from germane.grpc.calling.channel import Address
from germane.grpc.calling.fallback_policy import Fallback
from germane.grpc.stubs.context_pb2_grpc import ContextAssemblyServiceStub

__all__ = ["ClientConnection"]

C = TypeVar("C")


class ClientConnection(Generic[C]):
    """`dial` makes a channel. A loop is that of the caller, None for callers that block; after `asyncio.run` has ended one,
    the next gets a channel of its own. Nothing of gRPC survives a fork: a client that has called stays with the parent."""

    def __init__(self, address: Address, dial: Callable[[], C]) -> None:
        self.address = address
        self._dial = dial
        self._lock = Lock()
        self._channel: C | None = None
        self._stub: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0
        self._closed = False

    def channel(self, loop: asyncio.AbstractEventLoop | None = None) -> C:
        """Raises `Fallback` where there is none to be had."""
        self._open(loop)
        assert self._channel is not None
        return self._channel

    def stub(self, loop: asyncio.AbstractEventLoop | None = None) -> Any:
        self._open(loop)
        return self._stub

    def close(self) -> C | None:
        """What is to be closed, if anything is. After a fork that is the parent's to do."""
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
            self._channel = self._dial()
            self._stub = ContextAssemblyServiceStub(self._channel)  # type: ignore[call-overload]
            self._loop, self._process = loop, os.getpid()
