"""Traces: a span a call, in the caller's trace, without content; and nothing at all when they are off."""

from __future__ import annotations

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from germane.errors import MissingExtra
from germane.service.observer import Observer, open_traces
from germane.service.spans import Spans
from germane.types.context import Metadata
from germane.types.trace import SourceReport
from support.log_lines import kept

pytestmark = pytest.mark.requirement("OPS-1")

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CANARY = " ".join(["open", "sesame"])


def traced(headers: dict[str, str] | None = None, *, sample: float = 1.0, error: Exception | None = None) -> list[ReadableSpan]:
    """The spans of one call that was answered, or failed with `error`."""
    exporter = InMemorySpanExporter()
    observer = Observer(kept(level="error").logs, traces=Spans(exporter, sample=sample, version="0.1.0"))
    reports = (SourceReport(name="messages", status="ok", latency=0.011), SourceReport(name="crm", status="timeout"))
    try:
        with observer.call("AssembleContext", headers) as call:
            call.org = call.agent = call.request_id = CANARY
            call.metadata = Metadata(degradation_level=1, timings=(("gather", 0.012),), sources=reports)
            if error is not None:
                raise error
    except ValueError:
        pass
    observer.close()
    return list(exporter.get_finished_spans())


def test_a_call_is_one_span_that_says_how_it_went() -> None:
    """Stages and sources are attributes of it."""
    (span,) = traced()
    assert (span.name, span.kind, span.parent) == ("AssembleContext", SpanKind.SERVER, None)
    assert dict(span.attributes or {}) == {
        "rpc.system.name": "grpc",
        "rpc.method": "AssembleContext",
        "rpc.response.status_code": "OK",
        "germane.degradation_level": 1,
        "germane.fallback_reason": "",
        "germane.tokens": 0,
        "germane.memories": 0,
        "germane.stage.gather_ms": 12.0,
        "germane.source.messages": "ok",
        "germane.source.messages_ms": 11.0,
        "germane.source.crm": "timeout",
        "germane.source.crm_ms": 0.0,
    }


def test_it_belongs_to_the_callers_trace() -> None:
    """By W3C's header; the caller's choice whether to record holds."""
    (span,) = traced({"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": f"x={CANARY}"}, sample=0)
    assert span.parent
    assert f"{span.context.trace_id:032x} {span.parent.span_id:016x}" == f"{TRACE} {PARENT}"
    assert traced({"traceparent": f"00-{TRACE}-{PARENT}-00"}) == []
    assert CANARY not in span.to_json()


@pytest.mark.parametrize(
    "header", ["", "00-x-y-01", "ff-" + TRACE + "-" + PARENT + "-01", "00-" + "0" * 32 + "-" + PARENT + "-01", CANARY]
)
def test_a_header_that_is_none_begins_a_trace_of_its_own(header: str) -> None:
    """It is the caller's fault and costs nobody an answer."""
    (span,) = traced({"traceparent": header})
    assert span.parent is None


def test_a_fault_is_told_by_its_type() -> None:
    """Neither what it says, nor ids, nor the way there."""
    (span,) = traced(error=ValueError(CANARY))
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "ValueError"
    assert not span.events
    assert "sesame" not in span.to_json()


def test_only_the_share_that_was_asked_for_is_recorded() -> None:
    """None of them, here."""
    assert traced(sample=0) == []


def test_off_nothing_of_it_is_imported() -> None:
    """What isn't used costs nothing."""
    asked = (
        "import sys; from germane.service.observer import open_traces; t = open_traces('off');"
        "t.begin('AssembleContext', {}).end('OK'); t.close(); print('opentelemetry' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


def test_a_log_line_says_which_trace_it_belongs_to() -> None:
    """So that one leads to the other."""
    log = kept()
    observer = Observer(log.logs, traces=Spans(InMemorySpanExporter()))
    with observer.call("AssembleContext", {"traceparent": f"00-{TRACE}-{PARENT}-01"}):
        pass
    observer.traces.close()
    assert log.lines()[0]["trace_id"] == TRACE


def test_to_the_console_a_span_is_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    """Standard output."""
    script = (
        "from germane.service.observer import open_traces; traces = open_traces('console');"
        "traces.begin('Remember', {}).end('OK'); traces.close()"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    (line,) = shown.stdout.splitlines()
    assert '"rpc.method": "Remember"' in line


def test_otlp_without_its_extra_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the one thing about spans that needs more packages."""
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(MissingExtra, match=r"germane\[otlp\]"):
        open_traces("otlp")


def test_otlp_sends_what_there_is_to_the_endpoint() -> None:
    """To a collector of our own."""
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            return

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        thread = threading.Thread(target=collector.handle_request)
        thread.start()
        traces = open_traces("otlp", endpoint=f"http://127.0.0.1:{collector.server_port}/v1/traces", version="0.1.0")
        traces.begin("AssembleContext", {}).end("OK")
        traces.close()
        thread.join(30)
    ((path, body),) = got
    assert path == "/v1/traces"
    assert b"AssembleContext" in body
