"""Connections: the open connections of one HTTP server, limited in all and for each address.

A connection beyond a limit is accepted, and the connection that has waited longest for a request is dropped in its place:
silent connections can't keep a new client out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from germane.observe.traffic import Traffic

__all__ = ["ConnectionLimits", "Connections"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Largest numbers of connections, and the seconds that each phase of a connection may take."""

    max_connections: int = 2048
    max_per_address: int = 1024
    head_seconds: float = 5.0
    """For the head of a request to arrive: since the connection was opened, or since the request's first byte."""
    idle_seconds: float = 15.0
    """That a connection is kept open for a next request."""
    answer_seconds: float = 30.0
    """For an answer to be made and read by the client."""


class _Connection(Protocol):
    def drop(self) -> None:
        """Closes the connection at once and discards what isn't sent yet."""


class Connections:
    """Registers connections, enforces `limits` and counts refusals by reason. Belongs to one event loop; only `traffic` may be
    read from any thread."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._address: dict[_Connection, str] = {}
        self._waiting: dict[_Connection, None] = {}  # in the order in which they began to wait
        self._per_address: Counter[str] = Counter()
        self._refused = {"http_full": 0, "http_slow": 0, "http_request": 0}  # no key is ever added: threads read `traffic`

    def opened(self, connection: _Connection, address: str) -> None:
        """Registers a new connection, which waits for its first request. Drops another connection if a limit is exceeded."""
        self._address[connection] = address
        self._per_address[address] += 1
        if self._per_address[address] > self.limits.max_per_address:
            self._drop_oldest(lambda other: self._address[other] == address)
        elif len(self._address) > self.limits.max_connections:
            self._drop_oldest(lambda other: True)
        self.waiting(connection)

    def waiting(self, connection: _Connection) -> None:
        """Marks that the connection waits for a request from now on."""
        if connection in self._address:
            self._waiting.pop(connection, None)
            self._waiting[connection] = None

    def answering(self, connection: _Connection) -> None:
        """Marks that a request of this connection is being answered."""
        self._waiting.pop(connection, None)

    def closed(self, connection: _Connection) -> None:
        """Removes the connection. Idempotent."""
        self._waiting.pop(connection, None)
        address = self._address.pop(connection, None)
        if address is not None:
            self._per_address[address] -= 1
            if not self._per_address[address]:
                del self._per_address[address]

    def count_refusal(self, reason: str) -> None:
        """Counts one refused connection or request; `reason` is one of `traffic.REASONS` that begin with `http_`."""
        self._refused[reason] += 1

    @property
    def traffic(self) -> Traffic:
        return Traffic(used={"http": len(self._address)}, refused=dict(self._refused))

    def _drop_oldest(self, matches: Callable[[_Connection], bool]) -> None:
        """Drops the matching connection that has waited longest; if none waits, the oldest that is being answered."""
        oldest = next(filter(matches, (*self._waiting, *self._address)))
        self.count_refusal("http_full")
        self.closed(oldest)
        oldest.drop()
