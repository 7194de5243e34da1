"""Verification: whether a token opens anything, asked of the store at most once a second and never on the event loop.

Two rules meet here. *A fault of authorisation never lets more through*: a no of the store, an end that is known, a revocation
in this process, and an answer that makes no sense all count at once, whatever was known before. *An availability fault gives
less, never a failed request*: a key that the store vouched for goes on for `GRACE` seconds while the store can't be asked.

So the risk taken is this, and no more: a key that another process revoked while this one's store hangs goes on here until the
store answers again, and never longer than `GRACE` since it was last confirmed. While a store hangs there is nothing in it that
could be read with that key; what is left is what memory holds. Who is about to write waits for the store anyway, and should
ask without patience: then there is no grace.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from germane.access.grant import Grant
from germane.access.key import Key
from germane.access.key_cache import KeyCache
from germane.access.key_store import KeyStore
from germane.access.token import Presented, presented
from germane.access.usage import KeyUsage
from germane.clock import Clock
from germane.errors import StoreError, StoreUnavailable

__all__ = ["FRESH", "GRACE", "Verifier"]

FRESH = 1.0
"""Seconds for which an answer of the store is taken for the present: what another process revokes ends here after that."""
GRACE = 120.0
"""Seconds since it was last confirmed for which a key goes on while the store can't be asked: a minute's outage, twice."""
_MOST = 4096
"""Questions under way at once; beyond that the store counts as one that can't be asked."""


@dataclass(frozen=True, slots=True)
class _Ask:
    """A question under way, for all who wait for it; it was `started` at this moment of the steady clock."""

    started: float
    task: asyncio.Task[Key | Exception | None]


class Verifier:
    def __init__(self, key_store: KeyStore, usage: KeyUsage, clock: Clock) -> None:
        self._key_store, self._usage, self._clock = key_store, usage, clock
        self._known = KeyCache()
        self._asks: dict[bytes, _Ask] = {}
        self._running: set[asyncio.Task[Key | Exception | None]] = set()
        self._closed = False

    async def verify(self, token: object, patience: float | None) -> Grant | None:
        """What the token opens. See `Keyring.verify`."""
        shown = presented(token)
        key = self._remembered(shown, FRESH) or await self._asked(shown, patience)
        if key is None:
            return None
        self._usage.note(key, self._clock.now())
        return Grant.of(key)

    def forget(self, *ids: str) -> None:
        """These keys have been changed by this process: nothing known of them holds, nor does an answer on its way."""
        for id in ids:
            self._known.forget(id)
        self._asks.clear()

    async def close(self) -> None:
        """Ends what is under way, writes what was noted. Who still waits is told that the store can't be asked."""
        self._closed = True
        self._asks.clear()
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._usage.close()

    def _remembered(self, shown: Presented, seconds: float) -> Key | None:
        return self._known.recall(shown.digest, now=self._clock.now(), since=self._clock.steady() - seconds)

    async def _asked(self, shown: Presented, patience: float | None) -> Key | None:
        begun, fault = self._clock.steady(), None
        while (ask := self._ask(shown)) is not None:
            left = None if patience is None else min(begun, ask.started) + patience - self._clock.steady()
            if left is None or left > 0:
                await asyncio.wait({ask.task}, timeout=left)
            if not ask.task.done():
                break
            if ask.task.cancelled():
                if self._asks.get(shown.digest) is not ask:
                    continue  # it took too long, and is begun anew
                del self._asks[shown.digest]  # the store gave up by itself
                break
            answer = ask.task.result()
            if not isinstance(answer, Exception):
                return answer
            fault = answer
            break
        if patience is not None and (key := self._remembered(shown, GRACE)) is not None:
            return key
        raise StoreUnavailable("the key can't be verified now: the store doesn't answer (try again)") from fault

    def _ask(self, shown: Presented) -> _Ask | None:
        """The question under way about this token, or a new one; None where there can't be one."""
        steady = self._clock.steady()
        ask = self._asks.get(shown.digest)
        if ask is not None and ask.started + FRESH > steady:
            return ask
        if len(self._asks) >= _MOST:
            self._abandon(steady - FRESH)
        elif ask is not None:
            self._asks.pop(shown.digest).task.cancel()
        if self._closed or len(self._asks) >= _MOST:
            return None
        task = asyncio.create_task(self._find(shown, steady))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        self._asks[shown.digest] = _Ask(steady, task)
        return self._asks[shown.digest]

    def _abandon(self, before: float) -> None:
        """They stand in the order in which they were begun."""
        while self._asks and (oldest := next(iter(self._asks.items())))[1].started <= before:
            self._asks.pop(oldest[0]).task.cancel()

    async def _find(self, shown: Presented, started: float) -> Key | Exception | None:
        """The store's answer, learnt unless something has happened meanwhile; an exception where it couldn't be asked."""
        key: Key | None = None
        fault: Exception | None = None
        try:
            stored = await self._key_store.find(shown.id)
            if shown.matches(stored) and stored is not None and stored.key.holds(self._clock.now()):
                key = stored.key
        except Exception as error:
            fault = error
        ask = self._asks.get(shown.digest)
        if ask is None or ask.task is not asyncio.current_task():
            return key or fault
        del self._asks[shown.digest]
        if key is not None:
            self._known.learn(shown.digest, key, asked=started)
        elif not isinstance(fault, StoreError | OSError):
            self._known.drop(shown.digest)
        return key or fault
