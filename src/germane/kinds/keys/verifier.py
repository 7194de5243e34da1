"""Verifier: decides whether a token is valid; asks the store at most once a second for each key, and caches the answer.

Two rules meet here. *An authorisation fault never allows more*: a "no" of the store, a known expiry, a revocation in this
process and an answer that makes no sense take effect at once, whatever the cache holds. *An availability fault never fails
a request*: a key that the store confirmed stays valid for `GRACE` seconds while the store can't be asked.

The remaining risk: a key that another process revokes while this process's store hangs stays valid here until the store
answers again, at most `GRACE` seconds after its last confirmation. A store that hangs serves no reads, so such a key
reaches only what is cached in memory. Requests that write wait for the store anyway; they pass `patience=None`, which
allows no grace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from germane.clock import Clock
from germane.errors import StoreError, StoreUnavailable
from germane.kinds.keys.reads import ChangeKey, KeyById
from germane.kinds.keys.value import Grant, Key, PresentedToken, parse_token
from germane.ports.batch_writer import BatchWriter, stopped
from germane.stores.contract import UnscopedStore
from germane.types.caches import LruCache
from germane.types.plan import StoreChange, StoreDecision, StorePlan, read

FRESH = 1.0
"""Seconds for which a cached answer is valid: the delay after which a revocation by another process takes effect here."""
GRACE = 120.0
"""Seconds after its last confirmation for which a key stays valid while the store can't be asked: twice a minute's outage."""
_MAX_LOOKUPS = 4096
"""Lookups under way at once; beyond that, a token is treated as if the store couldn't be asked."""


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A lookup under way, shared by all callers with the same token; `started` is in seconds of the steady clock."""

    started: float
    task: asyncio.Task[Key | Exception | None]


class Verifier:
    """Caches and shares lookups in `store`, and notes uses in `usage`, which it closes. Belongs to one event loop."""

    def __init__(self, store: UnscopedStore, usage: KeyUsage, clock: Clock) -> None:
        self._store, self._usage, self._clock = store, usage, clock
        self._cache = KeyCache()
        self._lookups: dict[bytes, _Lookup] = {}
        self._running: set[asyncio.Task[Key | Exception | None]] = set()
        self._closed = False

    async def verify(self, token: object, patience: float | None) -> Grant | None:
        """Returns what the token allows, or None. See `Keyring.verify`."""
        shown = parse_token(token)
        key = self._cached(shown, FRESH) or await self._from_store(shown, patience)
        if key is None:
            return None
        self._usage.note(key, self._clock.now())
        return Grant.of(key)

    def forget(self, *ids: str) -> None:
        """Forgets the keys with these ids, which this process has changed, and ignores the answers of lookups under way."""
        for id in ids:
            self._cache.forget(id)
        self._lookups.clear()

    async def close(self) -> None:
        """Cancels the lookups under way, whose callers get `StoreUnavailable`, and writes the uses noted so far."""
        self._closed = True
        self._lookups.clear()
        await stopped(self._running)
        await self._usage.close()

    def _cached(self, shown: PresentedToken, seconds: float) -> Key | None:
        return self._cache.recall(shown.digest, now=self._clock.now(), since=self._clock.steady() - seconds)

    async def _from_store(self, shown: PresentedToken, patience: float | None) -> Key | None:
        begun, fault = self._clock.steady(), None
        while (lookup := self._lookup(shown)) is not None:
            left = None if patience is None else min(begun, lookup.started) + patience - self._clock.steady()
            if left is None or left > 0:
                await asyncio.wait({lookup.task}, timeout=left)
            if not lookup.task.done():
                break
            if lookup.task.cancelled():
                if self._lookups.get(shown.digest) is not lookup:
                    continue  # it took too long and was replaced by a new lookup
                del self._lookups[shown.digest]  # the store itself cancelled the call
                break
            answer = lookup.task.result()
            if not isinstance(answer, Exception):
                return answer
            fault = answer
            break
        if patience is not None and (key := self._cached(shown, GRACE)) is not None:
            return key
        raise StoreUnavailable("the key can't be verified now: the store doesn't answer (try again)") from fault

    def _lookup(self, shown: PresentedToken) -> _Lookup | None:
        """Returns the lookup under way for this token, or starts one; None where too many are under way or this is closed."""
        steady = self._clock.steady()
        lookup = self._lookups.get(shown.digest)
        if lookup is not None and lookup.started + FRESH > steady:
            return lookup
        if len(self._lookups) >= _MAX_LOOKUPS:
            self._abandon(steady - FRESH)
        elif lookup is not None:
            self._lookups.pop(shown.digest).task.cancel()
        if self._closed or len(self._lookups) >= _MAX_LOOKUPS:
            return None
        task = asyncio.create_task(self._find(shown, steady))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        self._lookups[shown.digest] = _Lookup(steady, task)
        return self._lookups[shown.digest]

    def _abandon(self, before: float) -> None:
        """Cancels the lookups that started until `before`. The dict is in the order of their start."""
        while self._lookups and (oldest := next(iter(self._lookups.items())))[1].started <= before:
            self._lookups.pop(oldest[0]).task.cancel()

    async def _find(self, shown: PresentedToken, started: float) -> Key | Exception | None:
        """Returns the valid key, None, or the exception that the store raised. The cache learns the answer unless the lookup
        was replaced or a key was changed meanwhile."""
        key: Key | None = None
        fault: Exception | None = None
        try:
            stored = await self._store.ask(KeyById(shown.id))
            if shown.matches(stored) and stored is not None and stored.key.holds(self._clock.now()):
                key = stored.key
        except Exception as error:
            fault = error
        lookup = self._lookups.get(shown.digest)
        if lookup is None or lookup.task is not asyncio.current_task():
            return key or fault
        del self._lookups[shown.digest]
        if key is not None:
            self._cache.learn(shown.digest, key, asked=started)
        elif not isinstance(fault, StoreError | OSError):
            self._cache.drop(shown.digest)
        return key or fault


# The cache: valid keys that the store confirmed lately, each with the moment of its confirmation.


@dataclass(slots=True)
class _ConfirmedKey:
    key: Key
    confirmed: float


class KeyCache:
    """An LRU cache by the digest of the token, so that no token stays in memory. Only valid keys are cached: a flood of invalid
    tokens evicts nothing, and a key that was just made works at once. How old a confirmation may be is the caller's
    decision."""

    def __init__(self, max_entries: int = 4096) -> None:
        self._entries: LruCache[bytes, _ConfirmedKey] = LruCache(max_entries)

    def learn(self, digest: bytes, key: Key, *, asked: float) -> None:
        """Adds a key that the store confirmed. `asked` is when the store was asked, in seconds of the steady clock: the
        confirmation counts from then."""
        self._entries.put(digest, _ConfirmedKey(key, asked))

    def recall(self, digest: bytes, *, now: datetime, since: float) -> Key | None:
        """Returns the key where it was confirmed after `since` (seconds of the steady clock) and is valid at `now`, else
        None."""
        entry = self._entries.get(digest)
        if entry is None or entry.confirmed <= since or not entry.key.holds(now):
            return None
        self._entries.move_to_end(digest)
        return entry.key

    def drop(self, digest: bytes) -> None:
        """Removes the entry of this digest, if there is one."""
        self._entries.pop(digest, None)

    def forget(self, id: str) -> None:
        """Removes the entry of the key with this id, which was changed."""
        for digest in [digest for digest, entry in self._entries.items() if entry.key.id == id]:
            del self._entries[digest]

    def __len__(self) -> int:
        return len(self._entries)


# When each key was last used, to the hour, written in batches after the answers.


USE_RESOLUTION = timedelta(hours=1)
"""Resolution of `Key.last_used_at`: enough to find unused keys, at hardly any writes."""
_MAX_KEYS = 4096
"""Keys whose last noted use is remembered, and keys whose use may wait to be written."""


def is_due(last: datetime | None, at: datetime) -> bool:
    """Whether a use at `at` is to be written, where the last one written was at `last`."""
    return last is None or at - last >= USE_RESOLUTION


def note_uses(times: Mapping[str, datetime]) -> StorePlan[int]:
    """Sets `last_used_at` of these keys, by id. Keys whose stored time is less than an hour older, which another process may
    have written, are skipped. The outcome is the number of keys written."""
    changes: list[StoreChange] = []
    for id, at in times.items():
        found = yield from read(KeyById(id))
        if found is not None and is_due(found.key.last_used_at, at):
            changes.append(ChangeKey(replace(found.key, last_used_at=at)))
    return StoreDecision(tuple(changes), len(changes))


class KeyUsage:
    """Notes uses of keys. A batch that can't be written is lost: then `last_used_at` is older than it should be, and nothing
    else is affected. With `read_only` nothing is noted."""

    def __init__(self, store: UnscopedStore, *, read_only: bool) -> None:
        self._store, self._read_only = store, read_only
        self._noted: LruCache[str, datetime] = LruCache(_MAX_KEYS)
        self._writer: BatchWriter[tuple[str, datetime]] = BatchWriter(self._write, max_waiting=_MAX_KEYS)

    def note(self, key: Key, at: datetime) -> None:
        """Notes a use at `at`. Does no I/O."""
        if self._read_only or not (is_due(key.last_used_at, at) and is_due(self._noted.get(key.id), at)):
            return
        if self._writer.add([(key.id, at)]):
            self._noted.put(key.id, at)

    async def close(self) -> None:
        """Writes the uses noted so far; gives up after five seconds. Idempotent."""
        await self._writer.close()

    async def _write(self, batch: list[tuple[str, datetime]]) -> None:
        await self._store.commit(note_uses(dict(batch)))
