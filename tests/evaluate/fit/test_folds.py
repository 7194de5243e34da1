"""Folds: cross-validation holds out whole conversations, never single questions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_eval.fit.candidates import Candidates, folds
from support.made_lists import candidates, columns_of


def lists(names: list[str]) -> list[Candidates]:
    return [candidates(columns_of(own=[1.0, 0.0]), [1, 0], conversation=name) for name in names]


@pytest.mark.requirement("SCORE-2")
@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=30), st.none() | st.integers(2, 8))
def test_no_conversation_is_on_both_sides_and_each_question_is_held_out_once(names: list[str], maximum: int | None) -> None:
    """Each conversation is a fold, unless a number of folds is given."""
    made = list(folds(lists(names), maximum))
    if len(set(names)) < 2:
        assert made == []
        return
    assert len(made) == len(set(names)) if maximum is None else len(made) == min(maximum, len(set(names)))
    for learnt, held in made:
        assert not {names[i] for i in learnt} & {names[i] for i in held}
        assert sorted([*learnt, *held]) == list(range(len(names)))
    assert sorted(i for _, held in made for i in held) == list(range(len(names)))


def test_conversations_of_the_same_name_in_two_data_sets_are_two() -> None:
    """The name of a conversation is unique only in its data set."""
    one, two = (candidates(columns_of(own=[1.0, 0.0]), [1, 0], dataset=name) for name in ("x", "y"))
    assert len(list(folds([one, two]))) == 2


def test_folds_have_about_as_many_questions_each() -> None:
    """The largest conversations are placed first."""
    made = list(folds(lists(["a"] * 6 + ["b"] * 3 + ["c"] * 3), 2))
    assert sorted(len(held) for _, held in made) == [6, 6]
