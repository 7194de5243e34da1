"""Monitoring: starts and stops log, metrics, traces, readiness and the loop watchdog of one process."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from germane.service.logs import Logs, log_uncaught, route_stdlib_logging
from germane.service.metrics import EngineState, Metrics
from germane.service.observer import Observer, open_traces
from germane.service.readiness import Heartbeat, Lag, LoopWatchdog, Readiness
from germane.service.redaction import Pseudonym
from germane.settings.serving import ServiceSettings
from germane.types.traffic import ProxyTraffic, Traffic

_CHECK_SECONDS = 1.0
"""Between two checks of readiness, ports and the engine's state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitor:
    """What `monitoring` started. `metrics` is None where they are switched off. `degraded` returns what is missing although the
    process is ready."""

    observer: Observer
    readiness: Readiness
    metrics: Metrics | None
    ports: PortMonitor
    degraded: Callable[[], Sequence[str]]

    @property
    def logs(self) -> Logs:
        return self.observer.logs


@asynccontextmanager
async def monitoring(
    service: ServiceSettings,
    *,
    probe: Callable[[], Awaitable[object]],
    state: Callable[[], EngineState],
    pseudonym: Pseudonym,
    version: str,
    metrics_folder: Path | None,
    on_change: Callable[[bool], Awaitable[object]],
) -> AsyncIterator[Monitor]:
    """Monitors the process inside the block.

    `probe` asks the store for a sign of life and `state` returns the engine's counts; both run about once a second.
    `on_change` is awaited with the new readiness whenever it changes. `metrics_folder` is shared by the workers of one service.
    """
    loop = asyncio.get_running_loop()
    logs = Logs(
        sys.stderr.buffer,
        pseudonym=pseudonym,
        level=service.log_level,
        format=service.log_format,
        fixed={"process": os.getpid()},
    )
    metrics = Metrics(version=version, metrics_folder=metrics_folder) if service.metrics else None
    traces = open_traces(service.otel, endpoint=service.otel_endpoint, sample=service.otel_sample, version=version)
    lag = Lag(service.max_lag_ms / 1000)
    ports = PortMonitor(logs, metrics)
    readiness = Readiness(probe, loop_ok=lambda: lag.ok, saturated=lambda: ports.saturated)
    observer = Observer(logs, metrics=metrics, traces=traces)

    def record_lag(seconds: float) -> None:
        lag.record(seconds)
        if metrics is not None:
            metrics.observe_lag(seconds)

    def degraded() -> Sequence[str]:
        now = state()
        faults = (("embedder_not_answering", now.embedder_fault), ("llm_not_reading", now.llm_fault))
        return tuple(name for name, fault in faults if fault)

    async def check_ports() -> None:
        while True:
            try:
                ports.check()
            except Exception as error:
                logs.error("uncaught", error=error)
            await asyncio.sleep(_CHECK_SECONDS)

    async def check_readiness() -> None:
        """Logs every error and goes on: a fault of the engine must not end its monitoring."""
        before, failing = False, {"embedder": False, "llm": False}
        while True:
            ready = readiness.ready
            try:
                now = state()
                if bool(now.embedder_fault) != failing["embedder"]:
                    failing["embedder"] = bool(now.embedder_fault)
                    if failing["embedder"]:
                        logs.warning("embedder_failing")
                    else:
                        logs.info("embedder_answers")
                if bool(now.llm_fault) != failing["llm"]:
                    failing["llm"] = bool(now.llm_fault)
                    if failing["llm"]:
                        logs.warning("llm_failing")
                    else:
                        logs.info("llm_answers")
                if ready != before:
                    before = ready
                    if ready:
                        logs.info("ready")
                    else:
                        logs.warning("not_ready", not_ready=list(readiness.reasons))
                    await on_change(ready)
                if metrics is not None:
                    metrics.refresh(state=state(), lag_p99=lag.p99, ready=ready)
            except Exception as error:
                logs.error("uncaught", error=error)
            await asyncio.sleep(_CHECK_SECONDS if ready else _CHECK_SECONDS / 10)

    heartbeat = Heartbeat(record_lag)
    watchdog = LoopWatchdog(logs, last_beat=lambda: heartbeat.last_beat, now=time.monotonic)
    with route_stdlib_logging(logs):
        log_uncaught(loop, logs)
        heartbeat.start()
        watchdog.start()
        tasks = [asyncio.create_task(run) for run in (readiness.run(), check_readiness(), check_ports())]
        try:
            yield Monitor(observer=observer, readiness=readiness, metrics=metrics, ports=ports, degraded=degraded)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            ports.check()
            heartbeat.stop()
            await asyncio.to_thread(watchdog.stop)
            await asyncio.to_thread(observer.close)


# Reports the traffic of the gRPC and HTTP ports and of the proxy to log, metrics and readiness, once a second. The log gets
# one line per reason and second with the number of refusals, so that a flood of refused calls can't fill it; and one with the
# number of turns that the proxy didn't record.


class PortMonitor:
    """Reports the ports that were added. Each reason and kind must belong to one port only."""

    def __init__(self, logs: Logs, metrics: Metrics | None = None) -> None:
        self._logs, self._metrics = logs, metrics
        self._ports: list[tuple[Callable[[], Traffic], Saturation]] = []
        self._proxies: list[Callable[[], ProxyTraffic]] = []
        self._logged: Counter[tuple[str, str]] = Counter()

    def add(self, traffic: Callable[[], Traffic]) -> None:
        """Adds a port, by the function that returns its traffic."""
        self._ports.append((traffic, Saturation()))

    def add_proxy(self, traffic: Callable[[], ProxyTraffic]) -> None:
        """Adds the proxy, by the function that returns its traffic."""
        self._proxies.append(traffic)

    @property
    def saturated(self) -> bool:
        """Whether a port refuses calls with valid keys for lack of slots."""
        return any(saturation.active for _, saturation in self._ports)

    def check(self) -> None:
        """Reads the traffic of each port once and reports what is new."""
        for port, saturation in self._ports:
            traffic, before = port(), saturation.active
            saturation.update(traffic)
            if saturation.active and not before:
                self._logs.warning("saturated")
            elif before and not saturation.active:
                self._logs.info("unsaturated")
            self._log("refused", traffic.refused)
            if self._metrics is not None:
                self._metrics.observe_traffic(traffic)
        for proxy in self._proxies:
            relayed = proxy()
            self._log("unrecorded", relayed.unrecorded)
            if self._metrics is not None:
                self._metrics.observe_proxy(relayed)

    def _log(self, event: str, totals: Mapping[str, int]) -> None:
        """Logs how much each total has grown since the last time, by reason."""
        for reason, total in totals.items():
            if (count := total - self._logged[event, reason]) > 0:
                self._logged[event, reason] = total
                self._logs.warning(event, reason=reason, count=count)


# Whether a port refuses calls with valid keys because all its slots are taken. Two kinds of refusals don't count. Calls
# without a valid key don't, or anyone could take the service out of rotation. Calls above an org's own share don't
# either, since other orgs are still served.


class Saturation:
    """`active` from the update in which the port is full, or refused more calls than it admitted since the last update;
    inactive again after `recovery` updates without either."""

    def __init__(self, recovery: int = 3) -> None:
        self._recovery = recovery
        self._calm_updates = recovery
        self._admitted = self._refused = 0

    @property
    def active(self) -> bool:
        return self._calm_updates < self._recovery

    def update(self, traffic: Traffic) -> None:
        """Takes the port's current traffic, whose totals are compared with those of the last update."""
        total_refused = traffic.refused.get("slots", 0)
        refused, admitted = total_refused - self._refused, traffic.admitted - self._admitted
        self._refused, self._admitted = total_refused, traffic.admitted
        self._calm_updates = 0 if traffic.full or refused > admitted else min(self._recovery, self._calm_updates + 1)
