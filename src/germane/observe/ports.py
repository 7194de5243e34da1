"""Ports: what the ports of a process carry and turn away, looked at once a second: for the log, the metrics and readiness.

In the log it is a line for each reason and second, however many were turned away: calls without a key can't fill the log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from germane.observe.logs import Logs
from germane.observe.metrics import Metrics
from germane.observe.saturation import Saturation
from germane.observe.traffic import Traffic

__all__ = ["Ports"]


class Ports:
    """`add` what a port says of itself. Reasons and kinds of one port are no other's."""

    def __init__(self, logs: Logs, metrics: Metrics | None = None) -> None:
        self._logs, self._metrics = logs, metrics
        self._ports: list[tuple[Callable[[], Traffic], Saturation]] = []
        self._told: Counter[str] = Counter()

    def add(self, port: Callable[[], Traffic]) -> None:
        self._ports.append((port, Saturation()))

    @property
    def saturated(self) -> bool:
        """Whether one of them turns callers with good keys away."""
        return any(saturation.on for _, saturation in self._ports)

    def look(self) -> None:
        """Once."""
        for port, saturation in self._ports:
            traffic, before = port(), saturation.on
            saturation.look(traffic)
            if saturation.on and not before:
                self._logs.warning("saturated")
            elif before and not saturation.on:
                self._logs.info("unsaturated")
            for reason, total in traffic.refused.items():
                if (count := total - self._told[reason]) > 0:
                    self._told[reason] = total
                    self._logs.warning("refused", reason=reason, count=count)
            if self._metrics is not None:
                self._metrics.carried(traffic)
