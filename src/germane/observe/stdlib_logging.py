"""Stdlib logging: brings records of other packages, and uncaught exceptions, into germane's log.

Such texts may hold content: asyncio logs the messages of exceptions, and warnings quote values. So a text is logged only if it
is a string constant in the code that logged it; arguments filled into it are never logged.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, TracebackType
from typing import Any

from germane.observe.logs import Logs
from germane.observe.redaction import LiteralText

__all__ = ["StdlibHandler", "log_uncaught", "route_stdlib_logging"]


class StdlibHandler(logging.Handler):
    """Logs a record's logger, level and place, the type and place of an exception, and the text if it is a constant."""

    def __init__(self, logs: Logs) -> None:
        super().__init__(logs.min_level)
        self._logs = logs

    def emit(self, record: logging.LogRecord) -> None:
        log = {"DEBUG": self._logs.debug, "INFO": self._logs.info, "WARNING": self._logs.warning}.get(record.levelname)
        (log or self._logs.error)(
            "foreign",
            logger=record.name,
            text=_literal(record),
            at=f"{record.filename}:{record.lineno}",
            error=record.exc_info[1] if record.exc_info else None,
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
