"""Prefix reuse: the share of each prompt that equals the beginning of the previous one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane_eval.metrics import ReplayedCall, common_prefix, prefix_reuse, prompt_texts
from germane_eval.passes import call_positions, last_sessions
from support.small_talk import chat

pytestmark = pytest.mark.requirement("EVAL-1")

TEXTS = st.lists(st.text(alphabet="ab", max_size=6), max_size=5)


@given(TEXTS, TEXTS)
def test_the_common_prefix_is_that_of_the_whole_texts(before: list[str], after: list[str]) -> None:
    """Comparing whole messages first gives the same prefix as comparing all characters."""
    found, one, two = common_prefix(before, after), "".join(before), "".join(after)
    assert one.startswith(found)
    assert two.startswith(found)
    if len(before) <= len(after) and after[: len(before)] == before:
        assert found == one


def test_a_prompt_that_only_grows_can_be_reused_but_for_what_is_new() -> None:
    """The common prefix ends at the first difference, even in the first message."""
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    assert common_prefix(prompt_texts(said[:1]), prompt_texts(said)) == "user \nHello\n"
    changed = [{"role": "user", "content": "Help"}, said[1]]
    assert common_prefix(prompt_texts(said), prompt_texts(changed)) == "user \nHel"


def test_parts_are_read_as_their_text() -> None:
    """A list of parts is one text; a message without content is empty."""
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    assert prompt_texts([{"role": "user", "content": parts}, {"role": "assistant", "content": None}]) == [
        "user \none two\n",
        "assistant \n\n",
    ]


def test_shares_are_of_all_tokens_of_all_calls() -> None:
    """A long prompt counts more than a short one."""
    calls = [
        ReplayedCall(conversation="one", prompt=100, common=0, own=50, own_common=40),
        ReplayedCall(conversation="one", prompt=300, common=200, own=50, own_common=50),
    ]
    found = prefix_reuse(calls)
    assert found is not None
    assert (found.calls, found.share, found.own) == (2, 0.5, 0.9)
    assert prefix_reuse([]) is None


def test_a_call_is_a_users_message_that_is_answered_or_any_between_people() -> None:
    """A single call has no previous prompt."""
    assisted, people = chat(each=6).sessions["s0"], chat(each=3, assisted=False).sessions["s0"]
    assert call_positions(assisted) == [0, 2, 4]
    assert call_positions(people) == [0, 1, 2]
    assert call_positions(people[:1]) == []


def test_the_last_sessions_are_replayed_up_to_so_many_calls() -> None:
    """Earlier sessions are recorded without a replay."""
    assert last_sessions(chat(each=8), 4) == {"s2": [0, 2, 4, 6]}
    assert last_sessions(chat(each=8), 6) == {"s1": [0, 2], "s2": [0, 2, 4, 6]}
    assert last_sessions(chat(each=8), 0) == {}
