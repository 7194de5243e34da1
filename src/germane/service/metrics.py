"""Metrics: the Prometheus metrics of the service. No label is an org, an agent or free text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Literal, Protocol, Self, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector

from germane.types.context import Metadata
from germane.types.traffic import ProxyTraffic, Traffic

_ANSWER_BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.045, 0.048, 0.05, 0.075, 0.1, 0.25, 1.0)
_STAGE_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.1)
_LAG_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)
_TOKEN_BUCKETS = (0, 50, 100, 250, 500, 1000, 2000, 4000, 8000, 16000, 32000)
"""Upper bounds of the histograms' buckets, in seconds and tokens; finest around 48 ms, the default deadline."""

_MultiprocessMode = Literal["livemin", "livemax", "livesum"]
_CONDITIONS = {"closed": 0, "half-open": 1, "open": 2}


class Breaker(Protocol):
    """The circuit breaker of one source; `condition` is `closed`, `half-open` or `open`."""

    @property
    def source(self) -> str: ...
    @property
    def condition(self) -> str: ...


class EngineState(Protocol):
    """The part of `germane.state` that becomes metrics. `abandoned_total`, `cache_hits`, `cache_misses` and `llm_…` count
    since it was opened; the other numbers are current."""

    @property
    def breakers(self) -> Sequence[Breaker]: ...
    @property
    def abandoned(self) -> int: ...
    @property
    def abandoned_total(self) -> int: ...
    @property
    def working(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def read_only(self) -> bool: ...
    @property
    def embedder_fault(self) -> str: ...
    @property
    def refused_texts(self) -> int: ...
    @property
    def llm_fault(self) -> str: ...
    @property
    def llm_calls(self) -> int: ...
    @property
    def llm_input_tokens(self) -> int: ...
    @property
    def llm_output_tokens(self) -> int: ...
    @property
    def extraction_waiting(self) -> int: ...
    @property
    def extraction_parked(self) -> int: ...
    @property
    def cache_hits(self) -> int: ...
    @property
    def cache_misses(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricFamily:
    """Description of one metric; `says` is its help text."""

    name: str
    kind: str
    labels: tuple[str, ...]
    says: str


class Metrics:
    """Metrics of one process, in a registry of their own. With `metrics_folder`, which the process must have joined
    (`multiprocess.join_folder`), `text` covers all processes that joined it. Raises `RuntimeError` otherwise."""

    def __init__(self, *, version: str = "", metrics_folder: Path | None = None) -> None:
        if (metrics_folder is not None) != bool(getattr(values.ValueClass, "_multiprocess", False)):
            raise RuntimeError(
                "metrics are shared by processes that join a folder before prometheus_client is imported, and only so"
            )
        self._registry, self._folder = CollectorRegistry(), metrics_folder
        self._totals: dict[str, int] = {}
        self.families: list[MetricFamily] = []
        histogram, counter, gauge = self._histogram, self._counter, self._gauge
        self._requests = histogram(
            "request_seconds", "Seconds per call, by method and level.", _ANSWER_BUCKETS, "method", "level"
        )
        self._ended = counter("requests", "Calls, by method and gRPC status code.", "method", "code")
        self._stages = histogram("stage_seconds", "Seconds per stage of an assembly.", _STAGE_BUCKETS, "stage")
        self._sources = histogram(
            "source_seconds", "Seconds per source that answered or failed.", _STAGE_BUCKETS, "source", "status"
        )
        self._missing = counter("source_missing", "Sources without an answer: timeout or skipped.", "source", "status")
        self._levels = counter("answers", "Assemblies, by degradation level: 0 full to 3 request unchanged.", "level")
        self._fallbacks = counter("fallbacks", "Assemblies that fell back, by reason.", "reason")
        self._shed = counter("shed", "Assemblies refused because too many were running or waiting.").series
        self._tokens = histogram("injected_tokens", "Tokens added to a request.", _TOKEN_BUCKETS).series
        self._cached = counter("result_cache", "Lookups in the result cache, by outcome: hit or miss.", "outcome")
        self._breakers = gauge(
            "breaker_state", "Circuit breakers: 0 closed, 1 half-open, 2 open; the worst of all processes.", "livemax", "source"
        )
        self._abandoned = gauge("abandoned", "Tasks that still run after their time-out.", "livesum").series
        self._given_up = counter("abandoned_tasks", "Tasks abandoned at their time-out.").series
        self._queue = gauge("assemblies", "Assemblies that run (working) or wait in the queue.", "livesum", "doing")
        self._read_only = gauge("read_only", "1 when the database is read-only; the worst of all processes.", "livemax").series
        self._embedder = gauge("embedder_failing", "1 while the embedder gives no vectors; the worst of all.", "livemax").series
        self._refused_texts = gauge(
            "refused_texts", "Texts that the embedder refuses while it embeds others; the worst of all processes.", "livemax"
        ).series
        self._llm_failing = gauge("llm_failing", "1 while the LLM fails or its budget is used up.", "livemax").series
        self._llm_calls = counter("llm_calls", "Calls of the LLM.").series
        self._llm_tokens = counter("llm_tokens", "Tokens of the LLM, by direction: input or output.", "direction")
        self._extraction = gauge(
            "extraction_queue",
            "Runs of messages for the LLM, by state: waiting or parked.",
            "livemax",
            "state",
        )
        self._running = gauge("in_flight", "Calls in progress.", "livesum").series
        self._lag = histogram("loop_lag_seconds", "Event loop lag, measured ten times a second.", _LAG_BUCKETS).series
        self._lag_p99 = gauge(
            "loop_lag_p99_seconds",
            "99th percentile of that lag in the last minute; the worst of all processes.",
            "livemax",
        ).series
        self._ready = gauge("ready", "1 when ready; the worst of all processes.", "livemin").series
        self._resident = gauge("resident_bytes", "Resident memory in bytes; the sum of all processes.", "livesum").series
        self._slots = gauge(
            "slots", "Slots and connections in use, by kind: calls, keys being verified, health, http.", "livesum", "kind"
        )
        self._refused = counter("refused", "Calls and connections refused before they started, by reason.", "reason")
        self._handovers = counter(
            "handovers", "Assemblies handed over to another worker, by outcome: answered, or lost and done here.", "outcome"
        )
        self._proxy_open = gauge(
            "proxy_open", "Answers and WebSockets that the proxy relays now, by upstream.", "livesum", "upstream"
        )
        self._proxy_answers = counter(
            "proxy_answers", "Answers of the proxy, by upstream and by how they ended.", "upstream", "ended"
        )
        self._turns_waiting = gauge("proxy_turns_waiting", "Turns of the proxy that aren't recorded yet.", "livesum").series
        self._turns_recorded = counter("proxy_turns_recorded", "Turns of the proxy that were recorded.").series
        self._turns_unrecorded = counter(
            "proxy_turns_unrecorded", "Turns of the proxy that weren't recorded, by reason.", "reason"
        )
        self._files = gauge("open_files", "Open files and sockets; the sum of all processes.", "livesum").series
        gauge("info", "The running version, as a label.", "livemax", "version").series(version).set(1)

    def call_started(self) -> None:
        self._running().inc()

    def call_ended(self, method: str, code: str, seconds: float, metadata: Metadata | None = None) -> None:
        """Counts a call. `method` is the name of an RPC, never a caller's text; `metadata` is that of an assembly."""
        self._running().dec()
        self._ended.series(method, code).inc()
        level = "none" if metadata is None else str(metadata.degradation_level)
        self._requests.series(method, level).observe(seconds)
        if metadata is not None:
            self.observe_assembly(metadata)

    def observe_assembly(self, metadata: Metadata) -> None:
        """Counts an assembly: its level, tokens, stages and sources."""
        self._levels.series(str(metadata.degradation_level)).inc()
        self._tokens().observe(metadata.total_tokens_injected)
        for stage, took in metadata.timings:
            self._stages.series(stage).observe(took)
        for report in metadata.sources:
            if report.status in ("ok", "error"):
                self._sources.series(report.name, report.status).observe(report.latency)
            else:
                self._missing.series(report.name, report.status).inc()
        if metadata.fallback_reason:
            self._fallbacks.series(metadata.fallback_reason.partition(":")[0]).inc()
            if metadata.fallback_reason == "shed":
                self._shed().inc()

    def observe_lag(self, seconds: float) -> None:
        """Records the event loop's lag at one tick."""
        self._lag().observe(seconds)

    def observe_traffic(self, traffic: Traffic) -> None:
        """Records the traffic of a port; called about once a second."""
        for kind, count in traffic.used.items():
            self._slots.series(kind).set(count)
        for reason, total in traffic.refused.items():
            self._refused.series(reason).inc(self._growth(f"refused {reason}", total))
        for outcome, total in traffic.handed_over.items():
            self._handovers.series(outcome).inc(self._growth(f"handed over {outcome}", total))

    def observe_proxy(self, traffic: ProxyTraffic) -> None:
        """Records the traffic of the proxy; called about once a second. The names of upstreams are those of the settings."""
        for upstream, count in traffic.open.items():
            self._proxy_open.series(upstream).set(count)
        for (upstream, ended), total in traffic.ended.items():
            self._proxy_answers.series(upstream, ended).inc(self._growth(f"relayed {upstream} {ended}", total))
        self._turns_waiting().set(traffic.waiting)
        self._turns_recorded().inc(self._growth("turns recorded", traffic.recorded))
        for reason, total in traffic.unrecorded.items():
            self._turns_unrecorded.series(reason).inc(self._growth(f"unrecorded {reason}", total))

    def refresh(self, *, state: EngineState | None, lag_p99: float, ready: bool) -> None:
        """Sets the numbers that don't come from calls; called about once a second."""
        self._lag_p99().set(lag_p99)
        self._ready().set(ready)
        self._resident().set(resident_bytes())
        self._files().set(open_files())
        if state is None:
            return
        for breaker in state.breakers:
            self._breakers.series(breaker.source).set(_CONDITIONS.get(breaker.condition, 2))
        self._abandoned().set(state.abandoned)
        self._queue.series("working").set(state.working)
        self._queue.series("waiting").set(state.waiting)
        self._read_only().set(state.read_only)
        self._embedder().set(bool(state.embedder_fault))
        self._refused_texts().set(state.refused_texts)
        self._llm_failing().set(bool(state.llm_fault))
        self._llm_calls().inc(self._growth("llm calls", state.llm_calls))
        self._llm_tokens.series("input").inc(self._growth("llm input", state.llm_input_tokens))
        self._llm_tokens.series("output").inc(self._growth("llm output", state.llm_output_tokens))
        self._extraction.series("waiting").set(state.extraction_waiting)
        self._extraction.series("parked").set(state.extraction_parked)
        self._given_up().inc(self._growth("abandoned", state.abandoned_total))
        self._cached.series("hit").inc(self._growth("hit", state.cache_hits))
        self._cached.series("miss").inc(self._growth("miss", state.cache_misses))

    def _growth(self, name: str, total: int) -> int:
        """How much a total has grown since the last call with this name."""
        before, self._totals[name] = self._totals.get(name, 0), total
        return max(0, total - before)

    def text(self) -> bytes:
        """The body of `/metrics` in Prometheus' text format. Takes some milliseconds, so call it in a thread."""
        registry = self._registry
        if self._folder is not None:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, path=str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def _histogram(self, name: str, says: str, buckets: Sequence[float], *labels: str) -> Labels[Histogram]:
        full_name = self._family(name, "histogram", says, labels)
        return Labels(Histogram(full_name, says, labels, registry=self._registry, buckets=buckets))

    def _counter(self, name: str, says: str, *labels: str) -> Labels[Counter]:
        return Labels(Counter(self._family(f"{name}_total", "counter", says, labels), says, labels, registry=self._registry))

    def _gauge(self, name: str, says: str, mode: _MultiprocessMode, *labels: str) -> Labels[Gauge]:
        full_name = self._family(name, "gauge", says, labels)
        return Labels(Gauge(full_name, says, labels, registry=self._registry, multiprocess_mode=mode))

    def _family(self, name: str, kind: str, says: str, labels: tuple[str, ...]) -> str:
        self.families.append(MetricFamily(name=f"germane_{name}", kind=kind, labels=labels, says=says))
        return self.families[-1].name


# The series of one metric, looked up by label values and limited in number.


OTHER = "other"


class _Labelled(Protocol):
    def labels(self, *values: str) -> Self: ...


T = TypeVar("T", bound=_Labelled)


class Labels(Generic[T]):
    """Caches the series of `metric`. Unlimited label values would fill the memory of this process and of Prometheus: once
    `max_series` are known, every further one is counted in the series whose labels are all `other`."""

    def __init__(self, metric: T, max_series: int = 256) -> None:
        self._metric, self._max_series = metric, max_series
        self._known: dict[tuple[str, ...], T] = {}

    def series(self, *values: str) -> T:
        """The series with these label values; without values, the metric itself."""
        found = self._known.get(values)
        if found is None:
            if not values:
                return self._known.setdefault((), self._metric)
            if len(self._known) >= self._max_series:
                return self._metric.labels(*(OTHER for _ in values))
            found = self._known[values] = self._metric.labels(*values)
        return found


# Resident memory and open files of this process, from Linux's /proc; 0 on other systems.


def resident_bytes() -> int:
    """Resident memory (RSS) in bytes."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def open_files() -> int:
    """Open file descriptors, sockets included."""
    descriptors = Path("/proc/self/fd")
    try:
        return descriptors.stat().st_size or len([*descriptors.iterdir()])  # the size is 0 before Linux 6.2
    except OSError:
        return 0
