"""Spans: `observer.Traces` implemented with OpenTelemetry, by a provider of its own beside the global one."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span as Recorded
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from germane.errors import MissingExtra
from germane.types.context import Metadata

_FAULTS = ("UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")
"""Codes that mean a fault of the service rather than of the caller; their spans get the status ERROR."""


class _Span:
    __slots__ = ("_recorded", "trace_id")

    def __init__(self, recorded: Recorded) -> None:
        self._recorded = recorded
        context = recorded.get_span_context()
        self.trace_id = f"{context.trace_id:032x}" if context.is_valid else ""

    def end(self, code: str, metadata: Metadata | None = None, error: BaseException | None = None) -> None:
        span = self._recorded
        if span.is_recording():
            span.set_attribute("rpc.response.status_code", code)
            if metadata is not None:
                span.set_attributes(_attributes(metadata))
            if error is not None:
                span.set_attribute("error.type", type(error).__name__)
            if code in _FAULTS:
                span.set_status(Status(StatusCode.ERROR))
        span.end()


class Spans:
    """Sends spans in batches from a thread. `close` sends the last batch and takes as long as the exporter does."""

    def __init__(self, exporter: SpanExporter, *, sample: float = 1.0, version: str = "") -> None:
        resource = Resource.create({"service.name": "germane", "service.version": version})
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(sample)), resource=resource, shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("germane", version)
        self._propagator = TraceContextTextMapPropagator()

    def begin(self, method: str, headers: Mapping[str, str]) -> _Span:
        """Reads only `traceparent` of the headers: it consists of numbers, while `tracestate` could hold any text."""
        parent = headers.get("traceparent")
        context = None if parent is None else self._propagator.extract({"traceparent": parent})
        attributes = {"rpc.system.name": "grpc", "rpc.method": method}
        return _Span(self._tracer.start_span(method, context=context, kind=SpanKind.SERVER, attributes=attributes))

    def close(self) -> None:
        self._provider.shutdown()


def exporter(kind: str, endpoint: str = "") -> SpanExporter:
    """The exporter `console` or `otlp`. Raises `MissingExtra` if the exporter for OTLP isn't installed."""
    if kind == "console":
        return ConsoleSpanExporter(formatter=lambda span: span.to_json(indent=None) + "\n")
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise MissingExtra("otlp", "opentelemetry-exporter-otlp-proto-http") from error
    return OTLPSpanExporter(endpoint=endpoint or None)


def _attributes(metadata: Metadata) -> dict[str, str | int | float]:
    attributes: dict[str, str | int | float] = {
        "germane.degradation_level": metadata.degradation_level,
        "germane.fallback_reason": metadata.fallback_reason,
        "germane.tokens": metadata.total_tokens_injected,
        "germane.memories": metadata.memories_injected,
    }
    attributes |= {f"germane.stage.{stage}_ms": round(1000 * took, 3) for stage, took in metadata.timings}
    for report in metadata.sources:
        attributes[f"germane.source.{report.name}"] = report.status
        attributes[f"germane.source.{report.name}_ms"] = round(1000 * report.latency, 3)
    return attributes
