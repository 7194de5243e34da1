"""What has failed again and again isn't asked for a while: whose trouble it is, for how long, and who may try again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.engine.breakers import BreakerKey, Breakers, BreakerState

ANN, BO, CY, DI, ED = (BreakerKey("acme", "support", user) for user in ("ann", "bo", "cy", "di", "ed"))
ELSEWHERE = [BreakerKey(org, "support", "flo") for org in ("brill", "corp", "duff")]
"""One user each of three other orgs."""


def tried(breakers: Breakers, place: BreakerKey, succeeded: bool | None, now: float, name: str = "memories") -> bool:
    """Whether it was asked."""
    attempt = breakers.start_attempt(name, place, now)
    if attempt is not None:
        attempt.report(succeeded, now)
    return attempt is not None


def failing(breakers: Breakers, *places: BreakerKey, now: float = 0.0) -> list[bool]:
    return [tried(breakers, place, False, now) for place in places]


@pytest.mark.requirement("ENGINE-4")
def test_five_failures_in_a_row_and_it_is_not_asked_for_a_second() -> None:
    """Then one tries: its success closes the circuit."""
    breakers = Breakers()
    assert failing(breakers, *[ANN] * 6) == [True] * 5 + [False]
    assert not tried(breakers, ANN, True, 0.999)
    assert tried(breakers, ANN, True, 1.0)
    assert failing(breakers, *[ANN] * 5, now=1.0) == [True] * 5


@pytest.mark.requirement("ENGINE-4")
def test_a_success_in_between_starts_the_count_anew() -> None:
    breakers = Breakers()
    for _ in range(5):
        assert failing(breakers, *[ANN] * 4) == [True] * 4
        assert tried(breakers, ANN, True, 0.0)


@pytest.mark.requirement("ENGINE-4")
def test_while_one_tries_the_others_wait_and_its_failure_costs_another_second() -> None:
    breakers = Breakers()
    failing(breakers, *[ANN] * 5)
    probe = breakers.start_attempt("memories", ANN, 1.0)
    assert probe is not None
    assert breakers.start_attempt("memories", ANN, 1.04) is None
    probe.report(False, 1.04)
    assert not tried(breakers, ANN, True, 2.03)
    assert tried(breakers, ANN, True, 2.04)


@pytest.mark.requirement("ENGINE-4")
def test_a_try_that_says_nothing_lets_the_next_one_try() -> None:
    """Nothing to search for, or a caller that went away: neither a success nor a failure."""
    breakers = Breakers()
    failing(breakers, *[ANN] * 5)
    assert tried(breakers, ANN, None, 1.0)
    assert tried(breakers, ANN, True, 1.0)
    breakers = Breakers()
    assert [tried(breakers, ANN, None, 0.0) for _ in range(9)] == [True] * 9


@pytest.mark.requirement("ENGINE-4")
def test_a_try_that_is_never_told_of_holds_its_place_for_a_second_only() -> None:
    breakers = Breakers()
    failing(breakers, *[ANN] * 5)
    assert breakers.start_attempt("memories", ANN, 1.0) is not None
    assert not tried(breakers, ANN, True, 1.9)
    assert tried(breakers, ANN, True, 2.0)


@pytest.mark.requirement("ENGINE-4", "SCOPE-2")
def test_a_damaged_partition_costs_its_own_scope_the_source_and_no_other() -> None:
    """However often it is asked, and also where two of them are."""
    breakers = Breakers()
    failing(breakers, *[ANN, BO] * 50)
    assert [tried(breakers, place, True, 0.0) for place in (ANN, BO, CY, DI)] == [False, False, True, True]


@pytest.mark.requirement("ENGINE-4")
def test_a_store_that_fails_for_all_is_found_out_by_the_first_five() -> None:
    """Whoever comes next, from a place never heard of, waits for nothing: whether all are of one org or of several."""
    breakers = Breakers()
    assert failing(breakers, ANN, BO, ANN, CY, BO, DI, ED) == [True] * 5 + [False] * 2
    assert [tried(breakers, place, True, 1.0) for place in (ANN, BO, CY, DI)] == [True] * 4
    breakers = Breakers()
    assert failing(breakers, ANN, *ELSEWHERE[:2], BO, ANN, ELSEWHERE[2], CY) == [True] * 5 + [False] * 2
    assert [tried(breakers, place, True, 1.0) for place in (ANN, BO, *ELSEWHERE)] == [True] * 5


@pytest.mark.requirement("ENGINE-4", "SCOPE-2")
def test_an_org_that_fails_costs_itself_the_source_and_no_other_org() -> None:
    """However many users it makes up, and however long it goes on."""
    breakers, users = Breakers(), [BreakerKey("acme", "support", f"user {n}") for n in range(500)]
    asked = [tried(breakers, user, False, n / 100) for n, user in enumerate(users)]
    assert sum(asked) == 5 + 4  # and one try a second
    assert not tried(breakers, ANN, True, 5.0)
    assert [tried(breakers, place, True, 5.0) for place in ELSEWHERE] == [True] * 3


@pytest.mark.requirement("ENGINE-4", "SCOPE-2")
def test_one_failure_of_a_neighbour_is_not_enough_beside_an_org_that_fails() -> None:
    """The org's own count for three of five at most, and one place's for two."""
    breakers = Breakers()
    failing(breakers, *[ANN, BO, CY, DI, ED] * 10)
    assert failing(breakers, *[ELSEWHERE[0]] * 2) == [True] * 2
    assert not tried(breakers, ELSEWHERE[1], True, 0.0)
    breakers = Breakers()
    failing(breakers, *[ANN, BO, CY, DI, ED] * 10)
    assert failing(breakers, ELSEWHERE[0]) == [True]
    assert tried(breakers, ELSEWHERE[1], True, 0.0)


@pytest.mark.requirement("ENGINE-4")
def test_a_store_that_hangs_for_one_org_is_found_out_by_the_second_at_two_failures_and_by_the_third_at_none() -> None:
    """Nobody had an answer in between, however long ago the first one asked."""
    breakers = Breakers()
    failing(breakers, ANN, BO, CY, DI, ED)
    later = (ELSEWHERE[0], BreakerKey("brill", "support", "gus"), ELSEWHERE[1])
    assert failing(breakers, *later, now=100.0) == [True, True, False]


@pytest.mark.requirement("ENGINE-4")
def test_an_org_that_tried_in_vain_for_all_lets_another_org_try_first() -> None:
    """With whichever of its users, or made-up users could keep a healthy store from everybody."""
    breakers = Breakers()
    failing(breakers, ANN, BO, CY, *ELSEWHERE)
    assert tried(breakers, ANN, False, 1.0)
    assert [tried(breakers, place, False, 2.0) for place in (ANN, BO, CY)] == [False] * 3
    assert tried(breakers, ELSEWHERE[0], True, 2.0)
    assert not tried(breakers, BO, True, 2.4)
    assert tried(breakers, BO, True, 2.5)


@pytest.mark.requirement("ENGINE-4")
def test_whoever_tried_in_vain_for_an_org_lets_another_of_it_try_first() -> None:
    """Or a damaged partition that asks most often would keep a healthy store from all."""
    breakers = Breakers()
    failing(breakers, ANN, BO, CY, DI, ANN)
    assert tried(breakers, ANN, False, 1.0)
    assert not tried(breakers, ANN, False, 2.0)
    assert tried(breakers, BO, True, 2.0)
    assert tried(breakers, CY, True, 2.0)
    assert not tried(breakers, ANN, False, 2.1)
    assert tried(breakers, ANN, True, 2.5)


@pytest.mark.requirement("ENGINE-4")
def test_sources_know_nothing_of_one_another() -> None:
    breakers = Breakers()
    failing(breakers, *[ANN] * 5)
    assert tried(breakers, ANN, True, 0.0, name="messages")


@pytest.mark.requirement("ENGINE-4")
def test_what_began_before_it_opened_neither_closes_nor_prolongs_it() -> None:
    breakers = Breakers()
    before = [breakers.start_attempt("memories", ANN, 0.0) for _ in range(2)]
    failing(breakers, *[ANN] * 5)
    for attempt, succeeded in zip(before, (True, False), strict=True):
        assert attempt is not None
        attempt.report(succeeded, 0.9)
    assert not tried(breakers, ANN, True, 0.95)
    assert tried(breakers, ANN, True, 1.0)


def test_who_insists_is_always_let_and_only_the_first_telling_counts() -> None:
    breakers = Breakers()
    failing(breakers, *[ANN] * 5)
    attempt = breakers.start_attempt("memories", ANN, 0.0, force=True)
    assert attempt is not None
    attempt.report(True, 0.0)
    assert not tried(breakers, ANN, True, 0.0)
    once = breakers.start_attempt("memories", BO, 0.0)
    assert once is not None
    for _ in range(9):
        once.report(False, 0.0)
    assert tried(breakers, BO, True, 0.0)


@pytest.mark.requirement("OPS-1")
def test_its_state_can_be_read() -> None:
    """The worst of everybody's and the scopes' own, and of how many scopes."""
    breakers = Breakers()
    tried(breakers, ANN, True, 0.0, name="gate")
    failing(breakers, *[ANN] * 5)
    untouched = BreakerState(source="gate")
    assert breakers.states(0.5) == (untouched, BreakerState(source="memories", condition="open", scopes=1))
    assert breakers.states(1.0) == (untouched, BreakerState(source="memories", condition="half-open", scopes=1))
    tried(breakers, ANN, True, 1.0)
    assert breakers.states(1.0) == (untouched, BreakerState(source="memories"))
    failing(breakers, *[ANN] * 5, now=1.0)
    assert breakers.states(60.9)[1].scopes == 1
    assert breakers.states(61.0) == (untouched, BreakerState(source="memories"))
    assert tried(breakers, ANN, True, 61.0)
    failing(breakers, BO, CY, DI, BO, CY, now=1.0)
    assert breakers.states(1.0) == (untouched, BreakerState(source="memories", condition="open", scopes=1))
    failing(breakers, *ELSEWHERE, now=1.0)
    assert breakers.states(1.0) == (untouched, BreakerState(source="memories", condition="open"))


def test_it_is_bounded_however_many_are_in_trouble() -> None:
    """Orgs and users alike, also while a common circuit can't open."""
    breakers = Breakers(max_entries=3, failures=10**9)
    for number in range(50):
        failing(breakers, BreakerKey(f"org {number % 7}", "support", f"user {number}"))
    assert len(breakers._own) == 3


@given(st.lists(st.tuples(st.sampled_from([ANN, BO, CY, *ELSEWHERE]), st.booleans(), st.floats(0, 0.5)), max_size=60))
def test_two_seconds_after_the_last_fault_everybody_is_let_again(story: list[tuple[BreakerKey, bool, float]]) -> None:
    """Whatever happened before, for whoever asks each tenth of a second."""
    breakers, now = Breakers(), 0.0
    for place, succeeded, later in story:
        now += later
        tried(breakers, place, succeeded, now)
    for tenth in range(20):
        for place in (ANN, BO, CY, *ELSEWHERE):
            tried(breakers, place, True, now + tenth / 10)
    assert all(tried(breakers, place, True, now + 2) for place in (ANN, BO, CY, *ELSEWHERE))


@pytest.mark.requirement("ENGINE-4")
def test_time_outs_count_where_nobody_has_an_answer_for_a_while() -> None:
    """A machine with too much to do is late again and again, but not for all: then the source is none the worse."""

    def late(breakers: Breakers, now: float) -> bool:
        attempt = breakers.start_attempt("memories", ANN, now)
        if attempt is not None:
            attempt.report(False, now, late=True)
        return attempt is not None

    breakers = Breakers()
    for burst in range(10):
        assert [late(breakers, burst + number / 50) for number in range(36)] == [True] * 36
        assert tried(breakers, ANN, True, burst + 0.74)
    assert [late(breakers, 20 + number / 16) for number in range(14)] == [True] * 13 + [False]
