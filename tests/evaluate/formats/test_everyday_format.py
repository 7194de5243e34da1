"""Everyday: a person's sessions and requests are read, and what is broken is an error that names its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane_eval.formats import load
from support.small_sets import everyday, messages, questions, reasons, written

pytestmark = pytest.mark.requirement("EVAL-1")


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The small person after `change`."""
    person: dict[str, Any] = json.loads(json.dumps(everyday()))
    change(person)
    return person


def test_messages_keep_their_names_and_times_and_requests_their_labels(tmp_path: Path) -> None:
    """Sessions stay apart; a request has who asks, when, and what must not be shown alone."""
    found = load(written(tmp_path / "nuno.json", everyday()))
    (person,) = found.conversations
    assert (found.format, person.name, list(person.sessions)) == ("everyday", "nuno", ["s1", "s2"])
    first = next(messages(person))
    assert (first.id, first.role, first.name, first.created_at) == ("m1", "user", "Nuno", datetime(2026, 3, 1, 9, tzinfo=UTC))
    update = questions(found)[1]
    assert (update.id, update.category, update.name, update.answer) == ("nuno/q2", "update", "Nuno", "55 euros")
    assert (update.evidence, update.superseded) == (frozenset({"m4"}), frozenset({"m3"}))
    assert update.at == datetime(2026, 5, 2, 8, tzinfo=timezone(timedelta(hours=1)))
    assert update.message == {"role": "user", "content": update.text, "name": "Nuno"}


def test_requests_that_need_nothing_stored_are_kept(tmp_path: Path) -> None:
    """They have no evidence, and their place among the others counts in a talk."""
    found = load(written(tmp_path / "nuno.json", everyday()))
    assert [(one.category, bool(one.evidence)) for one in questions(found)] == [
        ("self", True),
        ("update", True),
        ("none", False),
        ("unknown", False),
    ]
    assert not found.dropped


def test_a_request_whose_labels_name_no_message_is_dropped_not_taken_for_one_without_need(tmp_path: Path) -> None:
    """An empty list says that nothing is needed; a label that is lost doesn't."""
    person = changed(lambda one: one["questions"][0].update(evidence=["m77"], not_alone=["m78"]))
    found = load(written(tmp_path / "nuno.json", person))
    assert [one.category for one in questions(found)] == ["update", "none", "unknown"]
    assert reasons(found) == [
        ("nuno, question q1", "not_alone m78 names no message: left out"),
        ("nuno, question q1", "evidence m77 names no message: left out"),
        ("nuno, question q1", "none of its labels names an existing message"),
    ]


def test_what_may_be_missing_has_a_default(tmp_path: Path) -> None:
    """The person's id is the file's name; names, times, `not_alone` and answers are optional."""

    def bare(one: dict[str, Any]) -> None:
        del one["id"], one["sessions"][0]["id"], one["sessions"][0]["messages"][0]["time"]
        for key in ("not_alone", "answer", "name", "time"):
            del one["questions"][0][key]

    found = load(written(tmp_path / "rosa.json", changed(bare)))
    (person,) = found.conversations
    assert (person.name, list(person.sessions)) == ("rosa", ["session-1", "s2"])
    first = person.questions[0]
    assert (first.at, first.answer, first.name, first.superseded) == (None, None, None, frozenset())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.update(questions={}), "questions must be a list of objects, not dict"),
        (lambda one: one.update(sessions=["s1"]), "sessions must be a list of objects, not list"),
        (lambda one: one["sessions"][0].update(messages=None), "session s1: messages must be a list of objects, not missing"),
        (lambda one: one["sessions"][1].update(id="s1"), "the id s1 is another session's: give each an id of its own"),
        (
            lambda one: one["sessions"][1]["messages"][1].update(id="m1"),
            "session s2, message 2: the id m1 is another message's: give each an id of its own",
        ),
        (
            lambda one: one["sessions"][0]["messages"][1].update(role="tool"),
            "session s1, message 2: role must be user or assistant, not 'tool'",
        ),
        (
            lambda one: one["sessions"][0]["messages"][0].update(time="noon"),
            "session s1, message 1: time must be a time in ISO 8601, not 'noon'",
        ),
        (
            lambda one: one["sessions"][0]["messages"][0].update(text=["a"]),
            "session s1, message 1: text must be a string, not list",
        ),
        (
            lambda one: one["questions"][2].pop("evidence"),
            "question 3: evidence must be a list of the ids of messages, not missing",
        ),
        (
            lambda one: one["questions"][1].update(not_alone="m3"),
            "question 2: not_alone must be a list of the ids of messages, not 'm3'",
        ),
        (lambda one: one["questions"][0].update(name=True), "question 1: name must be a string, not bool"),
    ],
)
def test_a_broken_value_is_an_error_that_names_its_place(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    """The file, the session and message or the question, and what is expected."""
    path = written(tmp_path / "nuno.json", changed(change))
    with pytest.raises(InvalidInput) as raised:
        load(path)
    assert str(raised.value) == f"{path}: {said}"


def test_of_several_people_in_a_file_the_broken_one_is_named(tmp_path: Path) -> None:
    """By its number."""
    path = written(tmp_path / "all.json", [everyday(), changed(lambda one: one.update(questions=1))])
    with pytest.raises(InvalidInput, match=r"all\.json, person 2: questions must be a list of objects, not int"):
        load(path)
