"""Outcome: what came of one source's task: its answer, if it is one, the report, and whether it speaks for the source."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput
from germane.pipeline.gather.source import Skipped
from germane.store import Warming
from germane.types.candidate import Candidate
from germane.types.query import Query
from germane.types.trace import SourceReport

__all__ = ["answer", "candidates", "reported", "verdict"]

_ANSWERS: Mapping[str, type | tuple[type, ...]] = MappingProxyType({"directive": str, "embedding": Query})
"""What a task answers, where it isn't candidates."""
_FAIR = 0.010
"""Seconds that a source must have had before being late speaks against it."""


def answer(name: str, task: asyncio.Future[Any] | None) -> Any:
    """What the task of this name answered; None where it didn't, or with something of the wrong type."""
    if task is None or not task.done() or task.cancelled() or task.exception() is not None:
        return None
    found = task.result()
    return found if isinstance(found, _ANSWERS.get(name, (list, tuple))) else None


def candidates(name: str, task: asyncio.Future[Any]) -> Sequence[Candidate]:
    """What a source answered; anything that isn't candidates is no answer."""
    return () if name in _ANSWERS else [one for one in answer(name, task) or () if isinstance(one, Candidate)]


def reported(name: str, task: asyncio.Future[Any], latency: float | None) -> SourceReport:
    """`latency` is None for a task that was given up."""
    if latency is None:
        return SourceReport(name=name, status="timeout")
    report = SourceReport(name=name, status="ok", latency=latency, found=len(candidates(name, task)))
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if isinstance(error, Warming):
        return replace(report, status="skipped", reason="warming")
    if isinstance(error, Skipped):
        return replace(report, status="skipped", reason=str(error))
    if error is not None:
        return replace(report, status="error", reason=type(error).__name__)
    if (found := answer(name, task)) is None:
        return replace(report, status="error", reason="garbage")
    if name == "embedding" and found.vector is None:
        return replace(report, status="skipped", reason="no_vector")
    return report


def verdict(task: asyncio.Future[Any], report: SourceReport, had: float, own: float | None) -> bool | None:
    """Whether the source did its work, None where that can't be said: it had nothing to do, is still being loaded, was asked
    for what can't be answered (`InvalidInput`), or `had` too few seconds to be blamed. A limit of its `own` is fair."""
    if task.done() and not task.cancelled() and isinstance(task.exception(), InvalidInput):
        return None
    if report.status == "ok":
        return True
    if report.status == "error":
        return False
    late = report.status == "timeout" or report.reason == "slow_embedder"
    return False if late and had >= min(_FAIR, _FAIR if own is None else own) else None
