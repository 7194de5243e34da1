"""Reading: what a read of a store gets, and what runs the reads.

The protocol of what runs the writes is `Writer` in `transaction.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

from germane.stores.sql.connection import Connection
from germane.stores.sql.listing import VisiblePartition
from germane.types.plan import Read, StoreRead
from germane.types.scope import Scope

T = TypeVar("T")
R = TypeVar("R")


class ReadTransaction(Protocol):
    """Where reads are answered: the snapshot of a reader, or the transaction of a commit."""

    @property
    def connection(self) -> Connection: ...

    def visible(self, scope: Scope) -> tuple[VisiblePartition, ...]:
        """Returns the partitions that the scope sees, read once."""

    def write_events(self) -> None:
        """Writes the events that wait in a transaction, for statements that read them. A reader's snapshot has none."""


class Reading(ReadTransaction, Protocol):
    """What one read outside of plans gets: a connection inside a snapshot."""

    def stop(self) -> bool:
        """Whether the read was cancelled and should end."""

    def shielded(self) -> AbstractContextManager[None]:
        """Within this block cancellation is ignored: for work that the next caller would have to repeat."""


class Readers(Protocol):
    """Runs reads beside the event loop. A read that its caller no longer waits for is stopped."""

    async def run(self, work: Callable[[Reading], T]) -> T:
        """Runs a read by itself; for reads that may take long but aren't searches."""

    async def search(self, work: Callable[[Reading], T]) -> T:
        """Runs a search; the searches of one request run one after another."""

    async def read_batched(self, work: Callable[[Reading], T]) -> T:
        """Runs a small read together with all others of this iteration of the event loop, in order, within one snapshot."""


# One scope's reads: each kind has a table of them, and answers them in the same way for plans and for everybody else.


class ScopeReading:
    """What the function that answers a read gets: the scope that asks, and the transaction in which it is answered."""

    __slots__ = ("_transaction", "connection", "scope")

    def __init__(self, scope: Scope, transaction: ReadTransaction) -> None:
        self.scope, self.connection = scope, transaction.connection
        self._transaction = transaction

    @property
    def visible(self) -> tuple[VisiblePartition, ...]:
        """The partitions that the scope sees."""
        return self._transaction.visible(self.scope)

    @property
    def own(self) -> VisiblePartition | None:
        """The partition of the scope's own user, or the agent-wide one where it has no user; None before its first write."""
        return next((partition for partition in self.visible if partition.user == self.scope.user), None)

    def write_events(self) -> None:
        """Has the events written that wait in the transaction, for statements that read them."""
        self._transaction.write_events()


Answers = Mapping[type[Read[Any]], Callable[[ScopeReading, Any], Any]]
"""Reads, with the function that answers each."""


StoreAnswers = Mapping[type[StoreRead[Any]], Callable[[ReadTransaction, Any], Any]]
"""Reads of the store as a whole, with the function that answers each."""


def of_own(
    answer: Callable[[Connection, VisiblePartition, R], T], empty: Callable[[], T], *, events: bool = False
) -> Callable[[ScopeReading, R], T]:
    """Returns the function that answers a read of the scope's own partition alone; `empty` makes the answer where it doesn't
    exist. `events` has the events written first that wait in the transaction."""

    def answered(reading: ScopeReading, read: R) -> T:
        own = reading.own
        if own is None:
            return empty()
        if events:
            reading.write_events()
        return answer(reading.connection, own, read)

    return answered


def of_visible(
    answer: Callable[[Connection, tuple[VisiblePartition, ...], R], T], empty: Callable[[], T]
) -> Callable[[ScopeReading, R], T]:
    """Returns the function that answers a read of all partitions that the scope sees; `empty` makes the answer where there is
    none."""

    def answered(reading: ScopeReading, read: R) -> T:
        visible = reading.visible
        return answer(reading.connection, visible, read) if visible else empty()

    return answered


def nothing() -> None:
    """What a read answers that finds nothing."""
    return
