"""Workers: several processes over one file and one port, and the one that watches over them.

The first begins alone: it makes the file or brings it up to date, and tells what is wrong once instead of once each. One that
ends by itself is begun anew, after a pause that doubles; a signal to the parent is passed on, and they end in order.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

__all__ = ["Failed", "Workers"]

_PAUSE, _LONGEST = 0.1, 5.0
"""Seconds until one that ended is begun anew: the first time, and at most."""
_SETTLED = 30.0
"""Seconds after which one that ends counts as ending for the first time."""
_LATE = 5.0
"""Seconds beyond the grace after which one that doesn't end is ended."""

Target = Callable[..., None]


class Failed(Exception):
    """The first one ended before it was ready, with this exit code; it has said why."""

    def __init__(self, code: int) -> None:
        super().__init__(f"a worker ended with {code} before it was ready")
        self.code = code


@dataclass(slots=True)
class _Worker:
    process: Any
    told: Connection
    began: float
    pause: float = _PAUSE


class Workers:
    """`target(index, told, *arguments)` in `count` processes; it sends something by `told` when it is ready. `ended` is told of
    one that ended by itself: its index, process id and exit code, and the seconds until it is begun anew."""

    def __init__(
        self,
        target: Target,
        arguments: tuple[Any, ...],
        count: int,
        grace: float,
        ended: Callable[[int, int, int, float], None],
    ) -> None:
        self._target, self._arguments, self._count, self._grace, self._told = target, arguments, count, grace, ended
        self._spawn = multiprocessing.get_context("spawn")
        self._workers: dict[int, _Worker] = {}
        self._due: dict[int, tuple[float, float]] = {}
        self._stopping: float | None = None

    def run(self, ready: Callable[[Any], None]) -> None:
        """Until a signal comes and all have ended. `ready` is told what the first one said. Raises `Failed`."""
        with self._signals() as woken:
            try:
                self._begin(0)
                word = self._first_word()
                if self._stopping is not None:
                    return
                ready(word)
                for index in range(1, self._count):
                    self._begin(index)
                while self._workers or (self._due and self._stopping is None):
                    self._watch(woken)
            finally:
                self._end()

    def _begin(self, index: int, pause: float = _PAUSE) -> None:
        heard, told = self._spawn.Pipe(duplex=False)
        process = self._spawn.Process(target=self._target, args=(index, told, *self._arguments), name=f"germane-{index}")
        process.start()
        told.close()
        self._workers[index] = _Worker(process, heard, time.monotonic(), pause)

    def _first_word(self) -> Any:
        first = self._workers[0]
        wait([first.told, first.process.sentinel])
        try:
            return first.told.recv()
        except EOFError:
            first.process.join()
            del self._workers[0]
            if self._stopping is not None:
                return None
            raise Failed(first.process.exitcode or 1) from None

    def _watch(self, woken: int) -> None:
        sentinels = {worker.process.sentinel: index for index, worker in self._workers.items()}
        for one in wait([*sentinels, woken], timeout=self._patience()):
            if one == woken:
                self._drain(woken)
            elif isinstance(one, int):
                self._ended(sentinels[one])
        now = time.monotonic()
        if self._stopping is not None:
            if now > self._stopping + self._grace + _LATE:
                for worker in self._workers.values():
                    worker.process.kill()
            return
        for index, (due, pause) in list(self._due.items()):
            if due <= now:
                del self._due[index]
                self._begin(index, pause)

    def _ended(self, index: int) -> None:
        worker = self._workers.pop(index)
        worker.process.join()
        worker.told.close()
        if self._stopping is None:
            lived = time.monotonic() - worker.began
            pause = _PAUSE if lived > _SETTLED else worker.pause
            self._due[index] = (time.monotonic() + pause, min(2 * pause, _LONGEST))
            self._told(index, worker.process.pid, worker.process.exitcode, pause)

    def _patience(self) -> float | None:
        if self._stopping is not None:
            return max(0.0, self._stopping + self._grace + _LATE - time.monotonic()) + 0.05
        if self._due:
            return max(0.0, min(due for due, _ in self._due.values()) - time.monotonic())
        return None

    def _end(self) -> None:
        """Whatever happened, none is left behind."""
        for worker in self._workers.values():
            worker.process.terminate()
        for worker in self._workers.values():
            worker.process.join(self._grace + _LATE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()

    @contextmanager
    def _signals(self) -> Iterator[int]:
        """Signals pass on to the workers; the file descriptor wakes whoever waits."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)

        def stop(number: int, _: object) -> None:
            self._stopping = self._stopping or time.monotonic()
            for worker in self._workers.values():
                worker.process.terminate()

        numbers = (signal.SIGTERM, signal.SIGINT)
        before = [signal.signal(number, stop) for number in numbers]
        wakened = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(wakened)
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)
            os.close(reading)
            os.close(writing)

    def _drain(self, woken: int) -> None:
        try:
            os.read(woken, 1024)
        except BlockingIOError:
            return
