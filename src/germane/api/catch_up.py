"""Catch-up: gives texts the vectors that they lack, after each recording, and again and again while the embedder fails."""

from __future__ import annotations

import asyncio

from germane.ports.batch_writer import stopped
from germane.ports.embedder import Watched
from germane.store import Store

__all__ = ["CatchUp"]

_FIRST_PAUSE, _MAX_PAUSE = 1.0, 60.0
"""Seconds until a failed embedder is asked again: the first time, and at most. The pause doubles."""
_PATIENCE = 5.0
"""Seconds that a recording waits for an embedder that answers nothing. The vectors follow when it does."""


class CatchUp:
    """One task on the event loop, from `start` to `close`, so that no text is embedded twice. `embedder` is None for a quick
    one, which leaves only the parts of very long texts to be embedded after their commit."""

    def __init__(self, store: Store, embedder: Watched | None) -> None:
        self._store, self._embedder = store, embedder
        self._wanted = asyncio.Event()
        self._rounds = self._done = 0
        self._ended = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins with the texts that an earlier process left without vectors, and those of an earlier version that aren't
        divided into parts yet."""
        if not self._store.read_only:
            self._wanted.set()
            self._task = asyncio.create_task(self._run())

    async def settle(self) -> None:
        """Returns when every text that is stored now has its vector; sooner where the embedder fails, or answers nothing for
        five seconds. Raises nothing of the store's or the embedder's."""
        if self._task is None:
            return
        self._rounds += 1
        mine = self._rounds
        self._wanted.set()
        waiting = asyncio.ensure_future(self._reached(mine))
        try:
            while not waiting.done() and not self._fault:
                answers = self._answers
                await asyncio.wait([waiting], timeout=_PATIENCE)
                if self._answers == answers:
                    return
        finally:
            waiting.cancel()

    async def close(self) -> None:
        """Stops; what has no vector yet gets it when the store is opened again. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            await stopped([task])

    @property
    def _fault(self) -> str:
        return "" if self._embedder is None else self._embedder.fault

    @property
    def _answers(self) -> int:
        return 0 if self._embedder is None else self._embedder.answers

    async def _reached(self, number: int) -> None:
        async with self._ended:
            await self._ended.wait_for(lambda: self._done >= number)

    async def _run(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            begun = self._rounds
            if succeeded := await self._embedded():
                pause = _FIRST_PAUSE
            async with self._ended:
                self._done = begun
                self._ended.notify_all()
            if not succeeded:
                await asyncio.sleep(pause)
                pause = min(_MAX_PAUSE, 2 * pause)
                self._wanted.set()

    async def _embedded(self) -> bool:
        """Embeds what waits; asks a failing embedder for one word first. Returns whether all went well."""
        try:
            if self._embedder is not None and self._embedder.fault:
                await self._embedder.check()
            await self._store.embed_pending()
        except Exception:
            return False
        return True
