"""Pace: the rate limit on refusals counts each org by itself."""

from __future__ import annotations

import pytest

from germane.grpc.server.admission import RefusalPace


def test_a_few_are_refused_at_once_and_more_at_a_steady_rate() -> None:
    pace = RefusalPace(rate=10, burst=3)
    delays = [pace.delay("acme", 100.0) for _ in range(6)]
    assert delays == pytest.approx([0, 0, 0, 0.1, 0.2, 0.3])


def test_who_waits_as_told_is_told_as_quickly_as_the_rate() -> None:
    pace, now = RefusalPace(rate=10, burst=1), 100.0
    for _ in range(20):
        now += pace.delay("acme", now)
    assert now - 100.0 == pytest.approx(1.9)


def test_time_makes_up_for_it() -> None:
    pace = RefusalPace(rate=10, burst=3)
    for _ in range(6):
        pace.delay("acme", 100.0)
    assert pace.delay("acme", 101.0) == 0


def test_a_large_request_counts_for_many() -> None:
    """Each 64 KB for one."""
    pace = RefusalPace(rate=10, burst=3)
    assert pace.delay("acme", 100.0, size=10 * 64 * 1024) == pytest.approx(0.8)


@pytest.mark.requirement("ENGINE-4")
def test_an_org_pays_for_itself_alone_and_never_more_than_the_longest() -> None:
    pace = RefusalPace(rate=10, burst=3, max_delay=0.5)
    assert max(pace.delay("acme", 100.0) for _ in range(1000)) == 0.5
    assert pace.delay("other", 100.0) == 0
    assert pace.delay("acme", 101.0) == 0
