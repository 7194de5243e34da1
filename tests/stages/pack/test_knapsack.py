"""The exact search on bare numbers, compared with trying every set."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bench.proven import best_of_all
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.pack.knapsack import Ints, Knapsack, relax, solve, tightest
from support.examples import examples


def sack(
    values: list[float], tokens: list[int], room: int, group: list[int] | None = None, headers: list[int] | None = None
) -> Knapsack:
    group = group or [0] * len(values)
    return Knapsack(
        values=np.array(values, dtype=float),
        uses=np.array([tokens]),
        group=np.array(group),
        headers=np.array([headers or [0] * (max(group) + 1)]),
        room=np.array([room]),
    )


@st.composite
def sacks(draw: st.DrawFn) -> Knapsack:
    """Up to 12 items in up to 4 groups, under tokens and up to two caps; values and tokens often alike."""
    count, groups, caps = draw(st.integers(1, 12)), draw(st.integers(1, 4)), draw(st.integers(0, 2))
    value = st.sampled_from([0.0, 0.01, 0.25, 0.5]) | st.floats(0, 1)

    def row(maximum: int) -> list[int]:
        return draw(st.lists(st.integers(0, maximum), min_size=count, max_size=count))

    headers = [draw(st.lists(st.integers(0, 15), min_size=groups, max_size=groups))]
    headers += [draw(st.lists(st.integers(0, 1), min_size=groups, max_size=groups)) for _ in range(caps)]
    return Knapsack(
        values=np.array(draw(st.lists(value, min_size=count, max_size=count))),
        uses=np.array([row(40), *(row(3) for _ in range(caps))]),
        group=np.array(draw(st.lists(st.integers(0, groups - 1), min_size=count, max_size=count))),
        headers=np.array(headers),
        room=np.array([draw(st.integers(0, 200)), *(draw(st.integers(0, 8)) for _ in range(caps))]),
    )


def fits(full: Knapsack, picked: Ints) -> bool:
    return bool((full.used(picked) <= full.room).all())


@pytest.mark.requirement("PACK-6")
@given(sacks())
@examples(150)
def test_nothing_that_fits_is_worth_more(full: Knapsack) -> None:
    """Against trying every set; the gap is 0, as it is proven."""
    found = solve(full)
    assert fits(full, np.array(found.picked, dtype=np.int64))
    assert found.value == pytest.approx(best_of_all(full), abs=1e-8)
    assert found.gap == 0


@pytest.mark.requirement("PACK-6")
def test_a_header_that_may_still_be_paid_for_counts_as_use_to_come() -> None:
    """A packing with room for it isn't beaten by one without: found by a search, where 0.25 was proven and 0.26 was there."""
    full = Knapsack(
        values=np.array([0.0, 0.25, 0.01, 0.25, 0.23452114]),
        uses=np.array([[20, 9, 0, 40, 28], [1, 2, 1, 0, 2], [3, 0, 1, 0, 0]]),
        group=np.array([0, 0, 1, 0, 1]),
        headers=np.array([[12, 1], [1, 1], [0, 0]]),
        room=np.array([55, 4, 1]),
    )
    found = solve(full)
    assert found.value == pytest.approx(best_of_all(full))


@pytest.mark.requirement("PACK-6")
@given(sacks(), st.integers(1, 40))
@examples(150)
def test_with_little_effort_the_best_lies_between_the_value_and_the_bound(full: Knapsack, effort: int) -> None:
    """Whatever is given up unseen is in the bound."""
    found = solve(full, effort=effort)
    assert fits(full, np.array(found.picked, dtype=np.int64))
    assert found.value <= best_of_all(full) + 1e-8 <= found.bound + 2e-8


@pytest.mark.requirement("PACK-6")
@given(sacks(), st.integers(0, 5))
@examples(100)
def test_stopped_at_any_item_it_has_an_answer_and_a_bound(full: Knapsack, after: int) -> None:
    """A deadline costs value, never the answer nor its honesty."""
    asked = iter(range(1000))
    found = solve(full, stop=lambda: next(asked) >= after)
    assert fits(full, np.array(found.picked, dtype=np.int64))
    assert found.value <= best_of_all(full) + 1e-8 <= found.bound + 2e-8


@pytest.mark.requirement("PACK-6")
@given(sacks(), st.sets(st.integers(0, 11)))
@examples(100)
def test_it_is_never_worse_than_what_it_starts_from(full: Knapsack, start: set[int]) -> None:
    """Even when it may not search at all; a start that doesn't fit is no start."""
    known = np.array(sorted(one for one in start if one < len(full.values)), dtype=np.int64)
    found = solve(full, start=known.tolist(), effort=1, stop=lambda: True)
    assert fits(full, np.array(found.picked, dtype=np.int64))
    if fits(full, known):
        assert found.value >= full.values[known].sum() - 1e-9


@pytest.mark.requirement("PACK-6")
@given(sacks(), st.lists(st.floats(0, 1), min_size=3, max_size=3))
@examples(100)
def test_at_any_prices_the_bound_holds(full: Knapsack, at: list[float]) -> None:
    """And the prices that are found give a bound no higher than none at all."""
    best = best_of_all(full)
    assert relax(full, np.array(at[: len(full.room)])).bound >= best - 1e-8
    assert best - 1e-8 <= tightest(full).bound <= full.values.sum() + 1e-8


@pytest.mark.requirement("PACK-6")
@given(sacks(), st.floats(0, 0.2))
@examples(100)
def test_with_one_limit_no_other_price_gives_a_lower_bound(full: Knapsack, at: float) -> None:
    """Tokens alone: the linear relaxation's own bound."""
    plain = replace(full, uses=full.uses[:1], headers=full.headers[:1], room=full.room[:1])
    assert tightest(plain).bound <= relax(plain, np.array([at])).bound + 1e-8


def test_the_relaxation_fills_the_room_with_a_piece_of_an_item() -> None:
    """Header 20 and two of 40 tokens for 0.6 each, in a room of 80: four fifths of all that."""
    half = sack([0.6, 0.6], [40, 40], 80, headers=[20])
    assert tightest(half).bound == pytest.approx(80 * 1.2 / 100)
    assert tightest(sack([0.6, 0.6], [40, 40], 60)).bound == pytest.approx(0.9)


@pytest.mark.requirement("PACK-6")
def test_two_that_fit_together_go_before_one_that_is_denser() -> None:
    """What greedy packing gets wrong."""
    found = solve(sack([0.55, 0.5, 0.5], [51, 50, 50], 100))
    assert (found.picked, found.value, found.gap) == ((1, 2), 1.0, 0.0)


@pytest.mark.requirement("PACK-6")
def test_a_header_is_paid_for_once_by_all_that_share_it() -> None:
    """Three small ones under one header beat a better one under another."""
    items = sack([0.6, 0.3, 0.3, 0.3], [20, 10, 10, 10], 50, group=[0, 1, 1, 1], headers=[20, 20])
    assert solve(items).picked == (1, 2, 3)


@pytest.mark.requirement("PACK-6")
def test_what_is_given_up_for_want_of_effort_shows_in_the_gap() -> None:
    """A hundred items nearly alike, and room for a few partial packings."""
    chance = np.random.default_rng(3)
    tokens = chance.integers(20, 60, 100)
    many = sack((tokens / 100 + chance.random(100) / 1000).tolist(), tokens.tolist(), 1000)
    assert solve(many).gap == 0
    skip_search = solve(many, effort=1)
    assert skip_search.gap > 0
    assert skip_search.value <= solve(many).value <= skip_search.bound


def test_nothing_to_choose_from_is_worth_nothing() -> None:
    """No room, or no item that fits."""
    assert solve(sack([0.5], [10], 0)).picked == ()
    assert solve(sack([0.0], [1], 10)) == solve(sack([0.9], [11], 10))
