"""Logs: one line of JSON for each request and each event, without content or keys (`redaction.py` sees to that)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from functools import partial
from types import MappingProxyType
from typing import Any, BinaryIO

import orjson
import structlog

from germane.clock import Clock
from germane.observe.log_writer import Lines
from germane.observe.redaction import Pseudonym, allowed

__all__ = ["Logs"]

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_FOR_PEOPLE = MappingProxyType({"time": "timestamp", "stack": "from"})
"""Names with which structlog's renderer does other things."""


class Logs:
    """Callable from any thread; no call waits, and none raises. `level` is the least that is written, `format` is `json` or
    `console`. `fixed` goes on every line (the worker's process, say). `pseudonym` makes what stands for an id."""

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
        self.least = _LEVELS[level]
        self._pseudonym = pseudonym
        self._clock, self._fixed = clock or Clock(), dict(fixed or {})
        render = _json if format == "json" else partial(_console, structlog.dev.ConsoleRenderer(colors=False))
        self._lines = Lines(stream, told=lambda count: render(self._made("warning", "lines_lost", {"count": count})))
        self._logger = structlog.wrap_logger(
            _Out(self._lines),
            processors=[self._allow, lambda _, __, event: render(event)],
            wrapper_class=structlog.make_filtering_bound_logger(self.least),
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
        """Writes what still waits."""
        self._lines.close()

    def _allow(self, _: object, level: str, event: MutableMapping[str, Any]) -> dict[str, object]:
        return self._made(level, str(event.pop("event", "")), event)

    def _made(self, level: str, event: str, fields: Mapping[str, object]) -> dict[str, object]:
        time = self._clock.now().isoformat(timespec="milliseconds")
        return allowed({"time": time, **self._fixed, **fields, "level": level, "event": event}, self._pseudonym)


class _Out:
    """Where structlog's chain ends."""

    def __init__(self, lines: Lines) -> None:
        self.debug = self.info = self.warning = self.error = self.critical = lines.write


def _json(event: Mapping[str, object]) -> bytes:
    return orjson.dumps(event)


def _console(renderer: structlog.dev.ConsoleRenderer, event: Mapping[str, object]) -> bytes:
    made = {_FOR_PEOPLE.get(name, name): value for name, value in event.items()}
    return renderer(None, "", made).encode("utf-8", "replace")
