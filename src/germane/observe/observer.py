"""Observer: what surfaces speak to. One call is told once, and goes to logs, metrics and traces.

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

from germane.observe.logs import Logs
from germane.observe.metrics import Metrics
from germane.observe.traces import NoTraces, Span, Traces
from germane.types.context import Metadata

__all__ = ["Call", "Observer"]


class Call:
    """One call while it is answered. Whoever answers it fills in what is known; `code` is gRPC's, and `error` what was mapped
    to it, for its type and place alone."""

    __slots__ = ("agent", "code", "error", "metadata", "org", "request_id", "span")

    def __init__(self, span: Span) -> None:
        self.org = self.agent = self.request_id = ""
        self.code = "OK"
        self.metadata: Metadata | None = None
        self.error: BaseException | None = None
        self.span = span


class Observer:
    """Of one process. Observing never fails what is observed: a fault of its own is lost."""

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
    def call(self, method: str, headers: Mapping[str, str] | None = None, *, waited: float = 0.0) -> Iterator[Call]:
        """`method` is one of the surface's own, in its short form; `headers` in lower case; `waited` are seconds that count as
        well. What the block raises goes on, and counts as `UNKNOWN` or `CANCELLED` unless `code` says otherwise."""
        began = self._clock() - waited
        call = Call(self._begun(method, headers or {}))
        with suppress(Exception):
            if self.metrics is not None:
                self.metrics.begin()
        try:
            yield call
        except BaseException as error:
            if call.code == "OK":
                call.code = "CANCELLED" if isinstance(error, asyncio.CancelledError) else "UNKNOWN"
            call.error = call.error or error
            raise
        finally:
            self._ended(method, call, self._clock() - began)

    def close(self) -> None:
        """Sends and writes what waits; may take seconds, so not on the event loop."""
        self.traces.close()
        self.logs.close()

    def _ended(self, method: str, call: Call, seconds: float) -> None:
        metadata = call.metadata
        with suppress(Exception):
            if self.metrics is not None:
                self.metrics.end(method, call.code, seconds, metadata)
        with suppress(Exception):
            call.span.end(call.code, metadata, call.error)
        with suppress(Exception):
            self._tell(method, call, seconds)

    def _begun(self, method: str, headers: Mapping[str, str]) -> Span:
        try:
            return self.traces.begin(method, headers)
        except Exception:
            return NoTraces().begin(method, headers)

    def _tell(self, method: str, call: Call, seconds: float) -> None:
        metadata = call.metadata
        fields: dict[str, object] = {
            "method": method,
            "code": call.code,
            "milliseconds": 1000 * seconds,
            "request_id": call.request_id,
            "org": call.org,
            "agent": call.agent,
            "trace_id": call.span.trace_id,
            "error": call.error,
        }
        if metadata is not None:
            fields |= {
                "degradation_level": metadata.degradation_level,
                "fallback_reason": metadata.fallback_reason,
                "tokens": metadata.total_tokens_injected,
                "memories": metadata.memories_injected,
                "sources": {one.name: one.status for one in metadata.sources if one.status != "ok"},
            }
        say = self.logs.info if call.code == "OK" else self.logs.warning
        say("request", **fields)
