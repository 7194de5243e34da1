"""The pace of an org's assemblies: what one unusual assembly changes, and what lasting slowness does."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.engine.admission import AdmissionPace

pytestmark = pytest.mark.requirement("ENGINE-10")


def learned(seconds: Sequence[float]) -> AdmissionPace:
    pace = AdmissionPace()
    for one in seconds:
        pace.learn("acme", one, one / 2)
    return pace


def test_nothing_is_expected_of_an_unknown_org() -> None:
    pace = learned([0.010])
    assert (pace.usual("other"), pace.gathering("other")) == (0.0, 0.0)
    assert (pace.usual("acme"), pace.gathering("acme")) == (0.010, 0.005)


@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("after", [1, 3, 7])
def test_one_slow_assembly_changes_nothing(before: int, after: int) -> None:
    """The first one of a process loads its tables, and one of a busy machine is interrupted."""
    pace = learned([0.002] * before + [0.200] + [0.002] * after)
    assert pace.usual("acme") == pytest.approx(0.002)
    assert pace.gathering("acme") == pytest.approx(0.001)


def test_lasting_slowness_is_known_after_eight_assemblies() -> None:
    assert learned([0.002] * 100 + [0.020] * 8).usual("acme") == pytest.approx(0.020)


def test_an_org_of_quick_and_slow_assemblies_has_a_pace_between() -> None:
    assert learned([0.001, 0.010] * 20).usual("acme") == pytest.approx((4 * 0.001 + 2 * 0.010) / 6)


def test_shallow_searches_have_a_pace_of_their_own() -> None:
    """Until one was seen, two thirds of the full ones' pace."""
    pace = learned([0.010])
    assert pace.usual("acme", shallow=True) == pytest.approx(0.0065)
    assert pace.gathering("acme", shallow=True) == pytest.approx(0.00325)
    pace.learn("acme", 0.004, 0.002, shallow=True)
    assert (pace.usual("acme", shallow=True), pace.gathering("acme", shallow=True)) == (0.004, 0.002)
    assert (pace.usual("acme"), pace.gathering("acme")) == (0.010, 0.005)


def test_a_shallow_search_is_never_expected_to_take_longer_than_a_full_one() -> None:
    """One that was slow in a bad minute would keep all others from being made."""
    pace = learned([0.010])
    pace.learn("acme", 0.030, 0.020, shallow=True)
    assert (pace.usual("acme", shallow=True), pace.gathering("acme", shallow=True)) == (0.010, 0.005)
    assert pace.usual("other", shallow=True) == 0.0


@given(st.lists(st.floats(0, 10), min_size=1, max_size=30))
def test_the_pace_lies_among_the_latest(seconds: list[float]) -> None:
    latest = seconds[-8:]
    assert min(latest) - 1e-9 <= learned(seconds).usual("acme") <= max(latest) + 1e-9
