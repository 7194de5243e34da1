"""Outlining: makes the lines of outlines that a store lacks: of sessions of an earlier version, and of what came all at once.

It reads some hundred messages in one transaction, and may be stopped and started again at any point.
"""

from __future__ import annotations

from germane.stores.sqlite.outlines import complete_outline
from germane.stores.sqlite.progress import Progress
from germane.stores.sqlite.readers import Readers
from germane.stores.sqlite.rows import first, only
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.writer import Writer

__all__ = ["outline_sessions", "unoutlined"]

_NEXT = "SELECT u.session, s.partition FROM unoutlined u JOIN sessions s ON s.key = u.session ORDER BY u.session LIMIT 1"


async def unoutlined(readers: Readers) -> int:
    """Returns the number of sessions that lack lines."""
    return await readers.run(lambda reading: int(only(reading.connection, "SELECT count(*) FROM unoutlined")[0]))


async def outline_sessions(writer: Writer, progress: Progress) -> int:
    """Completes the outlines of all sessions; returns of how many."""
    done = 0
    while (left := await writer.run(_step)) is not None:
        if not left:
            done += 1
            progress.step()
    return done


def _step(transaction: Transaction) -> bool | None:
    """Makes lines of one session. Returns whether more are left of it; None where no session lacks any."""
    transaction.write_events()
    row = first(transaction.connection, _NEXT)
    if row is None:
        return None
    session, partition = row
    transaction.touch((partition,))
    return complete_outline(transaction.connection, session)
