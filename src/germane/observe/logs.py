"""Logs: the service's structured log, one line per request or event; `redaction.py` keeps content and keys out."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from functools import partial
from types import MappingProxyType
from typing import Any, BinaryIO

import orjson
import structlog

from germane.clock import Clock
from germane.observe.log_writer import LogWriter
from germane.observe.redaction import Pseudonym, redact

__all__ = ["Logs"]

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
