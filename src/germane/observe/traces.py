"""Traces: one span for each call, for OpenTelemetry. A span costs tens of microseconds, so stages and sources are attributes of
it and no spans of their own. No attribute holds content, an id or what an exception says.

Off by default, and then nothing of OpenTelemetry is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from germane.types.context import Metadata

__all__ = ["NoTraces", "Span", "Traces", "open_traces"]


class Span(Protocol):
    @property
    def trace_id(self) -> str:
        """32 hex digits; empty where none is recorded."""

    def end(self, code: str, metadata: Metadata | None = None, error: BaseException | None = None) -> None:
        """Once."""


class Traces(Protocol):
    def begin(self, method: str, headers: Mapping[str, str]) -> Span:
        """`headers` in lower case: what goes on from `traceparent` belongs to the caller's trace."""

    def close(self) -> None:
        """Sends what waits."""


class _NoSpan:
    __slots__ = ()
    trace_id = ""

    def end(self, code: str, metadata: Metadata | None = None, error: BaseException | None = None) -> None:
        return None


class NoTraces:
    """Costs nothing."""

    _span = _NoSpan()

    def begin(self, method: str, headers: Mapping[str, str]) -> Span:
        return self._span

    def close(self) -> None:
        return None


def open_traces(kind: str, *, endpoint: str = "", sample: float = 1.0, version: str = "") -> Traces:
    """`off`, `console` (standard output) or `otlp`, to `endpoint` or as OpenTelemetry's own variables say. `sample` is the
    share of calls that get a span, where the caller hasn't decided. Raises `MissingExtra`."""
    if kind == "off":
        return NoTraces()
    from germane.observe.spans import Spans, exporter

    return Spans(exporter(kind, endpoint), sample=sample, version=version)
