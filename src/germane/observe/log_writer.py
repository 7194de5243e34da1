"""Log writer: a thread that writes log lines, so that a slow reader of the log can't delay answers."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from typing import BinaryIO

__all__ = ["LogWriter"]

_END = b""
_BATCH_SECONDS = 0.02
"""How long lines are collected before they are written: waking the thread for each line would slow answers down."""
_MAX_BATCH = 1000


class LogWriter:
    """Writes lines to `stream` in batches. `write` never blocks.

    At most `max_waiting` lines wait; further lines are dropped and counted, and `lost_line` makes the line that reports their
    number, written once there is room. Lines are also dropped when the stream can't be written (its reader is gone).
    """

    def __init__(self, stream: BinaryIO, *, max_waiting: int = 10_000, lost_line: Callable[[int], bytes] | None = None) -> None:
        self._stream, self._lost_line = stream, lost_line
        self._queue: Queue[bytes] = Queue(max_waiting)
        self._lost = 0
        self._lock, self._closing = Lock(), Event()
        self._thread = Thread(target=self._run, name="germane-log", daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        """Queues a line without its newline. Thread-safe."""
        try:
            self._queue.put_nowait(line)
        except Full:
            with self._lock:
                self._lost += 1

    def close(self, timeout: float = 2.0) -> None:
        """Writes the waiting lines; blocks for at most twice `timeout` seconds. Lines that are logged later are lost."""
        self._closing.set()
        try:
            self._queue.put(_END, timeout=timeout)
        except Full:
            return
        self._thread.join(timeout)

    def _run(self) -> None:
        while True:
            lines = [self._queue.get()]
            self._closing.wait(_BATCH_SECONDS)
            try:
                while len(lines) < _MAX_BATCH:
                    lines.append(self._queue.get_nowait())
            except Empty:
                pass
            self._put(b"".join(line + b"\n" for line in lines if line))
            with self._lock:
                lost, self._lost = self._lost, 0
            if lost and self._lost_line is not None:
                self._put(self._lost_line(lost) + b"\n")
            if _END in lines:
                return

    def _put(self, text: bytes) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            return
