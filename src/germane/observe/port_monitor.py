"""Port monitor: reports the traffic of the gRPC and HTTP ports to log, metrics and readiness, once a second.

The log gets one line per reason and second with the number of refusals, so that a flood of refused calls can't fill it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from germane.observe.logs import Logs
from germane.observe.metrics import Metrics
from germane.observe.saturation import Saturation
from germane.observe.traffic import Traffic

__all__ = ["PortMonitor"]


class PortMonitor:
    """Reports the ports that were added. Each reason and kind must belong to one port only."""

    def __init__(self, logs: Logs, metrics: Metrics | None = None) -> None:
        self._logs, self._metrics = logs, metrics
        self._ports: list[tuple[Callable[[], Traffic], Saturation]] = []
        self._logged: Counter[str] = Counter()

    def add(self, traffic: Callable[[], Traffic]) -> None:
        """Adds a port, by the function that returns its traffic."""
        self._ports.append((traffic, Saturation()))

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
            for reason, total in traffic.refused.items():
                if (count := total - self._logged[reason]) > 0:
                    self._logged[reason] = total
                    self._logs.warning("refused", reason=reason, count=count)
            if self._metrics is not None:
                self._metrics.observe_traffic(traffic)
