"""Observer: reports each call of a surface once to logs, metrics and traces.

with observer.call("AssembleContext", headers) as call:
    call.org, call.agent, call.request_id = …
    context = await agent.assemble(…)
    call.metadata = context.metadata
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Protocol

from germane.service.logs import Logs
from germane.service.metrics import Metrics
from germane.types.context import Metadata


class ObservedCall:
    """A call while it is answered; the surface fills in its fields. `operation` is the name of the operation that a call of
    `Read` or `Write` is about: it is reported in the place of the method. `code` is gRPC's status. `error` is the exception
    behind that status, of which only type and place are reported."""

    __slots__ = ("agent", "code", "error", "metadata", "operation", "org", "request_id", "span")

    def __init__(self, span: Span) -> None:
        self.org = self.agent = self.request_id = self.operation = ""
        self.code = "OK"
        self.metadata: Metadata | None = None
        self.error: BaseException | None = None
        self.span = span


class Observer:
    """Reports the calls of one process. An error inside logs, metrics or traces is ignored: it must not fail the call.

    `clock` returns seconds.
    """

    def __init__(
        self,
        logs: Logs,
        *,
        metrics: Metrics | None = None,
        traces: Traces | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.logs, self.metrics, self.traces = logs, metrics, traces or NoTraces()
        self._clock = clock

    @contextmanager
    def call(self, method: str, headers: Mapping[str, str] | None = None, *, waited: float = 0.0) -> Iterator[ObservedCall]:
        """Observes the block as one call.

        `method` is the short name of an RPC, `headers` have lower-case names, `waited` are seconds before the block that count
        too. An exception of the block is raised on, with the code `UNKNOWN` or `CANCELLED` unless the block set another.
        """
        started = self._clock() - waited
        call = ObservedCall(self._span(method, headers or {}))
        with suppress(Exception):
            if self.metrics is not None:
                self.metrics.call_started()
        try:
            yield call
        except BaseException as error:
            if call.code == "OK":
                call.code = "CANCELLED" if isinstance(error, asyncio.CancelledError) else "UNKNOWN"
            call.error = call.error or error
            raise
        finally:
            self._soon(partial(self._report, method, call, call.error, self._clock() - started))

    def close(self) -> None:
        """Sends the last spans and writes the last lines. May block for seconds, so call it in a thread."""
        self.traces.close()
        self.logs.close()

    def _soon(self, report: Callable[[], None]) -> None:
        """Reports in the next turn of the running event loop, so that the answer goes out first; at once where none runs."""
        try:
            asyncio.get_running_loop().call_soon(report)
        except RuntimeError:
            report()

    def _report(self, method: str, call: ObservedCall, error: BaseException | None, seconds: float) -> None:
        metadata, method = call.metadata, call.operation or method
        with suppress(Exception):
            if self.metrics is not None:
                self.metrics.call_ended(method, call.code, seconds, metadata)
        with suppress(Exception):
            call.span.end(call.code, metadata, error)
        with suppress(Exception):
            self._log(method, call, error, seconds)

    def _span(self, method: str, headers: Mapping[str, str]) -> Span:
        try:
            return self.traces.begin(method, headers)
        except Exception:
            return NoTraces().begin(method, headers)

    def _log(self, method: str, call: ObservedCall, error: BaseException | None, seconds: float) -> None:
        metadata = call.metadata
        fields: dict[str, object] = {
            "method": method,
            "code": call.code,
            "milliseconds": 1000 * seconds,
            "request_id": call.request_id,
            "org": call.org,
            "agent": call.agent,
            "trace_id": call.span.trace_id,
            "error": error,
        }
        if metadata is not None:
            fields |= {
                "degradation_level": metadata.degradation_level,
                "fallback_reason": metadata.fallback_reason,
                "tokens": metadata.total_tokens_injected,
                "memories": metadata.memories_injected,
                "sources": {report.name: report.status for report in metadata.sources if report.status != "ok"},
            }
        log = self.logs.info if call.code == "OK" else self.logs.warning
        log("request", **fields)


# Traces: one OpenTelemetry span per gRPC call, or none when tracing is off. Stages and sources are attributes of that
# span and not spans of their own, since a span costs tens of microseconds. No attribute holds content, an id or the
# message of an exception. When tracing is off, OpenTelemetry isn't imported.


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
    from germane.service.spans import Spans, exporter

    return Spans(exporter(kind, endpoint), sample=sample, version=version)
