"""Connections: those that are open to one HTTP server. There is room for so many in all, and for so many from one address. When
one more comes, the one that has been silent longest has to go: connections that say nothing keep nobody out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from germane.observe.traffic import Traffic

__all__ = ["Connections", "Room"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many connections there may be, and for how long each may keep the server waiting. Counts; seconds."""

    most: int = 2048
    each: int = 1024
    """From one address."""
    head: float = 5.0
    """Until the head of a request is there: since the connection was opened, or since its first byte."""
    idle: float = 15.0
    """That a connection is kept for a next request."""
    answer: float = 30.0
    """Until an answer is made and taken."""


class _Connection(Protocol):
    def drop(self) -> None:
        """Ends it at once, whatever waits to be sent."""


class Connections:
    """Counts what was turned away, by reason. For one event loop, but `traffic`, which may be read from any thread."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self._open: dict[_Connection, str] = {}
        self._silent: dict[_Connection, None] = {}  # by how long, the longest first
        self._from: Counter[str] = Counter()
        self._refused = {"http_full": 0, "http_slow": 0, "http_request": 0}  # never another key: see `traffic`

    def opened(self, connection: _Connection, address: str) -> None:
        """It is there, and hasn't said anything. Another one may be dropped for it."""
        self._open[connection] = address
        self._from[address] += 1
        if self._from[address] > self.room.each:
            self._drop_one(lambda one: self._open[one] == address)
        elif len(self._open) > self.room.most:
            self._drop_one(lambda one: True)
        self.silent(connection)

    def silent(self, connection: _Connection) -> None:
        """From now on it waits for a request."""
        if connection in self._open:
            self._silent.pop(connection, None)
            self._silent[connection] = None

    def answering(self, connection: _Connection) -> None:
        """A request of it is being answered."""
        self._silent.pop(connection, None)

    def closed(self, connection: _Connection) -> None:
        """Again is fine."""
        self._silent.pop(connection, None)
        address = self._open.pop(connection, None)
        if address is not None:
            self._from[address] -= 1
            if not self._from[address]:
                del self._from[address]

    def note(self, reason: str) -> None:
        """Something was turned away."""
        self._refused[reason] += 1

    @property
    def traffic(self) -> Traffic:
        return Traffic(used={"http": len(self._open)}, refused=dict(self._refused))

    def _drop_one(self, fits: Callable[[_Connection], bool]) -> None:
        """Where none is silent, the oldest of those that are being answered."""
        oldest = next(filter(fits, (*self._silent, *self._open)))
        self.note("http_full")
        self.closed(oldest)
        oldest.drop()
