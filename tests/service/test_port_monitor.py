"""Traffic and refusals of the ports, in log, metrics and readiness."""

from __future__ import annotations

from typing import Any

import pytest

from germane.service.metrics import Metrics
from germane.service.monitoring import PortMonitor, Saturation
from germane.service.readiness import Readiness
from germane.types.traffic import REASONS, Traffic
from support.log_lines import kept

pytestmark = pytest.mark.requirement("OPS-1")


def traffic(admitted: int = 0, *, full: bool = False, **refused: Any) -> Traffic:
    return Traffic(used={"calls": 1, "health": 2}, refused=dict.fromkeys(REASONS, 0) | refused, admitted=admitted, full=full)


def looked(*looks: Traffic) -> list[bool]:
    saturation = Saturation(recovery=2)
    found = []
    for one in looks:
        saturation.update(one)
        found.append(saturation.active)
    return found


def test_it_is_saturated_while_every_slot_is_taken() -> None:
    """And a little longer."""
    assert looked(traffic(), traffic(full=True), traffic(), traffic()) == [False, True, True, False]


def test_it_is_saturated_while_more_calls_are_turned_away_than_taken() -> None:
    """Since the look before: what happened long ago doesn't count."""
    assert looked(traffic(10), traffic(15, slots=4), traffic(18, slots=8), traffic(28, slots=9)) == [False, False, True, True]


def test_who_has_no_key_cannot_take_the_service_out_of_rotation() -> None:
    """Nor an org that has used up its share."""
    refused: dict[str, Any] = {reason: 1000 for reason in REASONS if reason != "slots"}
    assert looked(traffic(1), traffic(1, **refused)) == [False, False]


def test_saturation_is_a_reason_not_to_be_ready() -> None:
    """Readiness shows it after the next check, so that callers go elsewhere."""
    now, log = [traffic()], kept()
    ports = PortMonitor(log.logs)
    ports.add(lambda: now[0])

    async def probe() -> None:
        return

    readiness = Readiness(probe, saturated=lambda: ports.saturated)
    for now[0], reasons in ((traffic(), ("starting",)), (traffic(full=True), ("starting", "saturated"))):
        ports.check()
        assert readiness.reasons == reasons
    now[0] = traffic()
    for _ in range(3):
        ports.check()
    assert readiness.reasons == ("starting",)
    assert [line["event"] for line in log.lines()] == ["saturated", "unsaturated"]


def test_what_is_turned_away_is_a_line_for_each_reason_however_many_there_were() -> None:
    """A flood of calls without a key doesn't flood the log."""
    now, log = [traffic(unauthenticated=5000, http_slow=1)], kept()
    ports = PortMonitor(log.logs)
    ports.add(lambda: now[0])
    ports.check()
    ports.check()
    now[0] = traffic(unauthenticated=5001, http_slow=1)
    ports.check()
    told = [(line["event"], line["reason"], line["count"]) for line in log.lines()]
    assert told == [("refused", "unauthenticated", 5000), ("refused", "http_slow", 1), ("refused", "unauthenticated", 1)]


def test_slots_and_refusals_are_numbers_with_bounded_labels() -> None:
    """Counted once, though they are looked at again and again."""
    log, metrics = kept(), Metrics()
    ports = PortMonitor(log.logs, metrics)
    ports.add(lambda: traffic(unauthenticated=3))
    ports.check()
    ports.check()
    text = metrics.text().decode()
    assert 'germane_refused_total{reason="unauthenticated"} 3.0' in text
    assert 'germane_slots{kind="calls"} 1.0' in text
    assert 'germane_slots{kind="health"} 2.0' in text
    log.logs.close()
