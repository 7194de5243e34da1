"""Org turns: long work in threads, in short pieces: each org has one piece in work at a time, and the orgs come in turn. Also
work on a long list on the event loop, between whose items others have their turn.

Threads share one interpreter lock: more of them don't do more, and make everybody wait longer. An org with many long calls so
takes no more than one thread from the others, and its own short calls don't wait until its long ones have ended.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

__all__ = ["OrgTurns", "by_turns"]

T = TypeVar("T")
U = TypeVar("U")

_THREADS = 2
"""Pieces of work that are done at once."""
_ITEMS = 32
"""Items of a list that are worked on before the event loop turns to others."""


class OrgTurns:
    """Mutable; for one event loop."""

    def __init__(self, threads: int = _THREADS) -> None:
        self._free = threads
        self._working: set[str] = set()
        """The orgs with a piece in work."""
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        """What waits for its turn, by org; the org that has waited longest comes first."""

    async def run(self, org: str, work: Callable[[], T]) -> T:
        """Runs `work`, which should be short, in a thread when it is the org's turn, and returns its result."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(org, deque()).append(turn)
        self._next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._end(org)
            raise
        piece: asyncio.Future[Any] = asyncio.ensure_future(asyncio.to_thread(work))
        piece.add_done_callback(lambda _: self._end(org))  # the thread goes on where the caller is cancelled
        return await asyncio.shield(piece)

    def _end(self, org: str) -> None:
        self._working.remove(org)
        self._free += 1
        self._next()

    def _next(self) -> None:
        while self._free:
            org = next((one for one in self._waiting if one not in self._working), None)
            if org is None:
                return
            waiting = self._waiting.pop(org)
            turn = waiting.popleft()
            if waiting:
                self._waiting[org] = waiting
            if not turn.cancelled():
                turn.set_result(None)
                self._free -= 1
                self._working.add(org)


async def by_turns(items: Iterable[T], work: Callable[[T, int], U]) -> list[U]:
    """Returns what `work` makes of each item and its index; others have their turn on the event loop between the items."""
    made = list[U]()
    for index, item in enumerate(items):
        if index and not index % _ITEMS:
            await asyncio.sleep(0)
        made.append(work(item, index))
    return made
