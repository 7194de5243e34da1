"""Replacement rows: what a request reads of the messages that made one outdated."""

from __future__ import annotations

import json

import pytest

from germane.stores.sql.events.event_rows import with_outdated
from germane_testing.builders import an_event

pytestmark = pytest.mark.requirement("PERSON-4")


def test_of_a_thousand_that_may_have_made_it_outdated_the_latest_are_known() -> None:
    """Somebody may say the opposite every day; what ended something for certain is known all the time."""
    maybe = [[1_000_000 * day, "", 0, f"maybe-{day}"] for day in range(1, 1_001)]
    ended = [[1_000_000 * day, "user.home", 1, f"ended-{day}"] for day in (5, 500)]
    found = with_outdated(an_event("I live in Graz"), json.dumps([*reversed(maybe), *ended]))
    assert {link.id for link in found.replaced_by} == {"ended-5", "ended-500", "maybe-998", "maybe-999", "maybe-1000"}
    assert [link.id for link in found.replaced_by if link.ends] == ["ended-5", "ended-500"]
