"""Logs: the service's structured log, one line per request or event; `redaction.py` keeps content and keys out."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import partial
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from types import CodeType, MappingProxyType, TracebackType
from typing import Any, BinaryIO

import orjson
import structlog

from germane.clock import Clock
from germane.service.redaction import LiteralText, Pseudonym, redact

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_CONSOLE_NAMES = MappingProxyType({"time": "timestamp", "stack": "from"})
"""Fields renamed for the console: structlog's renderer expects the time as `timestamp`, and treats `stack` specially."""


class Logs:
    """Thread-safe; no call blocks or raises.

    `level` is the lowest level that is written, `format` is `json` or `console`. `fixed` holds fields of every line, such as
    the process id. `pseudonym` returns what is logged in place of an id.
    """

    def __init__(
        self,
        stream: BinaryIO,
        *,
        pseudonym: Pseudonym,
        level: str = "info",
        format: str = "json",
        clock: Clock | None = None,
        fixed: Mapping[str, object] | None = None,
    ) -> None:
        self.min_level = _LEVELS[level]
        self._pseudonym = pseudonym
        self._clock, self._fixed = clock or Clock(), dict(fixed or {})
        render = _json if format == "json" else partial(_console, structlog.dev.ConsoleRenderer(colors=False))
        self._writer = LogWriter(stream, lost_line=lambda count: render(self._event("warning", "lines_lost", {"count": count})))
        self._logger = structlog.wrap_logger(
            _Output(self._writer),
            processors=[self._redact, lambda _, __, event: render(event)],
            wrapper_class=structlog.make_filtering_bound_logger(self.min_level),
            cache_logger_on_first_use=True,
        ).bind()

    def debug(self, event: str, **fields: object) -> None:
        self._logger.debug(event, **fields)

    def info(self, event: str, **fields: object) -> None:
        self._logger.info(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        self._logger.warning(event, **fields)

    def error(self, event: str, **fields: object) -> None:
        self._logger.error(event, **fields)

    def close(self) -> None:
        """Writes the lines that still wait; may take seconds."""
        self._writer.close()

    def _redact(self, _: object, level: str, event: MutableMapping[str, Any]) -> dict[str, object]:
        return self._event(level, str(event.pop("event", "")), event)

    def _event(self, level: str, event: str, fields: Mapping[str, object]) -> dict[str, object]:
        time = self._clock.now().isoformat(timespec="milliseconds")
        return redact({"time": time, **self._fixed, **fields, "level": level, "event": event}, self._pseudonym)


class _Output:
    """The logger at the end of structlog's chain of processors."""

    def __init__(self, writer: LogWriter) -> None:
        self.debug = self.info = self.warning = self.error = self.critical = writer.write


def _json(event: Mapping[str, object]) -> bytes:
    return orjson.dumps(event)


def _console(renderer: structlog.dev.ConsoleRenderer, event: Mapping[str, object]) -> bytes:
    renamed = {_CONSOLE_NAMES.get(name, name): value for name, value in event.items()}
    return renderer(None, "", renamed).encode("utf-8", "replace")


# A thread writes the lines, so that a slow reader of the log can't delay answers.


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


# Brings records of other packages, and uncaught exceptions, into germane's log. Such texts may hold content: asyncio
# logs the messages of exceptions, and warnings quote values. So a text is logged only if it is a string constant in the
# code that logged it; arguments filled into it are never logged.


class StdlibHandler(logging.Handler):
    """Logs a record's logger, level and place, the type and place of an exception, and the text if it is a constant. A record
    may have the exception as `error` (`extra={"error": …}`), where another handler mustn't write its text."""

    def __init__(self, logs: Logs) -> None:
        super().__init__(logs.min_level)
        self._logs = logs

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else getattr(record, "error", None)
        log = {"DEBUG": self._logs.debug, "INFO": self._logs.info, "WARNING": self._logs.warning}.get(record.levelname)
        (log or self._logs.error)(
            "foreign",
            logger=record.name,
            text=_literal(record),
            at=f"{record.filename}:{record.lineno}",
            error=error if isinstance(error, BaseException) else None,
        )

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Does nothing: the standard library would print the record with its arguments."""


@contextmanager
def route_stdlib_logging(logs: Logs) -> Iterator[None]:
    """Sends all log records, warnings and uncaught exceptions of the process to `logs`; restores the handlers afterwards.

    Records below WARNING are logged only if the level of `logs` is `debug`. For processes that germane owns, since it replaces
    the root logger's handlers and the interpreter's exception hooks.
    """
    root, handler = logging.getLogger(), StdlibHandler(logs)
    before = root.handlers[:], root.level, sys.excepthook, threading.excepthook, sys.unraisablehook
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO if logs.min_level == logging.DEBUG else max(logs.min_level, logging.WARNING))
    logging.captureWarnings(True)

    def uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        logs.error("uncaught", error=error)

    sys.excepthook = uncaught
    threading.excepthook = lambda hook: logs.error("uncaught", error=hook.exc_value)
    sys.unraisablehook = lambda hook: logs.error("uncaught", error=hook.exc_value)
    try:
        yield
    finally:
        root.handlers[:], sys.excepthook, threading.excepthook, sys.unraisablehook = before[0], *before[2:]
        root.setLevel(before[1])
        logging.captureWarnings(False)


def log_uncaught(loop: asyncio.AbstractEventLoop, logs: Logs) -> None:
    """Sends exceptions that no task of `loop` caught to `logs`. The loop's default would print the task and the message."""

    def uncaught(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        logs.error("uncaught", error=context.get("exception"))

    loop.set_exception_handler(uncaught)


def _literal(record: logging.LogRecord) -> LiteralText | None:
    """The record's text if it is a constant in the code of the frame that logged it, else None."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_filename == record.pathname and frame.f_lineno == record.lineno:
            text = record.msg
            return LiteralText(text) if isinstance(text, str) and text in _string_constants(frame.f_code) else None
    return None


def _string_constants(code: CodeType) -> list[object]:
    return [constant for constant in code.co_consts if isinstance(constant, str)]
