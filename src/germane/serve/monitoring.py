"""Monitoring: starts and stops log, metrics, traces, readiness and the loop watchdog of one process."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from germane.observe.lag import Heartbeat, Lag
from germane.observe.logs import Logs
from germane.observe.metrics import EngineState, Metrics
from germane.observe.observer import Observer
from germane.observe.port_monitor import PortMonitor
from germane.observe.readiness import Readiness
from germane.observe.redaction import Pseudonym
from germane.observe.stdlib_logging import log_uncaught, route_stdlib_logging
from germane.observe.traces import open_traces
from germane.observe.watchdog import LoopWatchdog
from germane.settings.serving import ServiceSettings

__all__ = ["Monitor", "monitoring"]

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
