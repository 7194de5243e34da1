"""Connection: a client's constructor, its default scope, and the one gRPC channel that its first call opens.

`GrpcClient` is what the asyncio and the blocking client share. `ClientConnection` guards against forks and other event
loops.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

from germane.api.remote.fallback import Fallback, FallbackPolicy
from germane.api.remote.operation_call import ClientScope, OperationCall, Pem, ScopedClient
from germane.grpc.client import rpcs
from germane.grpc.client.channel import ServerAddress
from germane.grpc.client.rpcs import ClientRpc
from germane.grpc.messages import context_pb2

C = TypeVar("C")


class GrpcClient(ScopedClient, Generic[C]):
    """`C` is the type of gRPC channel that `_dial` opens."""

    def __init__(
        self,
        target: str,
        *,
        org: str = "default",
        agent: str = "default",
        user: str | None = None,
        zone: str = "UTC",
        key: str | None = None,
        plaintext: bool = False,
        tls: bool = False,
        roots: Pem | None = None,
        certificate: Pem | None = None,
        certificate_key: Pem | None = None,
        server_name: str | None = None,
        limit: float = 0.045,
        patience: float = 10.0,
        breaker: int = 5,
        cooldown: float = 1.0,
    ) -> None:
        address = ServerAddress.of(
            target,
            key=key,
            plaintext=plaintext,
            tls=tls,
            roots=roots,
            certificate=certificate,
            certificate_key=certificate_key,
            server_name=server_name,
        )
        self.scope = ClientScope(org=org, agent=agent, user=user, zone=zone)
        self._policy = FallbackPolicy(limit=limit, patience=patience, breaker=breaker, cooldown=cooldown)
        self._connection: ClientConnection[C] = ClientConnection(address, self._dial)

    def __repr__(self) -> str:
        whose = "/".join(filter(None, (self.scope.org, self.scope.agent, self.scope.user)))
        address = self._connection.address
        return f"<Client {address.target} {whose}{' TLS' if address.secure else ''}{' key' if address.key else ''}>"

    @classmethod
    def _dial(cls, address: ServerAddress) -> C:
        """Returns a new channel. Each client has its own way."""
        raise NotImplementedError

    def call(self, one: OperationCall) -> Any:
        return self.run(rpcs.operation(self.scope, one))

    def run(self, rpc: ClientRpc[Any]) -> Any:
        """Runs an RPC. Each client has its own way."""
        raise NotImplementedError


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
            self._stub = context_pb2.ContextAssemblyServiceStub(self._channel)
            self._loop, self._process = loop, os.getpid()
