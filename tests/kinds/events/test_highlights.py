"""Highlights: which events of a session are worth knowing later."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.events.highlights import EventMark, highlights
from germane.kinds.events.wording import failed, succeeded

ANY = st.builds(
    EventMark,
    key=st.integers(0, 1000),
    type=st.sampled_from(["decision", "error", "shell_exec", "file_edit", "file_read", "user_message", "own"]),
    role=st.sampled_from(["", "user", "assistant"]),
    outcome=st.sampled_from(["", "success", "failure", "exit 1", "x" * 99]),
    at=st.integers(0, 50),
    position=st.integers(-100, 100),
)


def marks(*given: str) -> list[EventMark]:
    """Marks of one session in order; each is written `type`, `type:outcome` or `role@`."""
    made = list[EventMark]()
    for number, one in enumerate(given):
        type, _, outcome = one.partition(":")
        role = type.removesuffix("@") if type.endswith("@") else ""
        made.append(EventMark(number, f"{role}_message" if role else type, role, outcome, number, number))
    return made


def chosen(given: list[EventMark], limit: int = 99) -> list[int]:
    return [mark.key for mark in highlights(given, limit)]


@pytest.mark.requirement("GRAPH-1")
def test_reading_and_searching_are_no_highlights() -> None:
    """Decisions, errors, changes, outcomes and the last message are; what only looked at something isn't."""
    session = marks("user@", "file_read", "search", "decision", "file_write", "shell_exec:ok", "assistant@", "file_read:ok")
    assert chosen(session) == [3, 4, 5, 6, 7]


def test_an_error_comes_with_what_resolved_it() -> None:
    """The first success after an error, and the last change before it, go before failures, changes and other successes."""
    session = marks("shell_exec:ok", "error", "file_edit", "file_edit", "shell_exec:ok", "file_write", "shell_exec:failed")
    assert chosen(session, 3) == [1, 3, 4]
    assert chosen(session, 4) == [1, 3, 4, 6]


def test_a_failed_command_is_resolved_as_an_error_is() -> None:
    """A failure without an error event of its own opens the search for what resolved it."""
    assert chosen(marks("test:failed", "file_edit", "test:passed", "file_write"), 2) == [1, 2]


@given(found=st.lists(ANY, max_size=40), limit=st.integers(0, 10))
def test_the_choice_is_bounded_in_order_and_the_same_each_time(found: list[EventMark], limit: int) -> None:
    """At most `limit`, by time, whatever the order in which they were read."""
    first = highlights(found, limit)
    assert len(first) <= limit
    assert [(one.at, one.position) for one in first] == sorted((one.at, one.position) for one in first)
    assert {(one.at, one.position) for one in first} <= {(one.at, one.position) for one in found}


@pytest.mark.parametrize("word", ["success", "OK", "passed", "exit 0", "exit code: 0", "0"])
def test_good_outcomes_are_told(word: str) -> None:
    """In the words of shells, test runners and people."""
    assert succeeded(word)
    assert not failed(word)


@pytest.mark.parametrize("word", ["failure", "Failed", "exit 1", "exit code: -9", "status=2", "timeout"])
def test_bad_outcomes_are_told(word: str) -> None:
    """Likewise; any exit code but 0 is bad."""
    assert failed(word)
    assert not succeeded(word)


@pytest.mark.parametrize("word", ["", "shown to Anna", "successful failure", "x" * 100_000])
def test_other_outcomes_are_neither(word: str) -> None:
    """A sentence isn't guessed at."""
    assert not succeeded(word)
    assert not failed(word)
