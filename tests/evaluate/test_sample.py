"""Sample: fewer questions, evenly spread and the same in each run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane import InvalidInput
from germane_eval.dataset import select_questions, spread_evenly
from support.small_talk import chat, dataset


@given(st.lists(st.integers(), max_size=50, unique=True), st.integers(1, 60))
def test_a_sample_has_as_many_as_asked_for_in_their_order(found: list[int], limit: int) -> None:
    """The sample is never larger than the input, and has no entry twice."""
    taken = spread_evenly(found, limit)
    assert len(taken) == min(len(found), limit)
    assert taken == [one for one in found if one in set(taken)]


def test_a_limit_takes_from_all_conversations_and_leaves_out_those_without_questions() -> None:
    """A conversation without questions needn't be recorded."""
    data = dataset(chat("one"), chat("two"), chat("three"))
    assert [len(conversation.questions) for conversation in select_questions(data, limit=3).conversations] == [1, 1, 1]
    assert [conversation.name for conversation in select_questions(data, limit=1).conversations] == ["one"]
    assert select_questions(data, limit=99) == data


def test_only_questions_of_the_categories_are_asked() -> None:
    """An unknown category raises an error that lists the known ones."""
    (conversation,) = select_questions(dataset(), categories=["pets"]).conversations
    assert [question.category for question in conversation.questions] == ["pets"]
    with pytest.raises(InvalidInput, match="'plants': its categories are people, pets, places"):
        select_questions(dataset(), categories=["plants"])
