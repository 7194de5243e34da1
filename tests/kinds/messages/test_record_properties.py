"""Record, as properties: whatever is sent again, the session is the conversation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import Conflict
from germane.types.message import Message
from support.examples import examples
from support.session_operations import SessionOperations

TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.sampled_from(["ok", "a", "b"])), min_size=1, max_size=30)


def spoken(turns: list[tuple[str, str]]) -> list[Message]:
    return [Message.of("user" if role == "user" else "assistant", text) for role, text in turns]


def kept(ledger: SessionOperations) -> list[tuple[str, str]]:
    return [(event.role, event.text) for event in ledger.events]


@examples(100)
@given(TURNS, st.lists(st.integers(2, 30), max_size=8))
def test_any_prefixes_in_any_order_give_the_longest_of_them(turns: list[tuple[str, str]], ends: list[int]) -> None:
    """Of two messages and more, within seconds, as long as the session isn't many times longer."""
    ledger = SessionOperations()
    for end in ends:
        if len(ledger.events) < 9 * end - 8:
            ledger.retry(spoken(turns[:end]))
            assert kept(ledger)[:end] == turns[:end]
    assert kept(ledger) == turns[: len(ledger.events)]


@examples(100)
@given(TURNS, st.data())
def test_a_growing_conversation_is_kept_once_whatever_is_retried(turns: list[tuple[str, str]], data: st.DataObject) -> None:
    """Each call is repeated a few times before the next."""
    ledger, end = SessionOperations(), 0
    while end < len(turns):
        end = data.draw(st.integers(end + 1, len(turns)))
        ledger.record(spoken(turns[:end]))
        for _ in range(data.draw(st.integers(0, 2))):
            assert ledger.retry(spoken(turns[:end])).added == ()
        assert kept(ledger) == turns[:end]


@examples(100)
@given(st.lists(st.integers(), unique=True, min_size=1, max_size=30), st.data())
def test_windows_over_a_conversation_are_kept_once(numbers: list[int], data: st.DataObject) -> None:
    """Each call begins anywhere in what is stored and goes on to anywhere."""
    turns = [("user", str(number)) for number in numbers]
    ledger, end = SessionOperations(), 0
    while end < len(turns):
        start, end = data.draw(st.integers(0, end)), data.draw(st.integers(end + 1, len(turns)))
        ledger.record(spoken(turns[start:end]))
        assert kept(ledger) == turns[:end]


@examples(100)
@given(TURNS, st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8))
def test_with_ids_every_message_is_there_once(turns: list[tuple[str, str]], slices: list[tuple[int, int]]) -> None:
    """Any stretches in any order, overlapping as they like."""
    messages = [Message.of("user", text, id=str(place)) for place, (_, text) in enumerate(turns)]
    ledger = SessionOperations()
    for start, end in [*slices, (0, 30)]:
        ledger.record(messages[start:end])
    assert sorted(event.message_id or "" for event in ledger.events) == sorted(str(place) for place in range(len(turns)))


@examples(100)
@given(TURNS, st.integers(0, 29))
def test_a_conflict_anywhere_writes_nothing(turns: list[tuple[str, str]], place: int) -> None:
    """Whatever else the call holds."""
    ledger = SessionOperations()
    ledger.record([Message.of("user", "kept", id="x")])
    messages = spoken(turns)
    messages.insert(min(place, len(messages)), Message.of("user", "other", id="x"))
    with pytest.raises(Conflict):
        ledger.record(messages)
    assert kept(ledger) == [("user", "kept")]
