"""Scoped client: what the asyncio and the blocking client share: the constructor, the default scope, and `within`."""

from __future__ import annotations

import copy
from typing import Generic, Self, TypeVar

from germane.grpc.calling.assemble_call import ClientScope
from germane.grpc.calling.channel import Pem, ServerAddress
from germane.grpc.calling.client_connection import ClientConnection
from germane.grpc.calling.fallback_policy import FallbackPolicy

__all__ = ["ScopedClient"]

C = TypeVar("C")


class ScopedClient(Generic[C]):
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

    def within(
        self, *, org: str | None = None, agent: str | None = None, user: str | None = None, zone: str | None = None
    ) -> Self:
        """Returns a client for another scope that shares this one's connection, limits and breaker. Costs next to nothing.

        An argument that is None keeps this client's value. Raises `InvalidInput`.
        """
        other = copy.copy(self)
        other.scope = self.scope.within(org=org, agent=agent, user=user, zone=zone)
        return other
