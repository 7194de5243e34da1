"""Evidence recall: how much of the evidence is ranked or shown: any of it, all of it, and the share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_eval.answers import (
    any_at,
    any_within,
    every_at,
    every_within,
    fraction_at,
    fraction_within,
    ranks,
    shares,
    touched_within,
)
from support.small_talk import chosen, scored

pytestmark = pytest.mark.requirement("EVAL-1")

RANKS = st.lists(st.one_of(st.none(), st.integers(1, 60)), min_size=1, max_size=6)
SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=6)


def test_ranks_count_messages_from_1_in_score_order() -> None:
    """The order of the input doesn't matter; a message that wasn't found has no rank."""
    assert ranks([scored("c", 3), scored("a", 1), scored("b", 2)], {"c", "a", "z"}) == (1, 3, None)


def test_pieces_of_one_message_rank_once_as_the_best_of_them() -> None:
    """A long message in three pieces takes one rank, not three."""
    found = [scored("a1", 1, message="a"), scored("a2", 2, message="a"), scored("b", 3)]
    assert ranks(found, {"a", "b"}) == (1, 2)


def test_a_shortened_message_earns_the_share_of_it_that_is_shown() -> None:
    """The share is neither rounded up nor down."""
    assert shares([chosen("a", 0.25), chosen("b")], {"a", "b", "c"}) == (0.25, 1.0, 0.0)


def test_pieces_of_one_message_add_up_to_the_whole_at_most() -> None:
    """Overlapping pieces don't add up to more than the message."""
    assert shares([chosen("1", 0.5, message="a"), chosen("2", 0.25, message="a")], {"a"}) == (0.75,)
    assert shares([chosen("1", 0.8, message="a"), chosen("2", 0.8, message="a")], {"a"}) == (1.0,)


def test_what_is_no_message_earns_nothing() -> None:
    """Breadcrumbs and summaries carry no message's id."""
    assert shares([chosen("summary", message="none")], {"a"}) == (0.0,)


def test_any_all_and_fraction_at_k() -> None:
    """Two of three messages are among the first five."""
    found = (1, 5, 9)
    assert [any_at(found, 5), every_at(found, 5), fraction_at(found, 5)] == pytest.approx([1, 0, 2 / 3])
    assert every_at(found, 9) == 1.0
    assert any_at((None,), 50) == fraction_at((None,), 50) == 0.0


def test_any_all_fraction_and_any_part_within_a_budget() -> None:
    """Half a message counts as half of the evidence, and as a part."""
    found = (0.5, 1.0, 0.0)
    assert (any_within(found), every_within(found), fraction_within(found)) == (1.0, 0.0, 0.5)
    assert touched_within(found) == pytest.approx(2 / 3)
    assert every_within((1.0, 0.9995)) == 1.0


@given(RANKS, st.integers(1, 60))
def test_all_implies_the_fraction_and_the_fraction_any(found: list[int | None], k: int) -> None:
    """all ≤ fraction ≤ any, and each is monotonic in k."""
    assert every_at(found, k) <= fraction_at(found, k) <= any_at(found, k)
    assert fraction_at(found, k) <= fraction_at(found, k + 1)


@given(SHARES)
def test_shares_lie_between_all_and_any(found: list[float]) -> None:
    """all ≤ fraction + its rounding, fraction ≤ any part ≤ any."""
    assert every_within(found) * 0.999 <= fraction_within(found) <= touched_within(found) + 1e-9
    assert touched_within(found) <= any_within(found)
