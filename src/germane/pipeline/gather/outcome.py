"""Outcome: reads a source's finished task: its answer, its report for the trace, its verdict for the breaker."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput
from germane.memories.directive import Directive
from germane.pipeline.gather.source import Skipped
from germane.store import Warming
from germane.types.candidate import Candidate
from germane.types.query import Query
from germane.types.trace import SourceReport, Status
from germane.types.unread import Unread

__all__ = ["answer", "candidates", "source_report", "unread", "verdict"]

_ANSWERS: Mapping[str, type | tuple[type, ...]] = MappingProxyType({"directive": Directive, "embedding": Query})
"""The type of a task's answer, for tasks that don't return candidates."""
_MIN_FAIR = 0.010
"""Seconds: a time-out counts as a failure only if the source had at least this long."""


def answer(name: str, task: asyncio.Future[Any] | None) -> Any:
    """What the task of this name returned; None where it didn't return, or returned something of the wrong type."""
    if task is None or not task.done() or task.cancelled() or task.exception() is not None:
        return None
    found = task.result()
    fits = isinstance(found, _ANSWERS[name]) if name in _ANSWERS else _is_list(found)
    return found if fits else None


def _is_list(found: object) -> bool:
    """Whether it is a list or a plain tuple. A single candidate or event is a tuple too, but with names."""
    return isinstance(found, (list, tuple)) and not hasattr(found, "_fields")


def candidates(name: str, task: asyncio.Future[Any]) -> Sequence[Candidate]:
    """The candidates that a source returned; anything else in its answer is ignored."""
    return () if name in _ANSWERS else [item for item in answer(name, task) or () if isinstance(item, Candidate)]


def unread(name: str, task: asyncio.Future[Any]) -> Sequence[Unread]:
    """What a source found and didn't read."""
    return () if name in _ANSWERS else [item for item in answer(name, task) or () if isinstance(item, Unread)]


def _count(name: str, task: asyncio.Future[Any]) -> int:
    return 0 if name in _ANSWERS else sum(isinstance(item, (Candidate, Unread)) for item in answer(name, task) or ())


def source_report(name: str, task: asyncio.Future[Any], latency: float | None) -> SourceReport:
    """The report of one task for the trace. `latency` in seconds; None for a task that was abandoned."""
    if latency is None:
        return SourceReport(name=name, status="timeout")
    status, reason = _status(name, task)
    return SourceReport(name=name, status=status, latency=latency, found=_count(name, task), reason=reason)


def _status(name: str, task: asyncio.Future[Any]) -> tuple[Status, str]:
    """Of a task that has ended: how, and why it isn't `ok`."""
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if isinstance(error, Warming):
        return "skipped", "warming"
    if isinstance(error, Skipped):
        return "skipped", str(error)
    if error is not None:
        return "error", type(error).__name__
    if (found := answer(name, task)) is None:
        return "error", "garbage"
    if name == "embedding" and found.vector is None:
        return "skipped", "no_vector"
    return "ok", ""


def verdict(task: asyncio.Future[Any], report: SourceReport, had: float, own: float | None) -> bool | None:
    """Whether the source worked, for the circuit breaker. None where the task doesn't tell: the source had nothing to do, its
    partition is still being loaded, the request was invalid (`InvalidInput`), or it `had` less than 10 ms. A source that set a
    shorter time-out of its `own` is judged by that."""
    if task.done() and not task.cancelled() and isinstance(task.exception(), InvalidInput):
        return None
    if report.status == "ok":
        return True
    if report.status == "error":
        return False
    late = report.status == "timeout" or report.reason == "slow_embedder"
    return False if late and had >= min(_MIN_FAIR, _MIN_FAIR if own is None else own) else None
