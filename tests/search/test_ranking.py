"""Which of the results of a search are worth reading."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.search.find import Ranking
from germane.stages.pack.greedy import CostEstimator
from germane.types.budget import PASSAGE_TOKENS, TokenPrice, shown_value
from support.plain_layout import PlainLayout, item
from support.plain_units import Text, asking, held, search

ROWS = st.lists(st.tuples(st.floats(-12, 6), st.integers(0, 400)), min_size=1, max_size=60)
PRICES = st.floats(1e-5, 1e-2)
LINE = 6
"""Tokens of a line besides its text; the plain layout has none."""


def ranking(rows: list[tuple[float, int]], running: frozenset[int] = frozenset()) -> Ranking:
    """Rows of these log-odds and tokens, best first; those at the places `running` are of the running session."""
    odds, tokens = zip(*sorted(rows, reverse=True), strict=True)
    places = np.arange(len(rows))
    others = np.array([place not in running for place in places.tolist()])
    table = np.zeros((len(rows), 1))
    return Ranking(np.array(odds), places * 0, places, places, table, np.array(tokens, np.int32), others)


@pytest.mark.requirement("AMOUNT-3")
@given(ROWS, PRICES, st.booleans())
def test_what_pays_is_read(rows: list[tuple[float, int]], price: float, broad: bool) -> None:
    """Whatever the price: a row that is worth its fewest tokens, compared with the same best fifty."""
    found = ranking(rows)
    probability = 1 / (1 + np.exp(-found.odds))
    paid = TokenPrice(price, float(probability[:50].sum()))
    worth = found.worth_reading(price, broad=broad)
    for one, tokens, read in zip(probability.tolist(), found.least_tokens(broad=broad).tolist(), worth.tolist(), strict=True):
        assert read or not paid.pays(one, tokens)


@pytest.mark.requirement("AMOUNT-3")
@given(ROWS, PRICES, PRICES)
def test_a_higher_price_reads_less(rows: list[tuple[float, int]], one: float, other: float) -> None:
    """And the best ten are read in any case."""
    low, high = (ranking(rows).worth_reading(price, broad=False) for price in sorted((one, other)))
    assert not (high & ~low).any()
    assert high[:10].all()


@pytest.mark.requirement("AMOUNT-3")
def test_the_running_sessions_own_messages_are_no_measure_for_the_others() -> None:
    """They may stand in the request already, and then what is left would look faint beside them."""
    rows = [(5.0, 20)] * 40 + [(-3.0, 20)] * 15
    price = 2e-3
    assert ranking(rows).worth_reading(price, broad=False)[40:].sum() == 0
    assert ranking(rows, frozenset(range(40))).worth_reading(price, broad=False)[40:].all()


@pytest.mark.requirement("AMOUNT-3")
@pytest.mark.parametrize("broad", [False, True])
@given(words=st.integers(1, 600))
def test_no_item_brings_its_value_for_fewer_tokens_than_the_ranking_takes_for_granted(broad: bool, words: int) -> None:
    """Whole or as a passage, as the packer first offers it."""
    candidate = item(words, 1, kinds=("event",))
    estimate = CostEstimator(PlainLayout(), broad=broad).estimate(candidate)
    value = 1.0 if broad or not estimate.passage else shown_value(PASSAGE_TOKENS / words)
    (least,) = ranking([(0.0, words)]).least_tokens(broad=broad).tolist()
    assert (estimate.line + LINE) / value >= least - 1e-9


def test_the_best_rows_of_all_partitions_come_first_each_key_once() -> None:
    both = ("ash", "elm")
    first = held([[Text(key=1, session=1, words=("ash", "oak")), Text(key=2, session=2, words=both)]])
    second = held([[Text(key=2, session=1, words=both), Text(key=1, session=2, words=("ash", "oak"))]])
    wanted = [(0, 2), (1, 2), (0, 1), (1, 1)]
    for limit in (1, 2, 3, 4, 9):
        found = search([first, second], asking("ash", "elm"), limit)
        assert [(match.partition, match.key) for match in found] == wanted[:limit]


@given(ROWS, st.integers(1, 70), st.floats(0, 4))
def test_of_the_leading_rows_none_is_missing_that_could_be_moved_among_them(
    rows: list[tuple[float, int]], count: int, spread: float
) -> None:
    """Whatever lies within the spread of the last of them stays, and nothing else."""
    found = ranking(rows)
    led = found.leading(count, spread)
    last = found.odds[:count][-1]
    assert led.keys.tolist() == [
        key for key, odds in zip(found.keys, found.odds, strict=True) if odds >= last - spread or key < count
    ]
