"""Lines: what is logged, on its way out. A thread writes them, so that a slow reader of the log costs lines and no answers."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from typing import BinaryIO

__all__ = ["Lines"]

_END = b""
_GATHERS = 0.02
"""Seconds that lines are gathered before they are written: a thread that wakes for each would get in the way of answers."""
_TOGETHER = 1000


class Lines:
    """`write` never waits. At most `most` lines wait to be written; those beyond are lost and counted, and `told` makes the
    line that says how many, once there is room. What can't be written (the reader is gone) is lost too."""

    def __init__(self, stream: BinaryIO, *, most: int = 10_000, told: Callable[[int], bytes] | None = None) -> None:
        self._stream, self.told = stream, told
        self._queue: Queue[bytes] = Queue(most)
        self._lost = 0
        self._lock, self._closing = Lock(), Event()
        self._thread = Thread(target=self._run, name="germane-log", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        try:
            self._queue.put_nowait(line)
        except Full:
            with self._lock:
                self._lost += 1

    def close(self, patience: float = 2.0) -> None:
        """Writes what waits, for so many seconds at most. What is logged after that is lost."""
        self._closing.set()
        try:
            self._queue.put(_END, timeout=patience)
        except Full:
            return
        self._thread.join(patience)

    def _run(self) -> None:
        while True:
            lines = [self._queue.get()]
            self._closing.wait(_GATHERS)
            try:
                while len(lines) < _TOGETHER:
                    lines.append(self._queue.get_nowait())
            except Empty:
                pass
            self._put(b"".join(line + b"\n" for line in lines if line))
            with self._lock:
                lost, self._lost = self._lost, 0
            if lost and self.told is not None:
                self._put(self.told(lost) + b"\n")
            if _END in lines:
                return

    def _put(self, text: bytes) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            return
