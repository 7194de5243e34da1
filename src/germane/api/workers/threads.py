"""Threads: long work in threads, in turns of the orgs, and an event loop in a thread for callers that block.

Long work is done in short pieces: each org has one piece in work at a time, and the orgs come in turn. Threads share one
interpreter lock: more of them don't do more, and make everybody wait longer. An org with many long calls so takes no more than
one thread from the others, and its own short calls don't wait until its long ones have ended.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, suppress
from threading import Lock, Thread
from typing import Any, ParamSpec, TypeVar

from germane.errors import StoreUnavailable

T = TypeVar("T")
U = TypeVar("U")

_MAX_THREADS = 2
"""Pieces of work that are done at once."""
_TURN_ITEMS = 32
"""Items of a list that are worked on before the event loop turns to others."""


def abandon(work: asyncio.Future[Any]) -> None:
    """Cancels work that nobody waits for any more, without waiting for its end, and has its outcome looked at, so that asyncio
    doesn't log it. Nothing where it is done."""
    if not work.done():
        work.cancel()
        work.add_done_callback(lambda one: one.cancelled() or one.exception())


class OrgTurns:
    """Mutable; for one event loop."""

    def __init__(self, threads: int = _MAX_THREADS) -> None:
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
        if index and not index % _TURN_ITEMS:
            await asyncio.sleep(0)
        made.append(work(item, index))
    return made


# An event loop in a daemon thread. It keeps one resource open while it runs.


P = ParamSpec("P")


class Loop:
    """One task in the thread enters and leaves `resource`, so an interrupted caller leaves nothing half open."""

    def __init__(self, resource: AbstractAsyncContextManager[Any]) -> None:
        """Returns when `resource` is entered. Raises what entering it raises."""
        self._resource = resource
        self._loop = asyncio.new_event_loop()
        self._opened: Future[None] = Future()
        self._closed: Future[None] = Future()
        self._ending = asyncio.Event()
        self._ended = False
        self._lock = Lock()
        self._thread = Thread(target=self._run, name="germane", daemon=True)
        self._thread.start()
        try:
            self._opened.result()
        except BaseException:
            self._end()
            raise

    def call(self, verb: Callable[P, Coroutine[Any, Any, T]], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs `verb` on the loop and returns its result. Raises what it raises, and `StoreUnavailable` where this loop is
        closed. Callable from any thread but the loop's own. An interrupt cancels the call and is raised again."""
        with self._lock:
            if self._ended or not self._thread.is_alive():
                raise StoreUnavailable("this Germane isn't open: use  with Germane.open(…) as germane:  (anew after a fork)")
            future = asyncio.run_coroutine_threadsafe(verb(*args, **kwargs), self._loop)
        try:
            return future.result()
        except CancelledError:
            raise StoreUnavailable("this Germane was closed while a call was under way") from None
        except BaseException:
            future.cancel()
            raise

    def each(self, left: AsyncIterator[T]) -> Iterator[T]:
        """Yields what `left` yields. It is fetched some at a time, since changing threads for each would cost more than reading
        it. Raises what `call` raises."""
        try:
            while some := self.call(_next, left):
                yield from some
        finally:
            if isinstance(left, AsyncGenerator):
                with suppress(StoreUnavailable):  # closing the resource has ended it
                    self.call(_end, left)

    def close(self) -> None:
        """Leaves the resource, cancels what still runs and ends the thread. Raises what leaving raises. Idempotent."""
        self._end()
        self._thread.join()
        if self._closed.done():  # after a fork it never is: the child has no such thread
            self._closed.result()

    def _end(self) -> None:
        with self._lock:
            self._ended = True
            with suppress(RuntimeError):  # the loop is closed already: opening failed, or this is the second call
                self._loop.call_soon_threadsafe(self._ending.set)

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._live())
        except BaseException as error:
            failed = self._closed if self._opened.done() else self._opened
            failed.set_exception(error)
        if not self._closed.done():
            self._closed.set_result(None)

    async def _live(self) -> None:
        async with self._resource:
            self._opened.set_result(None)
            await self._ending.wait()


async def _next(left: AsyncIterator[T], maximum: int = 256) -> list[T]:
    some: list[T] = []
    async for one in left:
        some.append(one)
        if len(some) == maximum:
            break
    return some


async def _end(left: AsyncGenerator[Any, None]) -> None:
    await left.aclose()
