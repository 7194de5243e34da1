"""Dump: reads everything that is stored of some owners, within one snapshot and in portions of bounded size.

A dump has a connection of its own, so that it may take as long as its reader likes. Until it ends, SQLite keeps the pages that
it still has to read: a scrub of what is forgotten meanwhile waits for it, as it waits for a backup. A store in memory has no
log that would keep them, so there the dump reads a copy.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

from germane.errors import StoreUnavailable
from germane.stores.sql.connection import Connection, Database
from germane.stores.sql.kinds import KINDS, TABLES, tombstone_of
from germane.stores.sql.listing import FORGOTTEN_ORG
from germane.stores.sql.statements import LISTED, maybe_moment, only, rows, to_json
from germane.transfer.contents import Contents, Owned, Owner, Reach

_THINGS, _CHARACTERS = 256, 1 << 19
"""Things in one portion at most, and characters of their messages after which a portion ends."""
_PATIENCE = 60.0
"""Seconds for which the snapshot waits for its reader between two portions, such as a client that doesn't read on."""
_NOBODY = Owner(None, None, None)
_TOMBSTONES = f"SELECT id, what, at, by, reason FROM tombstones WHERE partition IN {LISTED} ORDER BY id"


class Dump:
    """One dump. Iterating over it yields `Contents`, then lists of what there is. Closing it ends the snapshot; so does its
    end."""

    def __init__(self, database: Database, reach: Reach) -> None:
        self._database, self._reach = database, reach
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._left: Iterator[tuple[Contents | Owned, int]] | None = None
        self._ended = ""

    async def portions(self) -> AsyncIterator[list[Contents | Owned]]:
        """Yields what there is, the `Contents` first. Raises `StoreUnavailable` where the store is closed meanwhile, or where a
        minute passes before the next portion is asked for."""
        loop = asyncio.get_running_loop()
        try:
            while portion := await asyncio.to_thread(self._portion):
                timer = loop.call_later(_PATIENCE, self.close, "waited too long for its reader: begin it again, and read on")
                try:
                    yield portion
                finally:
                    timer.cancel()
        finally:
            self.close()

    def close(self, why: str = "ended, as the store was closed") -> None:
        """Ends the snapshot. Waits for the portion that is being read. Idempotent."""
        with self._lock:
            self._ended, self._left = self._ended or why, None
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def _portion(self) -> list[Contents | Owned]:
        with self._lock, self._database.errors():
            if self._ended:
                raise StoreUnavailable(f"the export of store {self._database.name!r} {self._ended}")
            if self._left is None:
                self._connection = self._database.snapshot()
                self._left = _everything(self._connection, self._reach)
            portion, size = list[Contents | Owned](), 0
            for thing, characters in self._left:
                portion.append(thing)
                size += characters
                if len(portion) == _THINGS or size > _CHARACTERS:
                    break
            return portion


def _everything(connection: Connection, reach: Reach) -> Iterator[tuple[Contents | Owned, int]]:
    """Yields the contents, and then each thing, with the characters or bytes that make it large."""
    owners = dict(_owners(connection, reach))
    gone = [row[0] for row in rows(connection, "SELECT id FROM partitions WHERE org = ?", (FORGOTTEN_ORG,))]
    nobodys = gone if reach.org is None else []
    yield _contents(connection, [*owners, *nobodys]), 0
    for partition, owner in owners.items():
        for kind in KINDS:
            for thing in kind.dump(connection, partition, owner):
                yield Owned(owner, thing), kind.size(thing)
        for stone in rows(connection, _TOMBSTONES, (to_json([partition]),)):
            yield Owned(owner, tombstone_of(stone)), 0
    for stone in rows(connection, _TOMBSTONES, (to_json(nobodys),)):
        yield Owned(_NOBODY, tombstone_of(stone)), 0


def _owners(connection: Connection, reach: Reach) -> Iterator[tuple[int, Owner]]:
    """The partitions within reach, with their owners: by org, agent and user, what is agent-wide first."""
    sql = "SELECT id, org, agent, user FROM partitions WHERE org <> ? ORDER BY org, agent, user"
    for id, org, agent, user in rows(connection, sql, (FORGOTTEN_ORG,)):
        owner = Owner(org, agent, user or None)
        if reach.covers(owner):
            yield id, owner


def _contents(connection: Connection, partitions: list[int]) -> Contents:
    inside, bound = f"partition IN {LISTED}", (to_json(partitions),)
    further = {name: sql.format(here=LISTED) for kind in KINDS for name, sql in kind.contents.items()}
    counts = {name: int(only(connection, sql, bound)[0]) for name, sql in further.items()}
    stones, latest = only(connection, f"SELECT count(*), max(at) FROM tombstones WHERE {inside}", bound)
    times = [latest]
    for table in TABLES:
        if table.exported:
            figures = f"count(*), {f'max({table.changed})' if table.changed else 'NULL'}"
            counts[table.exported], latest = only(connection, f"SELECT {figures} FROM {table.name} WHERE {inside}", bound)
            times.append(latest)
    newest = max((time for time in times if time is not None), default=None)
    return Contents(**counts, tombstones=stones, latest=maybe_moment(newest))
