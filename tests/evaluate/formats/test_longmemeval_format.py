"""LongMemEval: a haystack of dated sessions for each question."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane_eval.dataset import Dataset
from germane_eval.formats import load
from support.small_sets import longmemeval, messages, questions, reasons, written


def loaded(tmp_path: Path, *entries: dict[str, Any]) -> Dataset:
    return load(written(tmp_path / "longmemeval_s.json", list(entries)))


@pytest.mark.requirement("EVAL-1")
def test_a_question_is_a_conversation_of_its_own_asked_at_its_date(tmp_path: Path) -> None:
    """Sessions stand in the order of time, whatever the order of the file."""
    found = loaded(tmp_path, longmemeval())
    (conversation,) = found.conversations
    (one,) = conversation.questions
    assert (found.format, conversation.name, one.id) == ("longmemeval", "8a2466db", "8a2466db")
    assert list(conversation.sessions) == ["answer_1_1", "filler_7", "answer_1_2"]
    first = next(messages(conversation))
    assert (first.id, first.role, first.created_at) == ("answer_1_1_1", "user", datetime(2023, 5, 20, 2, 21, tzinfo=UTC))
    assert (one.category, one.answer) == ("single-session-user", "9 km")
    assert one.at == datetime(2023, 6, 1, 8, tzinfo=UTC)


@pytest.mark.requirement("EVAL-1")
def test_evidence_are_the_marked_turns(tmp_path: Path) -> None:
    """The assistant's answers to them are no evidence."""
    (one,) = questions(loaded(tmp_path, longmemeval()))
    assert one.evidence == {"answer_1_1_1", "answer_1_2_1"}


def test_a_labelled_session_without_a_mark_counts_whole(tmp_path: Path) -> None:
    """The label tells no more than the session."""
    entry = longmemeval()
    del entry["haystack_sessions"][2][0]["has_answer"]
    (one,) = questions(loaded(tmp_path, entry))
    assert one.evidence == {"answer_1_1_1", "answer_1_1_2", "answer_1_2_1"}


def test_of_a_knowledge_update_the_earlier_session_is_superseded(tmp_path: Path) -> None:
    """Time decides, not the position in the file; in other questions nothing is superseded."""
    update, other = longmemeval("knowledge-update", "u"), longmemeval("multi-session", "m")
    found = questions(loaded(tmp_path, update, other))
    assert [one.superseded for one in found] == [{"answer_1_1_1"}, frozenset()]


def test_without_dates_nothing_is_known_to_be_superseded(tmp_path: Path) -> None:
    """The sessions keep the order of the file."""
    entry = longmemeval("knowledge-update", haystack_dates=["?", "?", "?"])
    (conversation,) = loaded(tmp_path, entry).conversations
    assert list(conversation.sessions) == ["answer_1_2", "filler_7", "answer_1_1"]
    assert conversation.questions[0].superseded == set()


@pytest.mark.requirement("EVAL-1")
def test_abstention_questions_are_dropped(tmp_path: Path) -> None:
    """Their answer isn't in the chats."""
    found = loaded(tmp_path, longmemeval(id="x_abs"), longmemeval())
    assert [conversation.name for conversation in found.conversations] == ["8a2466db"]
    assert reasons(found) == [("x_abs, question x_abs", "abstention: its answer isn't in the chats")]


def test_a_labelled_session_that_is_not_there_is_said(tmp_path: Path) -> None:
    """The other labels are used."""
    found = loaded(tmp_path, longmemeval(answer_session_ids=["answer_1_1", "answer_9"]))
    assert questions(found)[0].evidence == {"answer_1_1_1"}
    assert reasons(found) == [("8a2466db, question 8a2466db", "answer session answer_9 isn't in its haystack: left out")]


def test_a_session_that_comes_twice_is_two(tmp_path: Path) -> None:
    """Filler sessions are drawn with repetition."""
    entry = longmemeval(haystack_session_ids=["answer_1_2", "answer_1_1", "answer_1_1"])
    (conversation,) = loaded(tmp_path, entry).conversations
    assert list(conversation.sessions) == ["answer_1_1", "answer_1_1~2", "answer_1_2"]
    assert len({message.id for message in messages(conversation)}) == 6


def test_turns_that_are_none_are_dropped(tmp_path: Path) -> None:
    """The list of dropped entries names their position."""
    entry = longmemeval()
    entry["haystack_sessions"][1] = [{"role": "user", "content": ""}, {"role": "narrator", "content": "later"}]
    assert reasons(loaded(tmp_path, entry)) == [
        ("8a2466db, session filler_7, turn 1", "it has no text"),
        ("8a2466db, session filler_7, turn 2", "it isn't a turn with the role user or assistant"),
    ]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"haystack_dates": ["2023/05/30 (Tue) 23:40"]}, "question 8a2466db: haystack_dates must be a list as long as"),
        ({"haystack_sessions": [{}, {}, {}]}, "question 8a2466db: session 1 must be a list of turns"),
    ],
)
def test_a_broken_question_is_named(tmp_path: Path, broken: dict[str, Any], message: str) -> None:
    """The error names the file and the question."""
    with pytest.raises(InvalidInput, match=rf"longmemeval_s\.json, {message}"):
        loaded(tmp_path, longmemeval(**broken))
