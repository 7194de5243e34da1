"""Packed: the fast model of the packer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_eval.fit.candidates import Candidates, pack_candidates, recall
from support.made_lists import candidates, columns_of


def row(many: int, relevant: list[int], **given: Any) -> Candidates:
    return candidates(columns_of(own=np.zeros(many)), np.isin(np.arange(many), relevant), **given)


def test_the_likely_go_first_and_the_header_is_paid_once() -> None:
    """The header costs five tokens and an item ten: two items fit into 25."""
    one = row(4, [2])
    found = pack_candidates(one, np.array([0.0, 1.0, 3.0, 2.0]), 25 + 24)  # a rest of under 24 tokens is left alone
    assert found.rows[:2] == (2, 3)
    assert found.share == 1.0


def test_the_cheap_goes_before_the_slightly_likelier() -> None:
    """The order is by probability per token."""
    one = row(2, [0], cost=np.array([200, 10], np.int32), header=np.zeros(2, np.int32))
    assert pack_candidates(one, np.array([1.0, 0.5]), 1000).rows == (1, 0)


def test_of_a_long_one_a_passage_goes_in_and_counts_as_the_message() -> None:
    """A message of more than 96 tokens is shown as a passage of 48."""
    one = row(1, [0], cost=np.array([1000], np.int32), header=np.zeros(1, np.int32))
    found = pack_candidates(one, np.zeros(1), 1000)
    assert (found.tokens, found.share) == (48, 1.0)


def test_parts_of_one_message_add_up_to_it_and_no_further() -> None:
    """Two halves make one message."""
    one = row(3, [0, 1, 2], message=np.zeros(3, np.int32), share=np.full(3, 0.5), wanted=1)
    assert pack_candidates(one, np.zeros(3), 1000).share == 1.0


def test_what_has_no_odds_isnt_offered() -> None:
    """Log-odds of −∞ mark a candidate below the floor."""
    assert pack_candidates(row(2, [1]), np.array([0.0, -np.inf]), 1000).rows == (0,)


@given(st.integers(0, 5000), st.integers(0, 1500))
def test_no_budget_is_overdrawn(seed: int, budget: int) -> None:
    """The tokens are those of the lines, of one header a group and of the wrapper, for any costs and odds."""
    random = np.random.default_rng(seed)
    many = int(random.integers(1, 30))
    one = candidates(
        columns_of(own=np.zeros(many)),
        random.random(many) < 0.2,
        cost=random.integers(1, 90, many).astype(np.int32),
        header=np.full(many, 12, np.int32),
        group=random.integers(0, 4, many).astype(np.int32),
        fixed=40,
    )
    found = pack_candidates(one, random.normal(size=many), budget)
    rows = list(found.rows)
    assert len(set(rows)) == len(rows)
    assert 0 <= found.share <= 1
    assert not rows or 40 + int(one.cost[rows].sum()) + 12 * len(set(one.group[rows].tolist())) == found.tokens <= budget


def test_recall_is_the_mean_over_questions_in_percent() -> None:
    found = recall([row(2, [0]), row(2, [0], wanted=2)], [np.zeros(2), np.zeros(2)])
    assert (found["r1000"], found["a1000"]) == (75.0, 50.0)


def test_no_questions_have_no_recall() -> None:
    assert recall([], [])["r1000"] == pytest.approx(0.0)
