"""Traces: one OpenTelemetry span per gRPC call, or none when tracing is off.

Stages and sources are attributes of that span and not spans of their own, since a span costs tens of microseconds. No attribute
holds content, an id or the message of an exception. When tracing is off, OpenTelemetry isn't imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from germane.types.context import Metadata

__all__ = ["NoTraces", "Span", "Traces", "open_traces"]


class Span(Protocol):
    @property
    def trace_id(self) -> str:
        """32 hex digits; empty if no span is recorded."""

    def end(self, code: str, metadata: Metadata | None = None, error: BaseException | None = None) -> None:
        """Ends the span; call it once. `code` is gRPC's status."""


class Traces(Protocol):
    def begin(self, method: str, headers: Mapping[str, str]) -> Span:
        """Starts a span for a call of `method`. `headers` have lower-case names; with `traceparent` among them, the span joins
        the caller's trace (W3C Trace Context)."""

    def close(self) -> None:
        """Sends the spans that wait."""


class _NoSpan:
    __slots__ = ()
    trace_id = ""

    def end(self, code: str, metadata: Metadata | None = None, error: BaseException | None = None) -> None:
        return None


class NoTraces:
    """Tracing switched off."""

    _span = _NoSpan()

    def begin(self, method: str, headers: Mapping[str, str]) -> Span:
        return self._span

    def close(self) -> None:
        return None


def open_traces(kind: str, *, endpoint: str = "", sample: float = 1.0, version: str = "") -> Traces:
    """Returns traces of a kind: `off`, `console` (standard output) or `otlp`.

    An empty `endpoint` leaves the choice to OpenTelemetry's variables. `sample` is the share of calls, 0 to 1, that get a span
    where the caller's trace doesn't decide. Raises `MissingExtra` if the exporter isn't installed.
    """
    if kind == "off":
        return NoTraces()
    from germane.observe.spans import Spans, exporter

    return Spans(exporter(kind, endpoint), sample=sample, version=version)
