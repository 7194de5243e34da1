"""Supervisor: starts several worker processes over one database and one port, restarts and stops them.

The first worker starts alone: it creates or migrates the database, and reports an error once instead of every worker
reporting it. A worker that exits by itself is restarted after a pause that doubles each time. A signal to the parent is
passed on to all workers.

The module imports nothing that imports prometheus_client: a worker must join the metrics folder first.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from germane.settings.serving import ServiceSettings
from germane.settings.settings import Settings

_FIRST_PAUSE, _MAX_PAUSE = 0.1, 5.0
"""Seconds before a worker is restarted: the first time, and at most."""
_STABLE_SECONDS = 30.0
"""A worker that lived this long is restarted with the first pause again."""
_KILL_SECONDS = 5.0
"""Seconds after the grace period at which a worker that still runs is killed."""

Target = Callable[..., None]


class WorkerFailed(Exception):
    """The first worker exited with `code` before it was ready; it has written the reason to standard error."""

    def __init__(self, code: int) -> None:
        super().__init__(f"a worker ended with {code} before it was ready")
        self.code = code


@dataclass(slots=True)
class _Worker:
    process: Any
    ready: Connection
    """Receives one message when the worker is ready."""
    started: float
    pause: float = _FIRST_PAUSE
    """Seconds to wait before the next restart."""


class Supervisor:
    """Runs `target(index, ready, *arguments)` in `count` processes, started with "spawn". The target sends one message through
    the connection `ready` when it is ready. `grace` are the seconds that workers have to end after a signal. `on_exit` is
    called for a worker that exits by itself: index, process id, exit code, seconds until the restart."""

    def __init__(
        self,
        target: Target,
        arguments: tuple[Any, ...],
        count: int,
        grace: float,
        on_exit: Callable[[int, int, int, float], None],
    ) -> None:
        self._target, self._arguments, self._count, self._grace, self._on_exit = target, arguments, count, grace, on_exit
        self._spawn = multiprocessing.get_context("spawn")
        self._workers: dict[int, _Worker] = {}
        self._restarts: dict[int, tuple[float, float]] = {}
        """By index: when the worker is restarted, and its next pause."""
        self._stop_time: float | None = None

    def run(self, on_ready: Callable[[Any], None]) -> None:
        """Returns when a signal came and all workers have ended. Calls `on_ready` with the first worker's message. Raises
        `WorkerFailed` if the first worker exits before it is ready."""
        with self._signals() as wakeup:
            try:
                self._start(0)
                message = self._first_message()
                if self._stop_time is not None:
                    return
                on_ready(message)
                for index in range(1, self._count):
                    self._start(index)
                while self._workers or (self._restarts and self._stop_time is None):
                    self._supervise(wakeup)
            finally:
                self._stop_all()

    def _start(self, index: int, pause: float = _FIRST_PAUSE) -> None:
        receiving, sending = self._spawn.Pipe(duplex=False)
        process = self._spawn.Process(target=self._target, args=(index, sending, *self._arguments), name=f"germane-{index}")
        process.start()
        sending.close()
        self._workers[index] = _Worker(process, receiving, time.monotonic(), pause)

    def _first_message(self) -> Any:
        first = self._workers[0]
        wait([first.ready, first.process.sentinel])
        try:
            return first.ready.recv()
        except EOFError:
            first.process.join()
            del self._workers[0]
            if self._stop_time is not None:
                return None
            raise WorkerFailed(first.process.exitcode or 1) from None

    def _supervise(self, wakeup: int) -> None:
        """Waits for one event (a worker exits, a signal, a restart or kill that is due) and reacts to it."""
        sentinels = {worker.process.sentinel: index for index, worker in self._workers.items()}
        for event in wait([*sentinels, wakeup], timeout=self._timeout()):
            if event == wakeup:
                self._drain(wakeup)
            elif isinstance(event, int):
                self._exited(sentinels[event])
        now = time.monotonic()
        if self._stop_time is not None:
            if now > self._stop_time + self._grace + _KILL_SECONDS:
                for worker in self._workers.values():
                    worker.process.kill()
            return
        for index, (due, pause) in list(self._restarts.items()):
            if due <= now:
                del self._restarts[index]
                self._start(index, pause)

    def _exited(self, index: int) -> None:
        worker = self._workers.pop(index)
        worker.process.join()
        worker.ready.close()
        if self._stop_time is None:
            lived = time.monotonic() - worker.started
            pause = _FIRST_PAUSE if lived > _STABLE_SECONDS else worker.pause
            self._restarts[index] = (time.monotonic() + pause, min(2 * pause, _MAX_PAUSE))
            self._on_exit(index, worker.process.pid, worker.process.exitcode, pause)

    def _timeout(self) -> float | None:
        """Seconds until the next kill or restart is due; None if nothing is due."""
        if self._stop_time is not None:
            return max(0.0, self._stop_time + self._grace + _KILL_SECONDS - time.monotonic()) + 0.05
        if self._restarts:
            return max(0.0, min(due for due, _ in self._restarts.values()) - time.monotonic())
        return None

    def _stop_all(self) -> None:
        """Terminates the workers that still run, and kills those that outlive the grace period. No process is left behind."""
        for worker in self._workers.values():
            worker.process.terminate()
        for worker in self._workers.values():
            worker.process.join(self._grace + _KILL_SECONDS)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()

    @contextmanager
    def _signals(self) -> Iterator[int]:
        """Passes SIGTERM and SIGINT on to the workers as SIGTERM. Yields a file descriptor that becomes readable with each
        signal, so that `wait` returns. Restores the handlers afterwards."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)

        def stop(number: int, _: object) -> None:
            self._stop_time = self._stop_time or time.monotonic()
            for worker in self._workers.values():
                worker.process.terminate()

        numbers = (signal.SIGTERM, signal.SIGINT)
        before = [signal.signal(number, stop) for number in numbers]
        previous_wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(previous_wakeup)
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)
            os.close(reading)
            os.close(writing)

    def _drain(self, wakeup: int) -> None:
        try:
            os.read(wakeup, 1024)
        except BlockingIOError:
            return


# The function that a worker process of `germane serve` starts with.


def run_worker(
    index: int,
    ready: Connection,
    service: ServiceSettings,
    settings: Settings,
    folder: Path,
    describe_exit: Callable[[BaseException], tuple[int, str]],
) -> None:
    """Serves until a signal stops the process; sends where the worker listens through `ready`. An error ends the process with
    the exit code and the line on standard error that `describe_exit` returns for it."""

    try:
        join_folder(folder)
        from germane.grpc.handover.siblings import WorkerPlace
        from germane.service.worker import serve

        serve(service, settings, ready.send, WorkerPlace(index=index, count=service.workers, folder=folder))
    except BaseException as error:
        code, line = describe_exit(error)
        if index == 0 or not isinstance(error, KeyboardInterrupt):
            print(f"germane: worker {index}: {line}", file=sys.stderr, flush=True)
        sys.exit(code)


# One set of metrics for several worker processes, through prometheus_client's shared folder. Each process writes its
# numbers into files of its own in the folder, and the process that serves `/metrics` adds them up. prometheus_client
# chooses this mode when it is first imported, by an environment variable.


_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


@contextmanager
def metrics_folder() -> Iterator[Path]:
    """Creates the folder for the workers of one service and removes it at the end. For the parent process."""
    with TemporaryDirectory(prefix="germane-metrics-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def join_folder(folder: Path) -> None:
    """Makes this process's metrics part of `folder`. Raises `RuntimeError` if prometheus_client is already imported, since it
    would then count this process alone."""
    if "prometheus_client" in sys.modules and os.environ.get(_VARIABLE) != str(folder):
        raise RuntimeError("prometheus_client is imported already: join the folder first")
    os.environ[_VARIABLE] = str(folder)


def mark_process_dead(folder: Path, process: int) -> None:
    """Removes the gauges of an ended process (calls in flight, lag, breakers). Its counters stay in the sums."""
    for file in folder.glob(f"gauge_live*_{process}.db"):
        file.unlink(missing_ok=True)
