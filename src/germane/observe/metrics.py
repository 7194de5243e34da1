"""Metrics: numbers for Prometheus, made from what each answer says of itself. No label is an org, an agent or a text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector

from germane.observe.labels import Labels
from germane.observe.process_stats import open_files, resident_bytes
from germane.observe.traffic import Traffic
from germane.types.context import Metadata

__all__ = ["CONTENT_TYPE", "Breaker", "Family", "Metrics", "State"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ANSWERS = (0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.045, 0.048, 0.05, 0.075, 0.1, 0.25, 1.0)
_PARTS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.1)
_LAGS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1.0, 5.0)
_TOKENS = (0, 50, 100, 250, 500, 1000, 2000, 4000, 8000, 16000, 32000)
"""Where the buckets end: seconds, closest about the 48 ms that an answer has; tokens."""

_OfSeveral = Literal["livemin", "livemax", "livesum"]
_CONDITIONS = {"closed": 0, "half-open": 1, "open": 2}


class Breaker(Protocol):
    """One source's breaker: `closed`, `half-open` or `open`."""

    @property
    def source(self) -> str: ...
    @property
    def condition(self) -> str: ...


class State(Protocol):
    """What germane says of itself (`germane.state`); hits, misses and the total of the abandoned since its opening."""

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
    def cache_hits(self) -> int: ...
    @property
    def cache_misses(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One metric, and what it says."""

    name: str
    kind: str
    labels: tuple[str, ...]
    says: str


class Metrics:
    """Of one process. With `shared`, the folder that this process has joined (`shared.py`), `text` is of all that did."""

    def __init__(self, *, version: str = "", shared: Path | None = None) -> None:
        if (shared is not None) != bool(getattr(values.ValueClass, "_multiprocess", False)):
            raise RuntimeError(
                "metrics are shared by processes that join a folder before prometheus_client is imported, and only so"
            )
        self._registry, self._shared = CollectorRegistry(), shared
        self._known: dict[str, int] = {}
        self.families: list[Family] = []
        times, counts, now = self._times, self._counts, self._now
        self._requests = times("request_seconds", "Answering, by method and level of degradation.", _ANSWERS, "method", "level")
        self._ended = counts("requests", "Calls, by method and gRPC code.", "method", "code")
        self._stages = times("stage_seconds", "Stages of an assembly.", _PARTS, "stage")
        self._sources = times("source_seconds", "Sources that answered or failed in time.", _PARTS, "source", "status")
        self._missing = counts("source_missing", "Sources that gave nothing, by why: timeout or skipped.", "source", "status")
        self._levels = counts("answers", "Assemblies, by level of degradation: 0 full to 3 the request alone.", "level")
        self._fallbacks = counts("fallbacks", "Assemblies that fell back, by reason.", "reason")
        self._shed = counts("shed", "Assemblies refused because too many came before.").of
        self._tokens = times("injected_tokens", "Tokens added to a request.", _TOKENS).of
        self._cached = counts("result_cache", "Assemblies looked up in the cache of results.", "outcome")
        self._breakers = now(
            "breaker_state", "Breakers: 0 closed, 1 half-open, 2 open; of several processes the worst.", "livemax", "source"
        )
        self._abandoned = now("abandoned", "Tasks that still run though nobody waits for them.", "livesum").of
        self._given_up = counts("abandoned_tasks", "Tasks that were abandoned because they were late.").of
        self._queue = now("assemblies", "Assemblies at work, and waiting for their turn.", "livesum", "doing")
        self._read_only = now("read_only", "1 when the file can't be written; of several processes the worst.", "livemax").of
        self._running = now("in_flight", "Calls being answered.", "livesum").of
        self._lag = times("loop_lag_seconds", "How late the event loop was, ten times a second.", _LAGS).of
        self._lag_p99 = now(
            "loop_lag_p99_seconds", "Its 99th percentile of the last minute; of several processes the worst.", "livemax"
        ).of
        self._ready = now("ready", "1 when ready; of several processes the worst.", "livemin").of
        self._resident = now("resident_bytes", "Memory; of several processes the sum.", "livesum").of
        self._slots = now(
            "slots", "Slots and connections taken, by kind: calls, keys being verified, health, http.", "livesum", "kind"
        )
        self._refused = counts("refused", "Calls and connections turned away before they were begun, by reason.", "reason")
        self._files = now("open_files", "Open files and sockets; of several processes the sum.", "livesum").of
        now("info", "The version that runs.", "livemax", "version").of(version).set(1)

    def begin(self) -> None:
        self._running().inc()

    def end(self, method: str, code: str, seconds: float, metadata: Metadata | None = None) -> None:
        """A call is over. `method` is one of the surface's own; `metadata` an assembly's."""
        self._running().dec()
        self._ended.of(method, code).inc()
        level = "none" if metadata is None else str(metadata.degradation_level)
        self._requests.of(method, level).observe(seconds)
        if metadata is not None:
            self.observe(metadata)

    def observe(self, metadata: Metadata) -> None:
        """What an assembly says of itself."""
        self._levels.of(str(metadata.degradation_level)).inc()
        self._tokens().observe(metadata.total_tokens_injected)
        for stage, took in metadata.timings:
            self._stages.of(stage).observe(took)
        for report in metadata.sources:
            if report.status in ("ok", "error"):
                self._sources.of(report.name, report.status).observe(report.latency)
            else:
                self._missing.of(report.name, report.status).inc()
        if metadata.fallback_reason:
            self._fallbacks.of(metadata.fallback_reason.partition(":")[0]).inc()
            if metadata.fallback_reason == "shed":
                self._shed().inc()

    def lagged(self, seconds: float) -> None:
        """One look at the event loop."""
        self._lag().observe(seconds)

    def carried(self, traffic: Traffic) -> None:
        """What a port carries and has turned away, once a second or so."""
        for kind, count in traffic.used.items():
            self._slots.of(kind).set(count)
        for reason, total in traffic.refused.items():
            self._refused.of(reason).inc(self._more(f"refused {reason}", total))

    def refresh(self, *, state: State | None, lag_p99: float, ready: bool) -> None:
        """What isn't told by answers, once a second or so."""
        self._lag_p99().set(lag_p99)
        self._ready().set(ready)
        self._resident().set(resident_bytes())
        self._files().set(open_files())
        if state is None:
            return
        for breaker in state.breakers:
            self._breakers.of(breaker.source).set(_CONDITIONS.get(breaker.condition, 2))
        self._abandoned().set(state.abandoned)
        self._queue.of("working").set(state.working)
        self._queue.of("waiting").set(state.waiting)
        self._read_only().set(state.read_only)
        self._given_up().inc(self._more("abandoned", state.abandoned_total))
        self._cached.of("hit").inc(self._more("hit", state.cache_hits))
        self._cached.of("miss").inc(self._more("miss", state.cache_misses))

    def _more(self, name: str, count: int) -> int:
        """How much a count that germane keeps has grown since the last look."""
        before, self._known[name] = self._known.get(name, 0), count
        return max(0, count - before)

    def text(self) -> bytes:
        """As Prometheus reads it. Takes some milliseconds: not for the event loop."""
        registry = self._registry
        if self._shared is not None:
            registry = CollectorRegistry()
            MultiProcessCollector(registry, path=str(self._shared))  # type: ignore[no-untyped-call]
        return generate_latest(registry)

    def _times(self, name: str, says: str, buckets: Sequence[float], *labels: str) -> Labels[Histogram]:
        given = self._family(name, "histogram", says, labels)
        return Labels(Histogram(given, says, labels, registry=self._registry, buckets=buckets))

    def _counts(self, name: str, says: str, *labels: str) -> Labels[Counter]:
        return Labels(Counter(self._family(f"{name}_total", "counter", says, labels), says, labels, registry=self._registry))

    def _now(self, name: str, says: str, of_several: _OfSeveral, *labels: str) -> Labels[Gauge]:
        given = self._family(name, "gauge", says, labels)
        return Labels(Gauge(given, says, labels, registry=self._registry, multiprocess_mode=of_several))

    def _family(self, name: str, kind: str, says: str, labels: tuple[str, ...]) -> str:
        self.families.append(Family(name=f"germane_{name}", kind=kind, labels=labels, says=says))
        return self.families[-1].name
