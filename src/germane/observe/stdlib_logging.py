"""Foreign: what other packages log through the standard library, and what nobody caught, brought into the same log.

Their texts are no better known than content: asyncio prints what an exception says, and a warning quotes its values. So a
text is written only where it stands literally in the code that logged it; what was filled in never is.
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
from germane.observe.redaction import Literally

__all__ = ["Foreign", "routed", "watch"]


class Foreign(logging.Handler):
    """A record's logger, level and place, an exception's type and place, and the text if it is a constant of the code."""

    def __init__(self, logs: Logs) -> None:
        super().__init__(logs.least)
        self._logs = logs

    def emit(self, record: logging.LogRecord) -> None:
        say = {"DEBUG": self._logs.debug, "INFO": self._logs.info, "WARNING": self._logs.warning}.get(record.levelname)
        (say or self._logs.error)(
            "foreign",
            logger=record.name,
            text=_literal(record),
            at=f"{record.filename}:{record.lineno}",
            error=record.exc_info[1] if record.exc_info else None,
        )

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """The standard library's would print the record, arguments and all."""


@contextmanager
def routed(logs: Logs) -> Iterator[None]:
    """Every logger's records, warnings, and whatever ends a thread or the process go to `logs`; afterwards all is as before.
    What others say in passing is for those who look for a fault: below a warning it is told at the level `debug` alone. For a
    process that is germane's own."""
    root, mine = logging.getLogger(), Foreign(logs)
    before = root.handlers[:], root.level, sys.excepthook, threading.excepthook, sys.unraisablehook
    root.handlers[:] = [mine]
    root.setLevel(logging.INFO if logs.least == logging.DEBUG else max(logs.least, logging.WARNING))
    logging.captureWarnings(True)

    def ended(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        logs.error("uncaught", error=error)

    sys.excepthook = ended
    threading.excepthook = lambda given: logs.error("uncaught", error=given.exc_value)
    sys.unraisablehook = lambda given: logs.error("uncaught", error=given.exc_value)
    try:
        yield
    finally:
        root.handlers[:], sys.excepthook, threading.excepthook, sys.unraisablehook = before[0], *before[2:]
        root.setLevel(before[1])
        logging.captureWarnings(False)


def watch(loop: asyncio.AbstractEventLoop, logs: Logs) -> None:
    """What no task of `loop` caught goes to `logs`: the loop's own way would print the task, and what its exception says."""

    def uncaught(_: asyncio.AbstractEventLoop, given: dict[str, Any]) -> None:
        logs.error("uncaught", error=given.get("exception"))

    loop.set_exception_handler(uncaught)


def _literal(record: logging.LogRecord) -> Literally | None:
    """Its text, if the code of the frame that logged it has it as a constant. Arguments are never looked at."""
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_filename == record.pathname and frame.f_lineno == record.lineno:
            return Literally(record.msg) if isinstance(record.msg, str) and record.msg in _texts(frame.f_code) else None
    return None


def _texts(code: CodeType) -> list[object]:
    return [constant for constant in code.co_consts if isinstance(constant, str)]
