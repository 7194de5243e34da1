"""Reading: what a read of a store gets, and what runs the reads.

The protocol of what runs the writes is `Writer` in `transaction.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import VisiblePartition
from germane.types.scope import Scope

T = TypeVar("T")


class Reading(Protocol):
    """What one read gets: a connection inside a snapshot."""

    @property
    def connection(self) -> Connection: ...

    def stop(self) -> bool:
        """Whether the read was cancelled and should end."""

    def shielded(self) -> AbstractContextManager[None]:
        """Within this block cancellation is ignored: for work that the next caller would have to repeat."""

    def visible(self, scope: Scope) -> tuple[VisiblePartition, ...]:
        """Returns the partitions that the scope sees in this snapshot."""


class Readers(Protocol):
    """Runs reads beside the event loop. A read that its caller no longer waits for is stopped."""

    async def run(self, work: Callable[[Reading], T]) -> T:
        """Runs a read by itself; for reads that may take long but aren't searches."""

    async def search(self, work: Callable[[Reading], T]) -> T:
        """Runs a search; the searches of one request run one after another."""

    async def read_batched(self, work: Callable[[Reading], T]) -> T:
        """Runs a small read together with all others of this iteration of the event loop, in order, within one snapshot."""
