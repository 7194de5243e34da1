"""Watching: what looks after one process of the service: its log, its numbers, its loop, whether calls should come to it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from germane.observe.blocked import Blocked
from germane.observe.lag import Lag, Pulse
from germane.observe.logs import Logs
from germane.observe.metrics import Metrics, State
from germane.observe.observer import Observer
from germane.observe.ports import Ports
from germane.observe.readiness import Readiness
from germane.observe.redaction import Pseudonym
from germane.observe.stdlib_logging import routed, watch
from germane.observe.traces import open_traces
from germane.settings.serving import ServiceSettings

__all__ = ["Watching", "watching"]

_EVERY = 1.0
"""Seconds between two looks at what no answer tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    observer: Observer
    readiness: Readiness
    metrics: Metrics | None
    ports: Ports

    @property
    def logs(self) -> Logs:
        return self.observer.logs


@asynccontextmanager
async def watching(
    serving: ServiceSettings,
    *,
    probe: Callable[[], Awaitable[object]],
    state: Callable[[], State],
    pseudonym: Pseudonym,
    version: str,
    shared: Path | None,
    turned: Callable[[bool], Awaitable[object]],
) -> AsyncIterator[Watching]:
    """While it lasts; `turned` is told whenever readiness changes, and `state` and the ports are asked once a second."""
    loop = asyncio.get_running_loop()
    logs = Logs(
        sys.stderr.buffer,
        pseudonym=pseudonym,
        level=serving.log_level,
        format=serving.log_format,
        fixed={"process": os.getpid()},
    )
    metrics = Metrics(version=version, shared=shared) if serving.metrics else None
    traces = open_traces(serving.otel, endpoint=serving.otel_endpoint, sample=serving.otel_sample, version=version)
    lag = Lag(serving.max_lag_ms / 1000)
    ports = Ports(logs, metrics)
    readiness = Readiness(probe, fine=lambda: lag.fine, saturated=lambda: ports.saturated)
    observer = Observer(logs, metrics=metrics, traces=traces)

    def late(seconds: float) -> None:
        lag.note(seconds)
        if metrics is not None:
            metrics.lagged(seconds)

    async def carried() -> None:
        while True:
            try:
                ports.look()
            except Exception as error:
                logs.error("uncaught", error=error)
            await asyncio.sleep(_EVERY)

    async def look() -> None:
        """Goes on whatever happens: who watches must not be the first to fall asleep."""
        before = False
        while True:
            ready = readiness.ready
            try:
                if ready != before:
                    before = ready
                    if ready:
                        logs.info("ready")
                    else:
                        logs.warning("not_ready", not_ready=list(readiness.reasons))
                    await turned(ready)
                if metrics is not None:
                    metrics.refresh(state=state(), lag_p99=lag.p99, ready=ready)
            except Exception as error:
                logs.error("uncaught", error=error)
            await asyncio.sleep(_EVERY if ready else _EVERY / 10)

    pulse = Pulse(late)
    blocked = Blocked(logs, beat=lambda: pulse.beat, now=time.monotonic)
    with routed(logs):
        watch(loop, logs)
        pulse.start()
        blocked.start()
        tasks = [asyncio.create_task(readiness.run()), asyncio.create_task(look()), asyncio.create_task(carried())]
        try:
            yield Watching(observer=observer, readiness=readiness, metrics=metrics, ports=ports)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            ports.look()
            pulse.stop()
            await asyncio.to_thread(blocked.stop)
            await asyncio.to_thread(observer.close)
