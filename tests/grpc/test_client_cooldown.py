"""Cooldown: when the breaker allows a call to a server that hangs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.api.remote.fallback import Cooldown
from support.examples import examples


def hung(cooldown: Cooldown, times: int, now: float = 0.0) -> Cooldown:
    for _ in range(times):
        assert cooldown.allows(now)
        cooldown.hung(now)
    return cooldown


def test_it_opens_after_so_many_in_a_row_and_for_so_long() -> None:
    """Not before, and not forever."""
    cooldown = hung(Cooldown(after=3, seconds=1.0), 2)
    assert cooldown.allows(0.0)
    cooldown.hung(0.0)
    assert [cooldown.allows(now) for now in (0.0, 0.5, 0.999)] == [False] * 3
    assert cooldown.allows(1.0)


def test_an_answer_in_between_begins_the_count_anew() -> None:
    """Slow now and then isn't hanging."""
    cooldown = hung(Cooldown(after=3), 2)
    cooldown.answered()
    assert hung(cooldown, 2).allows(0.0)


def test_one_call_tries_and_the_others_wait_for_what_comes_of_it() -> None:
    """However many come at once."""
    cooldown = hung(Cooldown(after=1, seconds=1.0), 1)
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: cooldown.allows(1.0), range(64))) == 1
    cooldown.hung(1.0)
    assert not cooldown.allows(1.5)
    assert cooldown.allows(2.0)
    cooldown.answered()
    assert all(cooldown.allows(2.0) for _ in range(3))


def test_a_try_that_was_given_up_leaves_the_place_to_the_next() -> None:
    """A cancelled probe doesn't leave the breaker open for ever."""
    cooldown = hung(Cooldown(after=1, seconds=1.0), 1)
    assert cooldown.allows(1.0)
    cooldown.release()
    assert cooldown.allows(1.0)


def test_zero_switches_it_off() -> None:
    """Then every call waits for its own limit."""
    assert hung(Cooldown(after=0), 100).allows(0.0)


@pytest.mark.requirement("RPC-3")
@examples(200)
@given(st.lists(st.tuples(st.floats(0, 3), st.sampled_from(["answered", "hung", "release"])), max_size=60))
def test_whatever_happens_a_call_is_let_through_within_the_time(events: list[tuple[float, str]]) -> None:
    """No order of events shuts a server out for longer than its cool-down."""
    cooldown, now = Cooldown(after=2, seconds=1.0), 0.0
    for passed, outcome in events:
        now += passed
        if cooldown.allows(now):
            cooldown.hung(now) if outcome == "hung" else getattr(cooldown, outcome)()
    assert cooldown.allows(now + 1.0)
