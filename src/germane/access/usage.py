"""Key usage: when each key was last used, to the hour, written in batches after the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from germane.access.key import Key
from germane.access.key_store import KeyStore
from germane.access.operations import ChangeKey, KeyById
from germane.ports.batch_writer import BatchWriter
from germane.types.lru_cache import LruCache
from germane.types.plan import Change, Decision, Plan, read

__all__ = ["COARSE", "KeyUsage", "due", "used"]

COARSE = timedelta(hours=1)
"""Resolution of `Key.last_used_at`: enough to find unused keys, at hardly any writes."""
_MAX_KEYS = 4096
"""Keys whose last noted use is remembered, and keys whose use may wait to be written."""


def due(last: datetime | None, at: datetime) -> bool:
    """Whether a use at `at` is to be written, where the last one written was at `last`."""
    return last is None or at - last >= COARSE


def used(times: Mapping[str, datetime]) -> Plan[int]:
    """Sets `last_used_at` of these keys, by id. Keys whose stored time is less than an hour older, which another process may
    have written, are skipped. The outcome is the number of keys written."""
    changes: list[Change] = []
    for id, at in times.items():
        key = yield from read(KeyById(id))
        if key is not None and due(key.last_used_at, at):
            changes.append(ChangeKey(replace(key, last_used_at=at)))
    return Decision(tuple(changes), len(changes))


class KeyUsage:
    """Notes uses of keys. A batch that can't be written is lost: then `last_used_at` is older than it should be, and nothing
    else is affected. With `read_only` nothing is noted."""

    def __init__(self, key_store: KeyStore, *, read_only: bool) -> None:
        self._key_store, self._read_only = key_store, read_only
        self._noted: LruCache[str, datetime] = LruCache(_MAX_KEYS)
        self._writer: BatchWriter[tuple[str, datetime]] = BatchWriter(self._write, max_waiting=_MAX_KEYS)

    def note(self, key: Key, at: datetime) -> None:
        """Notes a use at `at`. Does no I/O."""
        if self._read_only or not (due(key.last_used_at, at) and due(self._noted.get(key.id), at)):
            return
        if self._writer.add([(key.id, at)]):
            self._noted.put(key.id, at)

    async def close(self) -> None:
        """Writes the uses noted so far; gives up after five seconds. Idempotent."""
        await self._writer.close()

    async def _write(self, batch: list[tuple[str, datetime]]) -> None:
        await self._key_store.commit(used(dict(batch)))
