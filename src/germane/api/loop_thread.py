"""Loop thread: an event loop in a daemon thread, for callers that block. It keeps one resource open while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, suppress
from threading import Lock, Thread
from typing import Any, ParamSpec, TypeVar

from germane.errors import StoreUnavailable

__all__ = ["Loop"]

P = ParamSpec("P")
T = TypeVar("T")


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
