"""Dividing: gives long texts that an earlier version stored as one search row a row for each part.

It reads and analyses one text outside any transaction, then replaces its search rows if it still exists. It may be stopped and
started again at any point.
"""

from __future__ import annotations

from functools import partial

from germane.events.event import Event
from germane.search.unit import Analysis, analysed_parts
from germane.stores.sqlite.events import EVENT, event_of, units_of
from germane.stores.sqlite.progress import Progress
from germane.stores.sqlite.readers import Readers, Reading
from germane.stores.sqlite.rows import first, only
from germane.stores.sqlite.transaction import Transaction
from germane.stores.sqlite.units import delete_units
from germane.stores.sqlite.writer import Writer

__all__ = ["divide", "undivided"]

_NEXT = "SELECT key FROM undivided ORDER BY key LIMIT 1"
_FOUND = tuple[int, Event | None, tuple[Analysis, ...]]


async def undivided(readers: Readers) -> int:
    """Returns the number of texts that wait."""
    return await readers.run(lambda reading: int(only(reading.connection, "SELECT count(*) FROM undivided")[0]))


async def divide(readers: Readers, writer: Writer, progress: Progress) -> int:
    """Divides all texts that wait; returns how many."""
    done = 0
    while (found := await readers.run(_read)) is not None:
        await writer.run(partial(_replace, *found))
        done += 1
        progress.step()
    return done


def _read(reading: Reading) -> _FOUND | None:
    waiting = first(reading.connection, _NEXT)
    if waiting is None:
        return None
    row = first(reading.connection, f"{EVENT} WHERE e.key = ?", waiting)
    if row is None:
        return waiting[0], None, ()
    event = event_of(row, {row[1]: None})
    return waiting[0], event, analysed_parts(event.text)


def _replace(key: int, event: Event | None, analysis: tuple[Analysis, ...], transaction: Transaction) -> None:
    connection = transaction.connection
    there = first(connection, "SELECT partition, session FROM events WHERE key = ?", (key,))
    if there is not None and event is not None:
        partition, session = there
        delete_units(connection, "events", (key,))
        transaction.derive("events", partition, units_of(key, session, event, analysis))
        transaction.touch((partition,))
    connection.execute("DELETE FROM undivided WHERE key = ?", (key,))
